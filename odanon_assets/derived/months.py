"""Tables of a month: sums of what its days have published, and the typical working day.

They are made from published cells alone (PRIVACY rule 6), so they tell nothing that the days do not tell. A flow
counts on the days on which exactly its two areas were published; a sum is therefore a lower bound wherever a day joined
or suppressed them, and `days` says on how many days the flow was there. A flow on one day and a rest on another are two rows, and a
rest of several days counts what finer rows left over on each of them; `spread` adds up and is read as that of a day, and so does `spread_prior` where
all days have public weights by tile from one file. What is fitted has weights of its own in every time bin: read a month that way through the store, which
adds up its days. Complete totals of a month would need unpublished numbers and are not made.
"""

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.model.zones import as_told
from odanon.product import Product
from odanon_assets.derived.folders import Derived, made_from
from odanon_assets.lake.files import write_parquet
from odanon_assets.lake.lake import write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.stores.interface import Store

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_CELL = ["clock", "segment", "origin_zone", "destination_zone", "kind"]


def month_folder(product: Product, month: date) -> Path:
    """Where a month's public tables lie."""
    return Derived(default_root()).folder(product.product, _name(month))


def make_month(product: Product, month: date, store: Store) -> dict[str, Any]:
    """Write flows.parquet, typical_day.parquet, zones.parquet and, with public weights, tiles.parquet of a month; returns the figures."""
    releases = _releases(product, month, store)
    if not releases:
        raise OdanonError(f"{product.product} has published no day of {month:%Y-%m}; run its days first")
    days = list(releases)
    zones = month_zones({release: store.zones(release) for release in releases.values()})
    cells = pd.concat([_cells(product, store.flows(release), zones) for release in releases.values()])
    working = [day for day in days if product.calendar.is_working(day)]
    tiles = _tiles(store, [*releases.values()], zones)
    added = ["trips", "spread", *([] if tiles is None else ["spread_prior"])]
    typical = _sums(cells[cells["window_start"].isin(working)], added)
    for column in added:
        typical[f"{column}_per_day"] = typical.pop(column) / max(len(working), 1)
    with Derived(default_root()).new(store, product.product, _name(month), releases) as folder:
        write_parquet(_sums(cells, added), folder / "flows.parquet")
        write_parquet(typical, folder / "typical_day.parquet")
        shapes = zones.drop_duplicates("area").sort_values("area").drop(columns=["release_id", "zone_id"])
        as_told(shapes.rename(columns={"area": "zone_id"})).to_parquet(folder / "zones.parquet", index=False)
        if tiles is not None:
            tiles.to_parquet(folder / "tiles.parquet", index=False)
        figures = {
            "days": len(days),
            "working_days": len(working),
            "flows": int(cells.groupby(_CELL, observed=True).ngroups),
            "trips": int(cells["trips"].sum()),
        }
        written = write_figures(folder, {**figures, "releases": sorted(releases.values())})
    return {**written, "folder": str(month_folder(product, month))}  # readers get the file, and no path of the server


def is_current(product: Product, month: date, store: Store) -> bool:
    """Whether a month's tables are made of the releases that its days show now."""
    return made_from(month_folder(product, month)) == sorted(_releases(product, month, store).values())


def _name(month: date) -> str:
    return f"month={month:%Y-%m}"


def _releases(product: Product, month: date, store: Store) -> dict[date, str]:
    """The releases that the published days of a month show."""
    days = [day for day in map(date.fromisoformat, store.windows(product.product)) if day.replace(day=1) == month]
    return {day: str(store.released(product.product, day)) for day in days}


def month_zones(zones: dict[str, "GeoDataFrame"]) -> "GeoDataFrame":
    """The zones of all releases with a name `area` that means one shape: the same name for the same shape only.

    A name that stands for several shapes (areas that a release draws itself) gets a mark of its shape.
    """
    both = pd.concat([frame.assign(release_id=release) for release, frame in zones.items()], ignore_index=True)
    mark = both.geometry.to_wkb().map(lambda shape: hashlib.sha256(shape).hexdigest()[:8])
    ambiguous = mark.groupby(both["zone_id"]).transform("nunique") > 1
    both["area"] = both["zone_id"].where(~ambiguous, both["zone_id"] + "#" + mark)
    return both


def _tiles(store: Store, releases: list[str], zones: pd.DataFrame) -> "GeoDataFrame | None":
    """The tiles with public weights in zones of the month; None unless all of its days were weighed by one file."""
    files = {json.loads(store.manifest_text(release)).get("weights", {}).get("sha256") for release in releases}
    tables = {release: store.tiles(release) for release in releases} if len(files - {None}) == len(files) == 1 else {}
    if not tables or any(table.empty for table in tables.values()):
        return None
    every = pd.concat([table.assign(release_id=release) for release, table in tables.items()], ignore_index=True)
    around = every[["tile", "release_id", "zones"]].explode("zones").rename(columns={"zones": "zone_id"})
    around = around.merge(zones[["release_id", "zone_id", "area", "n_tiles"]], on=["release_id", "zone_id"])
    around = around.drop_duplicates(["tile", "area"]).sort_values(["tile", "n_tiles", "area"])
    tiles = every.drop(columns="release_id").drop_duplicates("tile").sort_values("tile", ignore_index=True)
    return tiles.assign(zones=around.groupby("tile")["area"].agg(list).loc[tiles["tile"]].to_list())


def _cells(product: Product, flows: pd.DataFrame, zones: pd.DataFrame) -> pd.DataFrame:
    """A day's published flows by local clock time and shape; of a product in time, by the start and end of theirs."""
    release = flows["release_id"].iloc[0] if len(flows) else ""
    area = zones[zones["release_id"] == release].set_index("zone_id")["area"]
    clock, end = (flows[name].dt.tz_convert(product.zone).dt.strftime("%H:%M") for name in ("time_start", "time_end"))
    if product.od.time == "adaptive":  # days that were published before by bins have no end
        clock = (clock + "-" + end.replace("00:00", "24:00")).fillna(clock)
    return flows.assign(
        clock=clock,
        origin_zone=flows["origin_zone"].map(area),
        destination_zone=flows["destination_zone"].map(area),
    )


def _sums(cells: pd.DataFrame, added: list[str]) -> pd.DataFrame:
    """Trips and spreads of each flow over the days, and the number of days on which it was published."""
    groups = cells.groupby(_CELL, sort=True, observed=True)
    sums = {column: (column, "sum") for column in added}
    return groups.agg(**sums, days=("window_start", "nunique")).reset_index()
