"""Real trips with known truth: green taxis of New York, published through the stages of the pipeline."""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import gate_town as gate
import geopandas
import pandas as pd
import shapely
from product_example import small_product

from odanon.product import Product
from odanon.zoning.polygons import PolygonZoning
from odanon_assets.chain.stages import day_stages, run_stage, window_stages

ZONE = "America/New_York"
# Two kinds of products: months whose rows are of one bin each, and weeks whose rows are as long as their trips need.
MONTHS = {"bin": ["00:00", "06:00", "10:00", "15:00", "19:00"], "day_types": "working"}
WEEKS = {"bin": "1h", "day_types": "working", "time": "adaptive"}


@lru_cache
def places(data: Path) -> geopandas.GeoDataFrame:
    """The taxi zones by id, with the names of zones and boroughs; their outlines are simplified, borders in common alike."""
    layer = PolygonZoning(path=data / "nyc_taxi_zones" / "taxi_zones.shp", id="LocationID")
    told = pd.read_csv(data / "nyc_taxi_zones" / "zone_lookup.csv").drop_duplicates("LocationID")
    names = layer.every_label.astype("str")
    known = told.assign(id=told["LocationID"].astype("str")).set_index("id").reindex(names)
    outlines = geopandas.GeoSeries(layer.tiles(names).geometry, index=known.index, crs="EPSG:4326")
    simple = shapely.coverage_simplify(outlines.to_crs("EPSG:2263").to_numpy(), 300)  # feet
    shapes = geopandas.GeoSeries(simple, index=known.index, crs="EPSG:2263").to_crs("EPSG:4326")
    return geopandas.GeoDataFrame(known[["Zone", "Borough"]], geometry=shapes)


def trips(data: Path, days: Iterable[date]) -> pd.DataFrame:
    """Trips that departed on some local days: departure (on the local clock), origin, destination."""
    rows = pd.read_parquet(data / "nyc_green_taxi" / "trips.parquet", columns=["t_start", "o_zone", "d_zone"])
    rows = rows[rows["t_start"].dt.date.isin(set(days))]
    clock = rows["t_start"].dt.tz_localize(ZONE, ambiguous=True, nonexistent="shift_forward")
    ends = {side: rows[f"{side[0]}_zone"].astype("str") for side in ("origin", "destination")}
    placed = pd.DataFrame({"departure": clock, **ends})
    known = set(places(data).index)
    return placed[placed["origin"].isin(known) & placed["destination"].isin(known)].reset_index(drop=True)


def product(
    data: Path, folder: Path, name: str, days: list[date], window: str, od: dict[str, Any], **changes: Any
) -> Product:
    """Write the trips of some days, counted by the hour, and a product over them."""
    rows = trips(data, days)
    hours = rows.assign(time_bin=rows["departure"].dt.tz_convert("UTC").dt.floor("h"), trips=1)
    for day, here in hours.groupby(rows["departure"].dt.date):
        counted = here.groupby(["time_bin", "origin", "destination"], as_index=False)["trips"].sum()
        gate.write(folder, counted, day)
    layer = folder / "zones.parquet"
    places(data).reset_index(names="id").to_parquet(layer)
    told = {
        "title": "Green taxis of New York",
        "timezone": ZONE,
        "start": str(days[0].replace(day=1) if window == "month" else days[0]),
        "source": {"plugin": "od", "path": f"{folder}/{{date}}.parquet"},
        "zoning": {"plugin": "polygons", "path": str(layer), "id": "id"},
        "od": od,
        "hierarchy": "ward",
        "anonymize": {"plugin": "atg-lattice", "k": 10, "unit": "trips", "suppression": 0.1},
        "publish": {"licence": "CC-BY-4.0", "accept_unit_trips": True, "window": window, "missing_days": 13 if window == "month" else 0},
    }
    return small_product(folder, product=name, **told | changes)


def publish(made: Product, days: list[date]) -> None:
    """All windows of some days."""
    for day in days:
        _run(made, day_stages(made), day)
    month = made.publish.window == "month"
    for start in sorted({day.replace(day=1) if month else day - timedelta(days=day.weekday()) for day in days}):
        _run(made, window_stages(made)[:-1], start)
        gate.publish(made, start)


def _run(made: Product, stages: Any, day: date) -> None:
    for stage in stages:
        run_stage(made, stage.name, day, {name: getattr(made, name).instance for name in stage.plugins})
