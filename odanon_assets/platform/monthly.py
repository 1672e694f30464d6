"""The monthly asset of a product."""

from datetime import date

from dagster import (
    AssetDep,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AutomationCondition,
    MaterializeResult,
    MetadataValue,
    TimeWindowPartitionMapping,
    asset,
    define_asset_job,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon_assets.platform.assets import POOL, asset_key
from odanon_assets.platform.metadata import owners
from odanon_assets.platform.partitions import monthly
from odanon_assets.platform.recovery import leave_to_people

# All days of the month are published and one of them was since the last time; history counts like the latest month.
_WHEN_COMPLETE = AutomationCondition.eager().without(AutomationCondition.in_latest_time_window())


def month_asset(product: Product) -> AssetsDefinition:
    """Sums of the published days of a month, and its typical working day."""

    @asset(
        key=AssetKey([product.slug, "monthly"]),
        deps=[
            AssetDep(
                asset_key(product, "published"),
                partition_mapping=TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=True),
            )
        ],
        partitions_def=monthly(product),
        automation_condition=_WHEN_COMPLETE,
        group_name=product.slug,
        owners=owners(product),
        kinds={"python", "parquet"},
        tags={"product": product.product, "access": "public"},
        pool=POOL,
        description="Sums of the flows that the days of a month have published, and the typical working day. Made from "
        f"published cells alone, so they reveal nothing that the days do not.\n\nProduct: {product.title}.",
    )
    def month(context: AssetExecutionContext) -> MaterializeResult:
        from odanon_assets.derived.months import make_month
        from odanon_assets.stores.choice import open_store

        try:
            figures = make_month(product, date.fromisoformat(context.partition_key), open_store(product))
        except OdanonError as error:
            if not isinstance(error, OutageError):
                leave_to_people(context.instance, context.run_id)
            raise
        numbers = {name: value for name, value in figures.items() if isinstance(value, int)}
        return MaterializeResult(metadata={**numbers, "folder": MetadataValue.path(figures["folder"])})

    return month


def month_job(product: Product) -> UnresolvedAssetJobDefinition:
    """The job of a product's months."""
    return define_asset_job(
        name=f"{product.slug}_monthly",
        selection=[AssetKey([product.slug, "monthly"])],
        tags={"product": product.product},
        description=f"Monthly sums and typical working day of {product.title}.",
    )
