"""Running days of a product through Dagster in this process, without the daemon's waits."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from dagster import DagsterEventType, DagsterInstance, Definitions, ExecuteInProcessResult

from odanon.product import Product
from odanon_assets.build import build_definitions
from odanon_assets.lake import default_root
from odanon_assets.stores import open_store

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class DayResult:
    """How one day ended: `error` is empty when it was published."""

    day: date
    skipped: bool
    error: str = ""


def days_between(first: date, last: date) -> list[date]:
    """All days from first to last, both included."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def run_days(product: Product, days: list[date], *, resume: bool) -> Iterator[DayResult]:
    """Materialise every stage of each day; a bad day is reported and the next one runs."""
    definitions = build_definitions([product])
    store = open_store(product)
    with _instance() as instance:
        for day in days:
            if resume and store.released(product.product, day) is not None:
                yield DayResult(day, skipped=True)
            else:
                yield DayResult(day, skipped=False, error=_run_day(definitions, product, day, instance))


def _instance() -> DagsterInstance:
    """The instance of DAGSTER_HOME, by default a folder under the data root."""
    home = os.environ.setdefault("DAGSTER_HOME", str(default_root() / "dagster"))
    Path(home).mkdir(parents=True, exist_ok=True)
    return DagsterInstance.get()


def _run_day(definitions: Definitions, product: Product, day: date, instance: DagsterInstance) -> str:
    job = definitions.resolve_job_def(product.slug)
    result = job.execute_in_process(
        partition_key=day.isoformat(), instance=instance, run_config=_QUIET, raise_on_error=False
    )
    return "" if result.success else _first_error(result)


def _first_error(result: ExecuteInProcessResult) -> str:
    """The sentence of the first failure: the check that blocked, or a stage's own words."""
    for evaluation in result.get_asset_check_evaluations():
        if not evaluation.passed:
            return f"check {evaluation.check_name} failed: {evaluation.description}"
    for event in result.all_events:
        if event.event_type == DagsterEventType.STEP_FAILURE:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            if error is not None:
                return error.message.strip().removeprefix("odanon.errors.OdanonError: ")
    return "the run failed; look at it in the Dagster UI (`make up`)"
