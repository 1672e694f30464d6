"""Sensors: days whose source has arrived or changed, runs that failed, runs whose process is gone, months that are complete."""

import os
from collections.abc import Callable, Iterator
from datetime import date, datetime

from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
    RunFailureSensorContext,
    RunRequest,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
    run_failure_sensor,
    sensor,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.storage.tags import WILL_RETRY_TAG

from odanon.errors import OdanonError
from odanon.notify.alert import Alert
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon.protocols import TellsState
from odanon_assets.chain.arrival import changed_days, waiting_days, waits_for
from odanon_assets.checks.delivery import found_short, source_state
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.recovery import WITHDRAWN_TAG, report_lost_runs
from odanon_assets.platform.schedules import DAILY, acts_on, lake_of, told_waiting, window_job_name
from odanon_assets.stores.choice import open_store
from odanon_assets.windows.closing import begun_windows, state_of, waits, window_days

UI_VARIABLE = "ODANON_UI_URL"  # where people reach the Dagster UI, for links in alerts
_RUNNING = DefaultSensorStatus.RUNNING


def arrival_sensor(product: Product, job: UnresolvedAssetJobDefinition) -> SensorDefinition | None:
    """Asks for each day once, when its source has arrived; None unless the product file says on_arrival."""
    if product.schedule is None or not product.schedule.on_arrival:
        return None

    @sensor(
        name=f"{product.slug}_arrival",
        job=job,
        minimum_interval_seconds=60,
        default_status=_RUNNING,
        description=f"{acts_on(product)} a day as soon as its source has arrived, told from names or a small query.",
    )
    def arrival(context: SensorEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        requested = set((context.cursor or "").split())
        waiting = waiting_days(product, open_store(product), lake_of(product), datetime.now(product.zone).date())
        keys = {_arrival_key(product, day): day for day in waiting}
        reasons = {key: waits_for(product, lake_of(product), day) for key, day in keys.items()}
        # A day that failed is not asked for again: people repair it and retry.
        reasons = {key: why for key, why in reasons.items() if why or key not in requested}
        fresh = [key for key, why in reasons.items() if not why]
        context.update_cursor(" ".join(sorted(requested & keys.keys() | set(fresh))))
        if not fresh:
            yield SkipReason(told_waiting({keys[key]: why for key, why in reasons.items()}, len(keys) - len(reasons)))
        yield from (RunRequest(run_key=key, partition_key=keys[key].isoformat(), tags=DAILY) for key in fresh)

    return arrival


def _arrival_key(product: Product, day: date) -> str:
    """What names the request for a day; one that was tried is asked for again when its product goes live, and one that
    was short, or whose longer window is open, when its source has changed."""
    lake = lake_of(product)
    read_before = is_longer(product) and lake.folder(product.product, "traces", day).is_dir()
    state = source_state(product, day) if read_before or found_short(product, lake, day) else None
    again = "" if state is None else f"-{state[:12]}"
    return f"{'arrival' if product.status == 'live' else 'trial'}-{day}{again}"


def late_sensor(product: Product, job: UnresolvedAssetJobDefinition) -> SensorDefinition | None:
    """Runs published days again whose source has changed, which counts what came late (PRIVACY rule 11)."""
    if (
        product.status == "trial"
        or product.schedule is None
        or not product.schedule.on_arrival
        or not isinstance(product.source.instance, TellsState)
    ):
        return None

    @sensor(
        name=f"{product.slug}_late",
        job=job,
        minimum_interval_seconds=3600,
        default_status=_RUNNING,
        description="Counts data that came after its day was published; the day stays as it is.",
    )
    def late(context: SensorEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        today = datetime.now(product.zone).date()
        changed = changed_days(product, open_store(product), Lake(default_root()), today)
        if not changed:
            yield SkipReason("no published day has changed since it was read")
        # Dagster runs a key once, so a change is counted once.
        yield from (RunRequest(f"late-{day}-{state}", partition_key=str(day)) for day, state in changed.items())

    return late


def closing_sensor(product: Product, job: UnresolvedAssetJobDefinition) -> SensorDefinition:
    """Asks for each longer window once its days are there, or those that its product's file asks for."""

    @sensor(
        name=f"{product.slug}_closing",
        job=job,
        minimum_interval_seconds=60,
        default_status=_RUNNING,
        description=f"{acts_on(product)} a {product.publish.window} whose days are there, or as many as publish.missing_days asks for.",
    )
    def closing(context: SensorEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        lake = lake_of(product)
        known = open_store(product).standings(product.product)
        opened = [window for window in begun_windows(product, lake) if window.isoformat() not in known]
        days = {window: window_days(product, lake, window) for window in opened}
        reasons = {window: waits(product, days[window], window) for window in opened}
        ready = [window for window, why in reasons.items() if not why]
        if not ready:
            yield SkipReason(told_waiting(reasons))
        # Dagster runs a key once: a window that failed is asked for again when its days have changed.
        yield from (
            RunRequest(
                f"{product.status}-{window}-{state_of(product, lake, days[window])}",
                partition_key=str(window),
                tags=DAILY,
            )
            for window in ready
        )

    return closing


def alert_sensor(products: list[Product]) -> SensorDefinition:
    """Tells the notifiers of a product's file of every failed run."""
    by_slug = {name: product for product in products for name in (product.slug, window_job_name(product))}

    @run_failure_sensor(
        name="alerts",
        default_status=_RUNNING,
        minimum_interval_seconds=30,
        description="Passes failed runs that are not tried again on to the notifiers that product files name.",
    )
    def alerts(context: RunFailureSensorContext) -> None:
        tags = context.dagster_run.tags
        if tags.get(WILL_RETRY_TAG) == "true" or WITHDRAWN_TAG in tags:
            return  # another run goes on by itself, and people are told if that fails too; or a person did it knowingly
        keys = context.dagster_run.asset_selection or frozenset()
        slugs = {key.path[0] for key in keys} | {context.dagster_run.job_name}
        for product in (by_slug[slug] for slug in sorted(slugs) if slug in by_slug):
            send(product, _alert(product, context), context.log.error)

    return alerts


def send(product: Product, alert: Alert, complain: Callable[[str], None]) -> None:
    """Tell every notifier of a product; one that fails does not silence the others."""
    for notifier in product.alerts:
        try:
            notifier.instance.notify(alert)
        except OdanonError as error:
            complain(f"notifier {notifier.plugin}: {error}")
        except Exception as error:  # a stranger's mistake; its message may quote what it was given
            complain(f"notifier {notifier.plugin} failed with {type(error).__name__}")


def _alert(product: Product, context: RunFailureSensorContext) -> Alert:
    days: dict[str, str] = {}
    for event in context.get_step_failure_events():
        failure = event.step_failure_data.user_failure_data
        if failure is not None:
            days |= {day: str(value.value) for day, value in failure.metadata.items()}
    address, run_id = os.environ.get(UI_VARIABLE, "").rstrip("/"), context.dagster_run.run_id
    what = f"{len(days)} days failed" if len(days) > 1 else "a day failed" if days else "a run failed before its days"
    return Alert(
        product=product.product,
        title=f"odanon {product.product}: {what} (run {run_id[:8]})",
        days=tuple(sorted(days.items())),
        link=f"{address}/runs/{run_id}" if address else "",
    )


def lost_run_sensor() -> SensorDefinition:
    """Finds runs whose process was killed on this machine."""

    @sensor(
        name="lost_runs",
        minimum_interval_seconds=60,
        default_status=_RUNNING,
        description="Marks runs whose process is gone as failed, so that they are retried and hold no place.",
    )
    def lost(context: SensorEvaluationContext) -> SkipReason:
        found = report_lost_runs(context.instance)
        return SkipReason(f"{len(found)} runs had lost their process" if found else "every run has its process")

    return lost


def month_sensor() -> SensorDefinition:
    """Lets the conditions of what is made from months act."""
    return AutomationConditionSensorDefinition(
        name="months",
        target=AssetSelection.all(),
        default_status=_RUNNING,
        minimum_interval_seconds=60,
        description="Makes a month's tables, and its travellers, once all its days are published.",
    )
