"""The daily schedule of a product: each morning, the day that lies `lag` days back."""

from collections.abc import Iterator

from dagster import (
    AssetSelection,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
    define_asset_job,
    in_process_executor,
    schedule,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from odanon.product import Product


def product_job(product: Product) -> UnresolvedAssetJobDefinition:
    """All stages of a product, light enough to run in one process."""
    return define_asset_job(
        name=product.slug,
        selection=AssetSelection.groups(product.slug),
        executor_def=in_process_executor,
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
        description=f"Publishes the day {plan.lag.days} days back.",
    )
    def daily_run(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        day = (context.scheduled_execution_time.astimezone(product.zone) - plan.lag).date()
        if day < product.start:
            yield SkipReason(f"{day} lies before the product's first day {product.start}")
        else:
            yield RunRequest(run_key=day.isoformat(), partition_key=day.isoformat())

    return daily_run
