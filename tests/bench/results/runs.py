"""Cases in forks of one process: the table is read and the kernels are loaded once, and a case that computes too long is ended."""

import json
import multiprocessing
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from odanon.compare import worker
from odanon.compare.plan import EVERYBODY, Case, Plan
from odanon.compare.runner import tidy
from odanon.errors import OdanonError
from odanon.tables.read import Loaded

_AT_ONCE = 2
_fork = multiprocessing.get_context("fork")


def run(plan: Plan) -> pd.DataFrame:
    """One row a case; what is there already of the same table and case is not run again."""
    return tidy(list(_results(plan)))


def _results(plan: Plan) -> Iterator[dict[str, Any]]:
    missing = []
    for case in plan.cases:
        path = plan.result(case)
        result = json.loads(path.read_text()) if path.exists() else {}
        if result.get("fingerprint") == plan.fingerprint(case):
            yield result
        else:
            missing.append(case)
    tables = {segment: _loaded(plan, segment) for segment in {case.segment for case in missing}}
    for case in missing:
        _warm_up(case, tables[case.segment])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for result in pool.map(lambda case: _in_fork(plan, case, tables[case.segment]), missing):
            told = result["case"]
            print(f"{plan.folder.parent.name}: {told['algorithm']} k={told['k']} {result['status']}", flush=True)
            yield result


def _warm_up(case: Case, loaded: Loaded) -> None:
    """Load the kernels of a case in this process, so that the forks need not."""
    try:
        anonymizer, _ = case.create()
    except OdanonError:
        return  # the fork says why
    worker.warm_up(anonymizer, loaded.matrices, loaded)


def _loaded(plan: Plan, segment: str) -> Loaded:
    return (plan.table if segment == EVERYBODY else replace(plan.table, only=segment)).load()


def _in_fork(plan: Plan, case: Case, loaded: Loaded) -> dict[str, Any]:
    path = plan.result(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    job = {"case": asdict(case), "fingerprint": plan.fingerprint(case)}
    child = _fork.Process(target=_measure, args=(path, job, case, loaded, int(plan.time_limit_s)))
    child.start()
    child.join()
    if child.exitcode == -signal.SIGXCPU:
        path.write_text(json.dumps({**job, "status": "timed out"}))
    return json.loads(path.read_text()) if path.exists() else {**job, "status": "failed"}


def _measure(path: Path, job: dict[str, Any], case: Case, loaded: Loaded, limit_s: int) -> None:
    """In a fork: CPU time is limited, since wall time would depend on what else runs."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
    try:
        outcome: dict[str, Any] = {"status": "done", **worker.run(case, loaded, path.with_name("release"), False)}
    except OdanonError as error:
        outcome = {"status": "refused", "message": str(error)}
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps({**job, **outcome}))
    unfinished.rename(path)
