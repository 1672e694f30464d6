"""Running the cases of a plan: in parallel, each under a time limit, resumable after a stop."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from math import nan
from typing import Any

import pandas as pd

from odanon.compare.plan import EVERYBODY, NOT_VERIFIED, Case, Plan
from odanon.metrics.declared import every_figure

_FIRST = ["algorithm", "k", "unit", "suppression", "status", "verifier"]


def run_plan(plan: Plan, workers: int = 0) -> Iterator[dict[str, Any]]:
    """Results as they finish; a case whose result is there already, for the same table, is not run again."""
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        waiting = [pool.submit(_run_case, plan, case) for case in plan.cases]
        for done in as_completed(waiting):
            yield done.result()


def _run_case(plan: Plan, case: Case) -> dict[str, Any]:
    path, fingerprint = plan.result(case), plan.fingerprint(case)
    if path.exists():
        result = json.loads(path.read_text())
        if result["fingerprint"] == fingerprint and result["status"] != "timed out":
            return result
        path.unlink()
    shutil.rmtree(plan.release(case), ignore_errors=True)  # of another table, or half written
    path.parent.mkdir(parents=True, exist_ok=True)
    job = {"case": asdict(case), "table": asdict(plan.table), "fingerprint": fingerprint, "keep": plan.keep_releases}
    job_file = path.with_name("job.json")
    job_file.write_text(json.dumps(job, default=str))
    command = [sys.executable, "-m", "odanon.compare.worker", str(job_file)]
    try:
        done = subprocess.run(command, timeout=plan.time_limit_s, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        message = f"no result within {plan.time_limit_s:,.0f} s; give it more with --time-limit"
        result = {**json.loads(job_file.read_text()), "status": "timed out", "message": message}
        shutil.rmtree(plan.release(case), ignore_errors=True)  # written, and stopped before it was measured
        path.write_text(json.dumps(result))
        return result
    if not path.exists():
        shutil.rmtree(plan.release(case), ignore_errors=True)
        return {**json.loads(job_file.read_text()), "status": "failed", "message": _failure(done)}
    return json.loads(path.read_text())


def _failure(done: subprocess.CompletedProcess[str]) -> str:
    """How a process ended that left no result; what an exception says may hold a value of the table."""
    kind = (done.stderr.strip().splitlines() or [""])[-1].partition(":")[0]
    ended = kind if done.returncode > 0 and kind else f"exit code {done.returncode}"
    return f"the run ended without a result ({ended}); try `odanon anonymize` with this algorithm, or with more memory"


def _verifier(result: dict[str, Any]) -> str | None:
    """What the verifier says of the release of a case; noisy counts nobody can count again."""
    return None if "verified" not in result else "passed" if result["verified"] else NOT_VERIFIED


def tidy(results: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per case, sorted by segment, k and algorithm."""
    rows = [
        {
            **{name: value for name, value in result["case"].items() if name != "adaptive"},
            "algorithm": Case(**result["case"]).label,
            "status": result["status"],
            "verifier": _verifier(result),
            **{name: nan if value is None else value for name, value in result.get("metrics", {}).items()},
            "cpu_s": result.get("cpu_s"),
            "peak_mb": result.get("peak_mb"),
            "message": result.get("message"),
        }
        for result in results
    ]
    table = pd.DataFrame(rows)
    table["parameters"] = [json.dumps(value, sort_keys=True) if value else "" for value in table["parameters"]]
    order = ["segment", "k", "algorithm", "parameters", "protect", "unit"]
    everybody_first = table["segment"].where(table["segment"] != EVERYBODY, "")
    ranked = table.assign(segment=everybody_first).sort_values(order)
    table = table.loc[ranked.index].reset_index(drop=True)
    headed = [name for name, figure in every_figure().items() if name in table or (figure.symbol and figure.best)]
    columns = [*_FIRST, *headed, "cpu_s", "peak_mb"]
    return table.reindex(columns=[*columns, *(name for name in table.columns if name not in columns)])
