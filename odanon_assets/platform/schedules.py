"""The daily run of a product: its jobs, and the schedule that asks each morning for the day that lies `lag` days back."""

from collections.abc import Iterator, Mapping
from datetime import date

from dagster import (
    AssetSelection,
    DefaultScheduleStatus,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
    define_asset_job,
    schedule,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from odanon.product import Product
from odanon.product.windows import has_matrix, is_longer, window_of
from odanon_assets.chain.arrival import unmade, waiting_days, waits_for
from odanon_assets.chain.stages import day_stages, window_stages
from odanon_assets.checks.delivery import found_short
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import outcomes
from odanon_assets.platform.assets import stage_keys
from odanon_assets.platform.recovery import attempts
from odanon_assets.stores.choice import open_store

# Runs that someone waits for go first; backfills have priority 0.
DAILY = {"dagster/priority": "10"}
_SHOWN = 3  # days whose reason to wait is told by a tick


def acts_on(product: Product) -> str:
    """What schedule and sensors do with a day, in one word."""
    return "Publishes" if product.status == "live" else "Tries, and does not publish,"


def product_job(product: Product) -> UnresolvedAssetJobDefinition:
    """All stages of a product and their checks; where windows are longer than a day, those of the days."""
    which = "Every stage" if not is_longer(product) else "The stages of the days"
    return define_asset_job(
        name=product.slug,
        selection=AssetSelection.assets(*stage_keys(product, day_stages(product))),
        tags={"product": product.product},
        description=f"{which} of {product.title}.",
    )


def window_job(product: Product) -> UnresolvedAssetJobDefinition:
    """The stages of the longer windows of a product and their checks."""
    return define_asset_job(
        name=window_job_name(product),
        selection=AssetSelection.assets(*stage_keys(product, window_stages(product))),
        tags={"product": product.product},
        description=f"The stages of each {product.publish.window} of {product.title}.",
    )


def window_job_name(product: Product) -> str:
    """The job that publishes what a product publishes."""
    return f"{product.slug}_window" if is_longer(product) else product.slug


def product_schedule(product: Product, job: UnresolvedAssetJobDefinition) -> ScheduleDefinition | None:
    """The schedule of a product's job, None when its file asks for none."""
    plan = product.schedule
    if plan is None:
        return None

    @schedule(
        name=f"{product.slug}_daily",
        job=job,
        cron_schedule=plan.cron,
        execution_timezone=product.timezone,
        default_status=DefaultScheduleStatus.RUNNING,
        description=f"{acts_on(product)} the day {plan.lag.days} days back.",
    )
    def daily_run(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        due = (context.scheduled_execution_time.astimezone(product.zone) - plan.lag).date()
        reasons = {day: waits_for(product, lake_of(product), day) for day in _left(product, context, due)}
        reasons[due] = _skipped(product, due)
        ready = [day for day, why in reasons.items() if not why]
        if not ready:
            yield SkipReason(reasons[due] if len(reasons) == 1 else told_waiting(reasons))
        yield from (RunRequest(run_key=f"{day}", partition_key=f"{day}", tags=DAILY) for day in ready)

    return daily_run


def _skipped(product: Product, day: date) -> str:
    """Why the day that is due is not run; empty when it is.

    Without terms under arrival a day that has not come is run nevertheless, so that its failure is told. A longer window has time
    to wait for it.
    """
    if day < product.start:
        return f"{day} lies before the product's first day {product.start}"
    if product.end is not None and day > product.end:
        return f"{day} lies after the product's last day {product.end}"
    if not has_matrix(product, day):
        return f"{day} is no working day, and od.days is working"
    window = window_of(product, day)
    if standing := open_store(product).standings(product.product).get(window.isoformat()):
        what = f"{day}" if not is_longer(product) else f"the {product.publish.window} of {day}"
        return f"{what} is {standing} already"
    if is_longer(product) and not unmade(product, lake_of(product), day):
        return f"{day} is made already"
    asks = product.arrival is not None or is_longer(product)
    why = waits_for(product, lake_of(product), day) if asks else ""
    return f"{day} waits: {why}" if why else ""


def _left(product: Product, context: ScheduleEvaluationContext, due: date) -> list[date]:
    """Days before the one that is due that waited when they were, and were not begun since or found short when they were
    read: a tick asks for them again."""
    if product.arrival is None and not is_longer(product):
        return []
    on_trial, last = product.status == "trial", day_stages(product)[-1].name
    begun = (
        {*map(str, outcomes(default_root(), product.product))}
        if on_trial
        else {*attempts(product, context.instance, last)}
    )
    waiting = waiting_days(product, open_store(product), lake_of(product), due)
    return [day for day in waiting if day.isoformat() not in begun or found_short(product, lake_of(product), day)]


def told_waiting(reasons: Mapping[date, str], failed: int = 0) -> str:
    """Why nothing is asked for, in one sentence: the first days that wait, and how many wait for people."""
    first = [f"{day}: {why}" for day, why in sorted(reasons.items())[:_SHOWN]]
    more = [f"{len(reasons) - _SHOWN} more days wait"] if len(reasons) > _SHOWN else []
    people = [f"{failed} days were asked for before and wait for a person"] if failed else []
    return "; ".join([*first, *more, *people]) or "no day waits"


def lake_of(product: Product) -> Lake:
    """The partitions that the runs of a product work on."""
    return Lake(default_root(), trial=product.status == "trial")
