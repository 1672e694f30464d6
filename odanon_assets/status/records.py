"""What Dagster's records tell of days that are not published: that they run, or why they failed; and of late data."""

from datetime import date

from dagster import AssetCheckKey, DagsterEventType, DagsterInstance, DagsterRun, DagsterRunStatus

from odanon.product import Product
from odanon_assets.checks.late import LATE_DATA
from odanon_assets.platform.partitions import asset_key
from odanon_assets.platform.recovery import attempts

_UNTOLD = "the run ended before it could say why; the Dagster UI has its log"
_BAD = (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_CHECKS = 1000  # latest evaluations that are looked at


def ends(product: Product, instance: DagsterInstance, last: str = "published") -> dict[date, tuple[str, str]]:
    """Days whose latest run has not published them, or made another `last` stage: whether it goes on (running) or has failed, and why."""
    runs = attempts(product, instance, last)
    told = {run.run_id: _failures(instance, run) for run in runs.values() if run.status in _BAD}
    found = {}
    for key, run in runs.items():
        if run.status in _BAD:
            found[date.fromisoformat(key)] = "failed", told[run.run_id].get(key, _UNTOLD)
        elif not run.is_finished:
            found[date.fromisoformat(key)] = "running", f"since its run {run.run_id[:8]} was asked for"
    return found


def _failures(instance: DagsterInstance, run: DagsterRun) -> dict[str, str]:
    """The bad days of a run, in their own words."""
    days: dict[str, str] = {}
    for entry in instance.all_logs(run.run_id, of_type=DagsterEventType.STEP_FAILURE):
        failure = entry.get_dagster_event().step_failure_data.user_failure_data
        days |= {} if failure is None else {day: str(value.value) for day, value in failure.metadata.items()}
    return days


def late_days(product: Product, instance: DagsterInstance) -> set[date]:
    """Days whose latest look at the source found other data than they were published from."""
    key = AssetCheckKey(asset_key(product, LATE_DATA.stage), LATE_DATA.name)
    latest: dict[str, bool] = {}
    for record in instance.event_log_storage.get_asset_check_execution_history(key, limit=_CHECKS):
        said = record.evaluation
        if said is not None and getattr(said, "partition", None) and hasattr(said, "passed"):
            latest.setdefault(str(said.partition), said.passed)  # newest first
    return {date.fromisoformat(day) for day, passed in latest.items() if not passed}
