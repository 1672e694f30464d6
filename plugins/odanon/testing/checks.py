"""Conformance of checks."""

import re

from odanon.checking import CheckedDay, Verdict
from odanon.protocols import DayCheck
from odanon.testing.parameters import check_parameters

STAGES = ("traces", "staypoints", "trips", "od", "hierarchy", "anonymized", "metrics", "published")


def check_check(plugin: DayCheck, good: CheckedDay, bad: CheckedDay) -> None:
    """All rules for a check, given a day that it passes and one that it does not."""
    check_parameters(plugin)
    name = type(plugin).__name__
    assert plugin.stage in STAGES, f"{name}: there is no stage {plugin.stage!r}; choose one of {', '.join(STAGES)}"
    assert isinstance(plugin.blocking, bool), f"{name}: `blocking` is neither True nor False"
    for day, passes in ((good, True), (bad, False)):
        verdict = plugin.run(day)
        assert isinstance(verdict, Verdict), f"{name}: run() gives no Verdict"
        assert verdict.passed is passes, f"{name} {'fails the good' if passes else 'passes the bad'} day"
        assert re.fullmatch(r"[^\n]+", verdict.sentence), f"{name}: the verdict is not one sentence"
        for key, value in verdict.figures.items():
            assert isinstance(value, int | float), f"{name}: the figure {key} is no number"
        assert plugin.run(day) == verdict, f"{name}: the same day gets another verdict the second time"
