"""The daily run of a product: the job, and the schedule that asks each morning for the day that lies `lag` days back."""

from collections.abc import Iterator

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
from odanon_assets.chain.arrival import has_matrix
from odanon_assets.platform.assets import stage_keys
from odanon_assets.stores.choice import open_store

# Runs that someone waits for go first; backfills have priority 0.
DAILY = {"dagster/priority": "10"}


def product_job(product: Product) -> UnresolvedAssetJobDefinition:
    """All stages of a product and their checks."""
    return define_asset_job(
        name=product.slug,
        selection=AssetSelection.assets(*stage_keys(product)),
        tags={"product": product.product},
        description=f"Every stage of {product.title}.",
    )


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
        description=f"Publishes the day {plan.lag.days} days back.",
    )
    def daily_run(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        day = (context.scheduled_execution_time.astimezone(product.zone) - plan.lag).date()
        if day < product.start:
            yield SkipReason(f"{day} lies before the product's first day {product.start}")
        elif product.end is not None and day > product.end:
            yield SkipReason(f"{day} lies after the product's last day {product.end}")
        elif not has_matrix(product, day):
            yield SkipReason(f"{day} is no working day, and od.days is working")
        elif standing := open_store(product).standings(product.product).get(day.isoformat()):
            yield SkipReason(f"{day} is {standing} already")
        else:
            yield RunRequest(run_key=day.isoformat(), partition_key=day.isoformat(), tags=DAILY)

    return daily_run
