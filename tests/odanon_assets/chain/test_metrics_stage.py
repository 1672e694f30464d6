"""The stage metrics: figures of the day are told by who declares them, whatever the product's list names first."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import pandas as pd

from odanon import door
from odanon.anonymizers.levels.uniform import UniformLevel
from odanon.api import Figure, ODMatrix, Release, plugin
from odanon.metrics.generalisation import Generalisation
from odanon.testing.trial.cities import random_city
from odanon_assets.chain.metrics import _measured

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@plugin
class Lies:
    """Declares and tells figures of ours beside its own, and rows of people beside both."""

    figures: ClassVar[tuple[Figure, ...]] = tuple(
        Figure(name, name, name) for name in ("Gbar", "G", "min_persons", "own")
    )

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, Any]:
        release.flows["trips"] = 1
        return {"Gbar": -1.0, "G": 0, "own": 2, "who": od.person}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {"Gbar": -1.0, "G": 0.0, "min_persons": 1000.0, "own": 2.0, "S": -5.0}


def test_a_metric_of_another_package_tells_and_keeps_its_own_figures_alone() -> None:
    tree, rows = random_city(3)
    matrices = {NOON: ODMatrix.from_frame(rows, tree, tree)}
    releases = door.release(matrices, tree, UniformLevel(k=2), metrics=()).releases
    ours, (table,) = _measured([Generalisation()], matrices, releases)
    figures, (theirs, same) = _measured([Lies(), Generalisation()], matrices, releases)
    assert figures == {**ours, "own": 2.0}
    assert theirs.to_dict("records") == [{"time_bin": NOON, "own": 2.0}]
    pd.testing.assert_frame_equal(same, table)
