"""The last stage: the public tables, made, verified, audited and written by a fresh process."""

from datetime import date
from typing import Any

from odanon.model.figure import Figure
from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.publisher.process import publish_fresh

FIGURES = (
    Figure("flows", "flows", "rows of the public table", kind="size"),
    Figure("zones", "zones", "areas of the public table", kind="size"),
    # What went in, as the manifest tells it: rounded, and of a day without what fewer than k people left out.
    Figure("points", "points", "location points kept", kind="size"),
    Figure("people", "people", "people in the data", kind="size"),
    Figure("staypoints", "stay points", "stays found", kind="size"),
    Figure("trips", "trips", "movements between stays that depart on the day", kind="size"),
    Figure("od_pairs", "OD pairs", "pairs of tiles with trips, by time bin and segment", kind="size"),
)


def published(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """Publish the day in the store that the product's file names."""
    return publish_fresh(product, lake, day)
