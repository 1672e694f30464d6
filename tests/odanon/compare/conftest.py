"""Running the cases of a plan in this process, which spares the start of one for each."""

import json
from collections.abc import Callable
from dataclasses import asdict
from subprocess import CompletedProcess
from threading import Lock
from typing import Any

import pandas as pd
import pytest

from odanon.compare import runner
from odanon.compare.plan import Plan
from odanon.compare.runner import run_plan, tidy
from odanon.compare.worker import main


@pytest.fixture(scope="session")
def run_here() -> Callable[[Plan], pd.DataFrame]:
    def run(plan: Plan) -> pd.DataFrame:
        for case in plan.cases:
            plan.result(case).parent.mkdir(parents=True)
            job = {"case": asdict(case), "table": asdict(plan.table), "fingerprint": plan.fingerprint(case)}
            file = plan.result(case).with_name("job.json")
            file.write_text(json.dumps({**job, "keep": plan.keep_releases}, default=str))
            main(str(file))
        return tidy(list(run_plan(plan)))  # all are done, so this reads them

    return run


@pytest.fixture
def cases_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for what starts its cases itself, as the command does."""
    one_at_a_time = Lock()

    def run(command: list[str], **_: Any) -> CompletedProcess[str]:
        with one_at_a_time:
            main(command[-1])
        return CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(runner.subprocess, "run", run)
