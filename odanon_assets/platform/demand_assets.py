"""Assets of products whose file names a demand file: travellers of every month, made from what was published of it."""

from datetime import date

from dagster import (
    AssetDep,
    AssetExecutionContext,
    AssetsDefinition,
    MaterializeResult,
    MetadataValue,
    TimeWindowPartitionMapping,
    asset,
    define_asset_job,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon_assets.demand.figures import figures_of, meanings
from odanon_assets.demand.month import Part, demand_folder, make_demand
from odanon_assets.lake.places import default_root
from odanon_assets.platform.derived_assets import WHEN_COMPLETE
from odanon_assets.platform.metadata import owners
from odanon_assets.platform.partitions import asset_key, monthly
from odanon_assets.platform.recovery import leave_to_people
from odanon_assets.platform.resources import POOL
from odanon_assets.stores.choice import open_store

_PARTS: dict[Part, tuple[str, str]] = {  # what each is made from, and what it is
    "demand_agents": (
        "published",
        "People of a census with days of survey respondents, weighted so that they travel when published trips do.",
    ),
    "demand_places": ("demand_agents", "Zones of all their activities, drawn by the published matrices."),
    "demand_metrics": (
        "demand_places",
        "How well they fit what they were made from, and the files for transport models.",
    ),
}
_NOT_PUBLIC = (
    "Made from published tables alone and from the census and survey that the demand file names. Agents copy agendas of survey"
    " respondents: the result is not anonymous, is not published, and goes with the releases that it was made from."
)


def demand_assets(product: Product) -> list[AssetsDefinition]:
    """Agents, their places, and how well they fit; none for a product without a demand file."""
    return [_asset(product, part) for part in _PARTS] if product.demand is not None else []


def demand_job(product: Product) -> UnresolvedAssetJobDefinition:
    """The job of the three together."""
    return define_asset_job(
        name=f"{product.slug}_demand",
        selection=[asset_key(product, part) for part in _PARTS],
        tags={"product": product.product},
        description=f"Travellers of the months of {product.title}.",
    )


def _asset(product: Product, part: Part) -> AssetsDefinition:
    upstream, what = _PARTS[part]
    key = asset_key(product, upstream)
    # Of the first and last month a product may have some days only.
    by_time = TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=True)

    @asset(
        key=asset_key(product, part),
        deps=[AssetDep(key, partition_mapping=by_time) if upstream == "published" else key],
        partitions_def=monthly(product),
        automation_condition=WHEN_COMPLETE,
        group_name=product.slug,
        owners=owners(product),
        kinds={"python", "parquet"},
        tags={"product": product.product, "access": "restricted"},
        pool=POOL,
        description="\n\n".join(
            [what, _NOT_PUBLIC, "Figures: " + "; ".join(meanings(part)) + ".", f"Product: {product.title}."]
        ),
    )
    def made(context: AssetExecutionContext) -> MaterializeResult:
        first = date.fromisoformat(context.partition_key)

        def progress(stage: str, done: int, of: int) -> None:
            if done in (0, of):
                context.log.info(f"{stage}: {'done' if done == of else 'begun'}")

        try:
            told = make_demand(default_root(), product, first, open_store(product), part, progress)
        except OdanonError as error:
            if not isinstance(error, OutageError):
                leave_to_people(context.instance, context.run_id)
            raise
        folder = demand_folder(default_root(), product, first)
        notes = told["inputs"]["od"].get("published", {}).get("notes", [])
        return MaterializeResult(
            metadata={
                **figures_of(part, told),
                **({"notes": MetadataValue.md("\n".join(f"- {note}" for note in notes))} if notes else {}),
                "folder": MetadataValue.path(str(folder)),
            }
        )

    return made
