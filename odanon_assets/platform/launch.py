"""Running days of a product through Dagster in this process, without the daemon's waits."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

from dagster import AssetObservation, DagsterInstance, JobDefinition, MetadataValue
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from odanon.databases import advice, error_type, sqlstate
from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import has_matrix, is_longer, matrix_days, window_of
from odanon_assets.derived.folders import Derived
from odanon_assets.derived.months import is_current
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.assets import DAYS_PER_RUN, part_name, step_name, window_step_name
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.derived_assets import record_segments
from odanon_assets.platform.partitions import asset_key
from odanon_assets.platform.recovery import WITHDRAWN_TAG, record_published, report_lost_runs, shown_withdrawn
from odanon_assets.platform.schedules import window_job_name
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Standing
from odanon_assets.watch.progress import listening
from odanon_assets.windows.closing import day_lacks, stays_open, window_days

# Settings of an instance that has none: nothing is told to anybody outside.
_NEW_INSTANCE = "telemetry: {enabled: false}\nnux: {enabled: false}\n"
_UNHEARD = "the run failed; look at it in the Dagster UI (`make up`)"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class DayResult:
    """How one day ended: `error` is empty when it was published, or would have been if this was no trial.

    `standing` is what became of its window: of a day that failed nothing yet, an earlier release, one that was taken
    back, or nothing ever again. A longer window is told of by its first day, under its `name`; one that `waits` for days was not
    begun.
    """

    day: date
    skipped: bool
    error: str = ""
    standing: Standing | Literal["open"] = "published"
    name: str = ""
    waits: str = ""


def days_between(first: date, last: date) -> list[date]:
    """All days from first to last, both included."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def run_days(
    product: Product, days: list[date], *, resume: bool, trial: bool = False, accept_incomplete: bool = False
) -> Iterator[DayResult]:
    """Run every stage of each day, many days a run; a bad day is reported and the others go on.

    Days of a range on which the product makes no matrix are passed over. A trial publishes nothing.
    """
    asked = {"trial": trial, "accept_incomplete": accept_incomplete}
    days = [day for day in days if has_matrix(product, day)]
    if not days:
        raise OdanonError(
            f"{product.product} makes no matrix of these days: they lie before its start or after its end, or od.days is working and its"
            " calendar says they are days off"
        )
    store, lake = open_store(product), Lake(default_root(), trial)
    Derived(default_root()).withdraw_stale(store, product.product)
    standings = store.standings(product.product) if resume else {}
    known = {day: standings[key] for day in days if (key := window_of(product, day).isoformat()) in standings}
    yield from (DayResult(day, skipped=True, standing=known[day]) for day in days if day in known)
    with _own_words(), open_instance() as instance:
        report_lost_runs(instance)
        before = sorted({window_of(product, day) for day in days if known.get(day) == "published"})
        record_segments(instance, product, before)  # first: a day whose publication is known counts as recorded
        record_published(instance, product, before)
        definitions = build_definitions([product])
        job = definitions.resolve_job_def(product.slug)
        waiting = [day for day in days if day not in known]
        if is_longer(product):
            windows = sorted({window_of(product, day) for day in waiting})
            if resume:
                waiting = [day for day in waiting if day_lacks(product, lake, day)]
        for chunk in chunks(waiting, DAYS_PER_RUN):
            yield from _run_chunk(job, product, chunk, instance, asked)
        if is_longer(product):
            closing = definitions.resolve_job_def(window_job_name(product))
            yield from (_run_window(closing, product, lake, window, instance, asked) for window in windows)
        if trial or is_longer(product):
            return
        month_job = definitions.resolve_job_def(f"{product.slug}_monthly")
        for month in complete_months(product, days, store.windows(product.product)):
            if not is_current(product, month, store):  # also when its days were published before a kill
                month_job.execute_in_process(partition_key=month.isoformat(), instance=instance, run_config=_QUIET)


def _run_window(
    job: JobDefinition, product: Product, lake: Lake, window: date, instance: DagsterInstance, asked: dict[str, bool]
) -> DayResult:
    """Run the stages of a longer window, if enough of its days are there."""
    name = part_name(product, window.isoformat(), of_window=True)
    if why := stays_open(product, window_days(product, lake, window)):
        return DayResult(window, skipped=True, standing="open", name=name, waits=why)
    with listening(_Outcomes()) as outcomes:
        config = {**_QUIET, "ops": {window_step_name(product): {"config": asked}}}
        key = window.isoformat()
        job.execute_in_process(partition_key=key, instance=instance, run_config=config, raise_on_error=False)
    error = outcomes.errors.get(name, _UNHEARD)
    standing: Standing | Literal["open"] = _standings(product).get(key, "open") if error else "published"
    return DayResult(window, skipped=False, error=error, standing=standing, name=name)


def record_withdrawal(instance: DagsterInstance, product: Product, day: date) -> bool:
    """Show in Dagster that what a day or longer window published was taken back, with its month; whether it was not shown before.

    Dagster's own stores forget no partition, so it is asked for the day once more and refused: its place turns red.
    """
    key, told = day.isoformat(), {"status": MetadataValue.text("withdrawn")}
    if not matrix_days(product, day) or key in shown_withdrawn(product, instance):
        return False
    month = [] if is_longer(product) else [("monthly", day.replace(day=1).isoformat())]
    for name, partition in (("published", key), *month):
        if partition in instance.get_materialized_partitions(asset_key(product, name)):
            instance.report_runless_asset_event(
                AssetObservation(asset_key(product, name), partition=partition, metadata=told)
            )
    live = product.model_copy(update={"status": "live"})  # of a product that is back on trial too
    build_definitions([live]).resolve_job_def(window_job_name(product)).execute_in_process(
        partition_key=key,
        asset_selection=[asset_key(product, "published")],
        instance=instance,
        run_config=_QUIET,
        tags={WITHDRAWN_TAG: "true"},
        raise_on_error=False,
    )
    return True


def complete_months(product: Product, days: list[date], published: list[str]) -> list[date]:
    """First days of the months of `days` that have all their days published; none where windows are longer than a day."""
    if is_longer(product):
        return []
    months = sorted({day.replace(day=1) for day in days})
    return [
        month
        for month in months
        if all(
            day.isoformat() in published for day in days_between(month, _last_day(month)) if has_matrix(product, day)
        )
    ]


def _last_day(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def chunks(days: list[date], size: int) -> list[list[date]]:
    """Consecutive days together, at most `size`: what one ranged run can cover."""
    made: list[list[date]] = []
    for day in days:
        if made and len(made[-1]) < size and day - made[-1][-1] == timedelta(days=1):
            made[-1].append(day)
        else:
            made.append([day])
    return made


def open_instance() -> DagsterInstance:
    """The instance of DAGSTER_HOME, by default a folder under the data root."""
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(default_root() / "dagster")))
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        (home / "dagster.yaml").write_text(_NEW_INSTANCE)
        os.utime(home / "dagster.yaml", (0, 0))  # older than the repository's, which `make up` puts in its place
    return DagsterInstance.get()


@contextmanager
def _own_words() -> Iterator[None]:
    """An outage of Dagster's own PostgreSQL, which ends the run under way, as one sentence."""
    from dagster_postgres.utils import DagsterPostgresException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (DagsterPostgresException, SQLAlchemyError) as error:
        code = sqlstate(error.__cause__ or error)
        if not advice(code):
            raise
        raise error_type(code)(
            f"Dagster's own database cannot be used; {advice(code)}; then the same command with --resume goes on"
        ) from None


class _Outcomes:
    """Hears how each day of a run ends."""

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}

    def stage(self, product: str, stage: str, day: str) -> None:
        return

    def warning(self, product: str, day: str, check: str, sentence: str) -> None:
        return

    def day(self, product: str, day: str, error: str, note: str) -> None:
        self.errors[day] = error


def _run_chunk(
    job: JobDefinition, product: Product, days: list[date], instance: DagsterInstance, asked: dict[str, bool]
) -> Iterator[DayResult]:
    span = {
        ASSET_PARTITION_RANGE_START_TAG: days[0].isoformat(),
        ASSET_PARTITION_RANGE_END_TAG: days[-1].isoformat(),
    }
    with listening(_Outcomes()) as outcomes:
        config = {**_QUIET, "ops": {step_name(product): {"config": asked}}}
        job.execute_in_process(tags=span, instance=instance, run_config=config, raise_on_error=False)
    errors = {day: outcomes.errors.get(day.isoformat(), _UNHEARD) for day in days}
    standings = _standings(product) if any(errors.values()) else {}
    for day, error in errors.items():
        window = window_of(product, day).isoformat()
        standing: Standing | Literal["open"] = standings.get(window, "open") if error else "published"
        yield DayResult(day, skipped=False, error=error, standing=standing)


def _standings(product: Product) -> dict[str, Standing]:
    """Windows of a product that are not open any more; none when the store cannot be asked."""
    try:
        return open_store(product).standings(product.product)
    except OdanonError:
        return {}
