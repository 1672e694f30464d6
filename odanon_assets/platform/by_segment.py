"""What products with segments show, by day and segment.

Segments are protected together, so none can be run alone: the asset is not executable. The run that publishes a day
reports a partition for every segment that the day shows.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

from dagster import (
    AssetKey,
    AssetMaterialization,
    AssetSpec,
    DagsterInstance,
    DynamicPartitionsDefinition,
    MultiPartitionKey,
    MultiPartitionsDefinition,
)
from sqlalchemy.exc import IntegrityError

from odanon.product import Product
from odanon_assets.derived.segments import Shown, shown_segments
from odanon_assets.platform.metadata import owners
from odanon_assets.platform.partitions import daily
from odanon_assets.stores.choice import open_store

# Dagster cuts keys of two dimensions at the bar; its UI reads the others as lists and ranges or cannot show them.
_REFUSED = re.compile(r"[%|,\[\]\x00-\x1f\x7f-\x9f]|\.(?=\.\.)")
_EMPTY = "%"  # no other label becomes this
_LONGEST = 200  # what PostgreSQL can index is not much more than ten times this


def segment_asset(product: Product) -> AssetSpec:
    """The grid of days and segments of a product that has segments."""
    return AssetSpec(
        key=_key(product),
        deps=[_published(product)],
        partitions_def=MultiPartitionsDefinition(
            {"day": daily(product), "segment": DynamicPartitionsDefinition(name=_dimension(product))}
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
    for label, figures in shown.segments.items():
        name = segment_key(label)
        with suppress(IntegrityError):  # another run has just added the name; with SQLite Dagster does not look again
            instance.add_dynamic_partitions(_dimension(product), [name])
        yield AssetMaterialization(
            _key(product),
            partition=MultiPartitionKey({"day": day, "segment": name}),
            metadata={**figures, "release_id": shown.release_id},
        )


def record_segments(instance: DagsterInstance, product: Product, days: Iterable[date]) -> None:
    """Tell Dagster of the segments of published days that it does not know.

    It knows those of a day when it knows of the publication too, which is recorded after them.
    """
    if not product.segmented:
        return
    known = {key.partition("|")[0] for key in instance.get_materialized_partitions(_key(product))}
    known &= instance.get_materialized_partitions(_published(product))
    store = open_store(product)
    for day in (day for day in days if day.isoformat() not in known):
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


def _key(product: Product) -> AssetKey:
    return AssetKey([product.slug, "by_segment"])


def _published(product: Product) -> AssetKey:
    return AssetKey([product.slug, "published"])


def _dimension(product: Product) -> str:
    """The name under which Dagster keeps the segments of a product."""
    return f"{product.slug}_segments"
