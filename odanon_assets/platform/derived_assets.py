"""Assets made from what a product has published: its months, what its days show by segment, and travellers where its file names a demand file.

Segments are protected together, so none can be run alone: their asset is not executable. The run that publishes a day
reports a partition for every segment that the day shows.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

from dagster import (
    AssetDep,
    AssetExecutionContext,
    AssetMaterialization,
    AssetsDefinition,
    AssetSpec,
    AutomationCondition,
    DagsterInstance,
    DynamicPartitionsDefinition,
    MaterializeResult,
    MetadataValue,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    TimeWindowPartitionMapping,
    asset,
    define_asset_job,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon_assets.demand.figures import figures_of, meanings
from odanon_assets.demand.month import Part, demand_folder, make_demand
from odanon_assets.derived.months import make_month, month_folder
from odanon_assets.derived.segments import Shown, shown_segments
from odanon_assets.lake.places import default_root
from odanon_assets.platform.metadata import owners
from odanon_assets.platform.partitions import asset_key, monthly, windows
from odanon_assets.platform.recovery import leave_to_people
from odanon_assets.platform.resources import POOL
from odanon_assets.stores.choice import open_store

# All days of the month are published and one of them was since the last time; history counts like the latest month.
_WHEN_COMPLETE = AutomationCondition.eager().without(AutomationCondition.in_latest_time_window())
# Dagster cuts keys of two dimensions at the bar; its UI reads the others as lists and ranges or cannot show them.
_REFUSED = re.compile(r"[%|,\[\]\x00-\x1f\x7f-\x9f]|\.(?=\.\.)")
_EMPTY = "%"  # no other label becomes this
_LONGEST = 200  # what PostgreSQL can index is not much more than ten times this
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


def month_asset(product: Product) -> AssetsDefinition:
    """Sums of the published days of a month, and its typical working day."""

    @asset(
        key=asset_key(product, "monthly"),
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
        try:
            first = date.fromisoformat(context.partition_key)
            figures = make_month(product, first, open_store(product))
        except OdanonError as error:
            if not isinstance(error, OutageError):
                leave_to_people(context.instance, context.run_id)
            raise
        numbers = {name: value for name, value in figures.items() if isinstance(value, int)}
        return MaterializeResult(metadata={**numbers, "folder": MetadataValue.path(str(month_folder(product, first)))})

    return month


def month_job(product: Product) -> UnresolvedAssetJobDefinition:
    """The job of a product's months."""
    return define_asset_job(
        name=f"{product.slug}_monthly",
        selection=[asset_key(product, "monthly")],
        tags={"product": product.product},
        description=f"Monthly sums and typical working day of {product.title}.",
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
        automation_condition=_WHEN_COMPLETE,
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


def segment_asset(product: Product) -> AssetSpec:
    """The grid of days and segments of a product that has segments."""
    return AssetSpec(
        key=asset_key(product, "by_segment"),
        deps=[asset_key(product, "published")],
        partitions_def=MultiPartitionsDefinition(
            {"day": windows(product), "segment": DynamicPartitionsDefinition(name=_dimension(product))}
        ),
        group_name=product.slug,
        owners=owners(product),
        kinds={"parquet"},
        tags={"product": product.product, "access": "public"},
        description="The published flows by segment of the people, and under `all` those that stay whole. Segments are "
        "protected together, so a day is run and published with all of them; an empty place is a segment of which the "
        f"day shows nothing.\n\nProduct: {product.title}.",
    )


def segment_events(
    instance: DagsterInstance, product: Product, day: str, shown: Shown
) -> Iterator[AssetMaterialization]:
    """What Dagster keeps of the segments that a day shows; their names are made known to it first."""
    from sqlalchemy.exc import IntegrityError

    for label, figures in shown.segments.items():
        name = segment_key(label)
        with suppress(IntegrityError):  # another run has just added the name; with SQLite Dagster does not look again
            instance.add_dynamic_partitions(_dimension(product), [name])
        yield AssetMaterialization(
            asset_key(product, "by_segment"),
            partition=MultiPartitionKey({"day": day, "segment": name}),
            metadata={**figures, "release_id": shown.release_id},
        )


def record_segments(instance: DagsterInstance, product: Product, days: Iterable[date], *, again: bool = False) -> None:
    """Tell Dagster of the segments of published days that it does not know, or that are others now (`again`).

    It knows those of a day when it knows of the publication too, which is recorded after them.
    """
    if not product.segmented:
        return
    known = {key.partition("|")[0] for key in instance.get_materialized_partitions(asset_key(product, "by_segment"))}
    known &= instance.get_materialized_partitions(asset_key(product, "published"))
    store = open_store(product)
    for day in (day for day in days if again or day.isoformat() not in known):
        release = store.released(product.product, day)
        if release is not None:
            for made in segment_events(instance, product, day.isoformat(), shown_segments(store, release)):
                instance.report_runless_asset_event(made)


def segment_key(label: str) -> str:
    """A segment's label as a partition key: what Dagster cannot take is written as in URLs, and long ones are cut."""
    key = _REFUSED.sub(lambda found: f"%{ord(found[0]):02X}", label) or _EMPTY
    if len(key) <= _LONGEST:
        return key
    return f"{key[:_LONGEST]}~{hashlib.sha256(label.encode()).hexdigest()[:12]}"


def _dimension(product: Product) -> str:
    """The name under which Dagster keeps the segments of a product."""
    return f"{product.slug}_segments"
