"""Trips between places with one name each, as tools for flow maps want them: no outlines, releases or segments."""

from typing import TYPE_CHECKING

import pandas as pd

from odanon_assets.derived.exports.tables import Published
from odanon_assets.derived.months import month_zones

if TYPE_CHECKING:
    from geopandas import GeoDataFrame, GeoSeries

CLOCK = "%Y-%m-%d %H:%M:%S"  # how these tools write a time


def inner_points(zones: "GeoDataFrame") -> "GeoSeries":
    """A point inside each zone, where its trips start and end on a map."""
    return zones.geometry.representative_point()


def places_and_trips(published: Published) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Places (id, name, lat, lon), and the trips between them by local time of departure (origin, dest, count, time).

    A zone that is the same on several days is one place. Flows and rests add up, and so do segments, so that the counts are all
    trips that the releases show.
    """
    zones = month_zones({str(release): part for release, part in published.zones.groupby("release_id")})
    area = zones.set_index(["release_id", "zone_id"])["area"]
    flows = published.flows
    ends = {
        side: area.loc[list(zip(flows["release_id"], flows[column], strict=True))].to_numpy()
        for side, column in (("origin", "origin_zone"), ("dest", "destination_zone"))
    }
    rows = pd.DataFrame({**ends, "count": flows["trips"], "time": flows["local_start"].dt.strftime(CLOCK)})
    trips = rows.groupby(["time", "origin", "dest"], as_index=False, sort=True, dropna=False)["count"].sum()
    shapes = zones.drop_duplicates("area").sort_values("area", ignore_index=True)
    points = inner_points(shapes)
    called = shapes["name"].fillna(shapes["area"])
    places = {"id": shapes["area"], "name": called, "lat": points.y.round(6), "lon": points.x.round(6)}
    return pd.DataFrame(places), trips[["origin", "dest", "count", "time"]]
