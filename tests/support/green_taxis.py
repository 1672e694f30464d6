"""Real trips with known truth: green taxis of New York, published through the stages of the pipeline."""

from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import gate_town as gate
import geopandas
import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray
from product_example import small_product

from odanon.model.window import days_of, window_start
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon.zoning.polygons import PolygonZoning
from odanon_assets.chain.stages import STAGES, day_stages, run_stage, window_stages
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.bundle import make_bundle
from odanon_assets.stores.bundle import Bundle

ZONE = "America/New_York"
# Months whose rows are as long as their trips need, weeks and days whose rows are of one bin each.
MONTHS = {
    "bin": ["00:00", "06:00", "07:00", "09:00", "12:00", "16:00", "19:00"],
    "day_types": "working",
    "time": "adaptive",
}
WEEKS = {"bin": "24h"}
DAYS = {"bin": ["00:00", "06:00", "10:00", "15:00", "19:00"]}
# Areas that an analyst asks for, as taxi zones.
AREAS = {
    "Harlem": ["41", "42", "74", "75"],
    "Upper East Side": ["140", "141", "236", "237", "262", "263"],
    "Astoria": ["7", "8", "179", "223"],
    "LaGuardia": ["138"],
}


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


def drawn_areas(data: Path) -> geopandas.GeoDataFrame:
    """Those areas by name, and a box around the city."""
    shapes = {name: places(data).loc[zones].union_all() for name, zones in AREAS.items()}
    shapes["City"] = shapely.box(-75, 40, -73, 41.5)
    return geopandas.GeoDataFrame({"name": [*shapes]}, geometry=[*shapes.values()], crs="EPSG:4326")


def trips(data: Path, days: Iterable[date], every: int = 1) -> pd.DataFrame:
    """Every nth trip that departed on some local days: departure (on the local clock), origin, destination."""
    rows = pd.read_parquet(data / "nyc_green_taxi" / "trips.parquet", columns=["t_start", "o_zone", "d_zone"])
    rows = rows[rows["t_start"].dt.date.isin(set(days))]
    clock = rows["t_start"].dt.tz_localize(ZONE, ambiguous=True, nonexistent="shift_forward")
    ends = {side: rows[f"{side[0]}_zone"].astype("str") for side in ("origin", "destination")}
    placed = pd.DataFrame({"departure": clock, **ends})
    known = set(places(data).index)
    placed = placed[placed["origin"].isin(known) & placed["destination"].isin(known)]
    return placed.iloc[::every].reset_index(drop=True)


def product(
    rows: pd.DataFrame, data: Path, folder: Path, name: str, days: list[date], window: str, od: dict[str, Any]
) -> Product:
    """Write the trips of some days, counted by the hour, and a product over them."""
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
        "metrics": ["generalisation"],  # the others take a second a window
        "publish": {
            "licence": "CC-BY-4.0",
            "accept_unit_trips": True,
            "window": window,
            "missing_days": 13 if window == "month" else 0,
        },
    }
    return small_product(folder, product=name, **told)


def bundles(made: Product, days: list[date]) -> Iterator[Bundle]:
    """What readers get of all windows of some days, for stores to publish; the gate, which costs as much again, is not asked."""
    for day in days:
        _run(made, day_stages(made) if is_longer(made) else STAGES[:-1], day)
    starts = {window_start(day, made.publish.window) for day in days}
    for start in sorted(starts):
        _run(made, window_stages(made)[:-1], start)
        yield make_bundle(made, Lake(default_root()), start)


def _run(made: Product, stages: Any, day: date) -> None:
    for stage in stages:
        run_stage(made, stage.name, day, {name: getattr(made, name).instance for name in stage.plugins})


def counted(rows: pd.DataFrame, bundle: Bundle) -> NDArray[np.int64]:
    """Which flow of a release counts each trip, as its number, -1 for none: the smallest one that it lies in.

    That is told by public tables alone; whoever uses it holds it against the trips of the flows.
    """
    names = bundle.zones["zone_id"].tolist()
    tiles = {name: set(told) for name, told in zip(names, bundle.zones["tiles"], strict=True)}
    ends = {side: _inside(rows[side], tiles) for side in ("origin", "destination")}
    moment, flows = _told(rows["departure"], bundle.manifest), bundle.flows
    hours = (flows["time_end"] - flows["time_start"]) / pd.Timedelta(hours=1)
    size = hours * flows["origin_zone"].map(tiles).map(len) * flows["destination_zone"].map(tiles).map(len)
    owner = np.full(len(rows), -1)
    for number in size.sort_values(ascending=False, kind="stable").index:
        row = flows.loc[number]
        inside = ends["origin"][row["origin_zone"]] & ends["destination"][row["destination_zone"]]
        owner[inside & (moment >= row["time_start"].value) & (moment < row["time_end"].value)] = number
    return owner


def _inside(ends: pd.Series, tiles: dict[str, set[str]]) -> dict[str, NDArray[np.bool_]]:
    """By zone, which trips have an end in it."""
    code, names = pd.factorize(ends)
    return {zone: np.isin(names, list(held))[code] for zone, held in tiles.items()}


def _told(departure: pd.Series, manifest: dict[str, Any]) -> NDArray[np.int64]:
    """The moment by which a release tells of each departure: in a week or month that of its bin, -1 outside of the window."""
    local = departure.dt.tz_localize(None)
    moment = departure.dt.tz_convert("UTC").astype("datetime64[ns, UTC]").astype("int64").to_numpy()
    days = days_of(date.fromisoformat(manifest["window_start"]), manifest.get("window", "day"))
    moment = np.where(local.dt.date.isin(days), moment, -1)
    if "bins" not in manifest:
        return moment
    clock, kind = local.dt.strftime("%H:%M").to_numpy(), local.dt.day_of_week.map(day_type).to_numpy()
    found = np.full(len(local), -1)
    for told in manifest["bins"]:
        of_type = (told["day_type"] == "all") | (kind == told["day_type"])
        of_bin = (moment >= 0) & of_type & (clock >= told["since"]) & (clock < told["until"])
        found[of_bin] = pd.Timestamp(told["time_bin"]).value
    return found


def day_type(weekday: int) -> str:
    """That of a day of the week, in a calendar without holidays."""
    return "working" if weekday < 5 else ("saturday", "sunday_holiday")[weekday - 5]
