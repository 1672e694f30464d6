"""Tables of the shared real data: a week of taxi trips and all bike rides."""

import os
from pathlib import Path

import pandas as pd

from odanon.tables.read import TableInput

DATA = Path(os.environ.get("ODANON_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
_WEEK = ("2021-01-11", "2021-01-18")


def taxi_week(folder: Path) -> TableInput:
    """Green taxis of one week between the taxi zones of New York, about as many trips as an hour of 000's `nyc`."""
    trips = pd.read_parquet(DATA / "nyc_green_taxi" / "trips.parquet")
    week = trips[trips["t_start"].between(*map(pd.Timestamp, _WEEK), inclusive="left")]
    named = pd.DataFrame({"origin": week["o_zone"].astype(str), "destination": week["d_zone"].astype(str)})
    known = ~named.isin(["57", "264", "265"]).any(axis="columns")  # zones without a polygon
    path = folder / "taxi_week.parquet"
    named[known].groupby(["origin", "destination"], as_index=False).size().to_parquet(path, index=False)
    shapes = DATA / "nyc_taxi_zones" / "taxi_zones.shp"
    return TableInput(path=path, count="size", hierarchy="ward", zones=shapes, zone_id="LocationID")


def bike_rides(folder: Path) -> TableInput:
    """First and last point of every ride of the Massachusetts bike share, with its user."""
    points = pd.read_parquet(DATA / "valleybike" / "points.parquet").sort_values(["route_id", "time"], kind="stable")
    ends = points.groupby("route_id", observed=True).agg(["first", "last"])
    rides = pd.DataFrame(
        {
            "person": ends[("user_id", "first")].astype(str),
            **{f"o_{axis[:3]}": ends[(axis, "first")] for axis in ("latitude", "longitude")},
            **{f"d_{axis[:3]}": ends[(axis, "last")] for axis in ("latitude", "longitude")},
        }
    )
    path = folder / "bike_rides.parquet"
    rides.dropna().to_parquet(path, index=False)
    return TableInput(path=path, person="person", origin="o_lat,o_lon", destination="d_lat,d_lon", resolution=9)
