"""What a release shows of the segments of people, counted from its public flows. Nothing here knows about Dagster.

A segment of which nothing is shown is no part of it: that it exists may be known of its people alone.
"""

from dataclasses import dataclass

from odanon_assets.stores.interface import Store


@dataclass(frozen=True)
class Shown:
    """The segments of a release with their figures; the flows that stay whole are the segment `all`."""

    release_id: str
    segments: dict[str, dict[str, float]]


def shown_segments(store: Store, release_id: str) -> Shown:
    """Flows and trips that a release shows of each segment, and their share of all its trips."""
    flows = store.flows(release_id)
    table = flows.groupby("segment", sort=True)["trips"].agg(flows="size", trips="sum")
    table["trips_share"] = (table["trips"] / max(table["trips"].sum(), 1)).round(4)
    return Shown(release_id, table.to_dict("index"))
