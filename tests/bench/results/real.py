"""Tables of the shared real data: a week of taxi trips, all bike rides, the surveys of Toronto and Melbourne."""

import os
from pathlib import Path

import pandas as pd

from odanon.tables.read import TableInput

DATA = Path(os.environ.get("ODANON_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
_WEEK = ("2021-01-11", "2021-01-18")
_REGIONS = {  # of Melbourne; Geelong is a city of its own
    "inner": ("Melbourne", "Port Phillip", "Stonnington", "Yarra"),
    "west": ("Brimbank", "Hobsons Bay", "Maribyrnong", "Melton", "Wyndham"),
    "north": ("Banyule", "Darebin", "Hume", "Moreland", "Nillumbik", "Whittlesea"),
    "east": ("Boroondara", "Knox", "Manningham", "Maroondah", "Monash", "Whitehorse"),
    "south": (
        *("Bayside", "Casey", "Frankston", "Glen Eira", "Greater Dandenong", "Kingston", "Mornington Peninsula"),
    ),
    "geelong": ("Greater Geelong",),
}


def taxi_trips() -> pd.DataFrame:
    """Origin, destination and day of every green taxi between zones that have a polygon."""
    trips = pd.read_parquet(DATA / "nyc_green_taxi" / "trips.parquet")
    ends = {"origin": trips["o_zone"].astype(str), "destination": trips["d_zone"].astype(str)}
    named = pd.DataFrame({**ends, "day": trips["t_start"].dt.floor("D")})
    return named[~named[list(ends)].isin(["57", "264", "265"]).any(axis="columns")].sort_values("day", kind="stable")


def taxi_week(folder: Path) -> TableInput:
    """Green taxis of one week between the taxi zones of New York, about as many trips as an hour of 000's `nyc`."""
    trips = taxi_trips()
    week = trips[trips["day"].between(*map(pd.Timestamp, _WEEK), inclusive="left")]
    path = folder / "taxi_week.parquet"
    week.groupby(["origin", "destination"], as_index=False).size().to_parquet(path, index=False)
    shapes = DATA / "nyc_taxi_zones" / "taxi_zones.shp"
    return TableInput(path=path, count="size", hierarchy="ward", zones=shapes, zone_id="LocationID")


def bike_ends() -> pd.DataFrame:
    """First and last point of every ride of the Massachusetts bike share, with its user and month."""
    points = pd.read_parquet(DATA / "valleybike" / "points.parquet").sort_values(["route_id", "time"], kind="stable")
    ends = points.groupby("route_id", observed=True).agg(["first", "last"])
    rides = pd.DataFrame(
        {
            "person": ends[("user_id", "first")].astype(str),
            "month": ends[("time", "first")].dt.strftime("%Y-%m"),
            **{f"o_{axis[:3]}": ends[(axis, "first")] for axis in ("latitude", "longitude")},
            **{f"d_{axis[:3]}": ends[(axis, "last")] for axis in ("latitude", "longitude")},
        }
    )
    return rides.dropna()


def bike_rides(folder: Path) -> TableInput:
    """All rides of the Massachusetts bike share between H3 cells."""
    path = folder / "bike_rides.parquet"
    bike_ends().drop(columns="month").to_parquet(path, index=False)
    return TableInput(path=path, person="person", origin="o_lat,o_lon", destination="d_lat,d_lon", resolution=9)


def toronto(folder: Path) -> TableInput:
    """Home and work of the survey of 2016: expanded persons between traffic zones; external zones have no polygon."""
    table = pd.read_parquet(DATA / "tts2016" / "od.parquet", columns=["Origin", "Destination", "Persons"])
    path = folder / "toronto.parquet"
    named = table.astype({"Origin": str, "Destination": str, "Persons": "int64"})
    named.rename(columns=str.lower).to_parquet(path, index=False)
    zones = DATA / "tts2016" / "taz.gpkg"
    return TableInput(path=path, count="persons", hierarchy="ward", zones=zones, zone_id="GTA06", drop_unknown=True)


def melbourne(folder: Path) -> TableInput:
    """Trips of the survey's sample between municipalities, under the regions of the city; nobody says where they lie."""
    trips = pd.read_csv(DATA / "vista_sample" / "T_VISTA1218_V1.sample.csv", usecols=["PERSID", "ORIGLGA", "DESTLGA"])
    named = trips.rename(columns={"PERSID": "person", "ORIGLGA": "origin", "DESTLGA": "destination"})
    plain = named.assign(
        **{side: named[side].str.replace(r" \(\w\)$", "", regex=True) for side in ("origin", "destination")}
    )
    path, tree = folder / "melbourne.parquet", folder / "melbourne_tree.csv"
    plain.to_parquet(path, index=False)
    edges = [(town, f"region {region}") for region, towns in _REGIONS.items() for town in towns]
    edges += [(f"region {region}", "everywhere") for region in _REGIONS]
    pd.DataFrame(edges, columns=["child", "parent"]).to_csv(tree, index=False)
    return TableInput(path=path, person="person", hierarchy=str(tree))
