"""Releases as files for others: GeoParquet, CSV, GeoPackage, with a datapackage.json that explains files and fields.

The same releases give the same bytes, from either store.
"""

import json
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.tables.spreadsheet import write_csv
from odanon_assets.derived.folders import Derived
from odanon_assets.lake.files import sha256, to_json, write_parquet
from odanon_assets.lake.places import default_root
from odanon_assets.stores.interface import Store

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_FIXED_DATE = "2000-01-01T00:00:00.000Z"  # a GeoPackage carries its date of writing; ours must not
_FLOW_FIELDS = (
    ("product", "string", "Name of the data product."),
    ("window_start", "date", "First local day of the window that the release covers."),
    ("time_start", "datetime", "Start of the time of departure, in UTC."),
    ("time_end", "datetime", "End of it; empty in releases that are older than this column."),
    ("segment", "string", "Part of the population; all: everybody, in a flow that is not split."),
    ("origin_zone", "string", "Zone where the trips start."),
    ("destination_zone", "string", "Zone where the trips end."),
    ("kind", "string", "flow, or rest: the trips between its zones that no finer row of the same time counts."),
    ("trips", "integer", "Number of trips; of a release about the population, its rounded estimate."),
    (
        "spread",
        "number",
        "What to multiply with the shares of both zones that lie in areas of your own; without rests, trips.",
    ),
    (
        "spread_fitted",
        "number",
        "The same with shares of the fitted weights of both zones; empty without that reading.",
    ),
    (
        "spread_prior",
        "number",
        "The same with shares of the public weights of the tiles of both zones; empty without that reading.",
    ),
    ("persons_band", "string", "Band of the number of people behind the row."),
    ("release_id", "string", "Name of the release."),
)
_ZONE_FIELDS = (
    ("release_id", "string", "Name of the release."),
    ("zone_id", "string", "Name of the zone."),
    ("hierarchy", "string", "Kind of hierarchy the zone is a node of."),
    ("level", "integer", "Level of the node in its hierarchy; the root has the lowest."),
    ("n_tiles", "integer", "Number of tiles in the zone."),
    ("area_km2", "number", "Ground area in square kilometres."),
    ("tiles", "array", "Member tiles; empty when they are too many to list."),
    ("geometry", "any", "Outline in EPSG:4326 (WKT in CSV)."),
)
_WEIGHT_FIELDS = (
    ("release_id", "string", "Name of the release."),
    ("time_bin", "datetime", "Start of the time bin of departure, in UTC."),
    ("reading", "string", "fitted: from the published rows alone."),
    ("side", "string", "origin: of what leaves; destination: of what enters."),
    ("zone_id", "string", "Name of the zone."),
    ("around", "string", "The zone directly around it that the same side of the time bin uses; empty for none."),
    ("weight", "number", "Share of all that leaves or enters that lies in the zone and in no zone inside it."),
)
_TILE_FIELDS = (
    ("release_id", "string", "Name of the release."),
    ("tile", "string", "Name of the tile."),
    ("zones", "array", "The zones of the release around it, from the inside out."),
    ("leaving", "number", "Share of the tile in all public weights, such as residents, for what leaves."),
    ("entering", "number", "The same for what enters."),
    ("geometry", "any", "Outline in EPSG:4326 (WKT in CSV)."),
)
_MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".gpkg": "application/geopackage+sqlite3",
    ".json": "application/json",
}
_TABLES = {
    "flows": (_FLOW_FIELDS, ["release_id", "time_start", "time_end", "segment", "origin_zone", "destination_zone"]),
    "zones": (_ZONE_FIELDS, ["release_id", "zone_id"]),
    "weights": (_WEIGHT_FIELDS, ["release_id", "time_bin", "reading", "side", "zone_id"]),
    "tiles": (_TILE_FIELDS, ["release_id", "tile"]),
}
_TO_ZONES = {"flows": ["origin_zone", "destination_zone"], "weights": ["zone_id"]}  # columns that name zones


class Format(StrEnum):
    """What an export can be made of."""

    geoparquet = "geoparquet"
    csv = "csv"
    gpkg = "gpkg"


def export(store: Store, product: str, out: Path, formats: list[Format], first: date | None, last: date | None) -> int:
    """Write the visible releases of a product whose windows lie in [first, last]; how many there are."""
    if out.exists() and any(out.iterdir()):
        raise OdanonError(f"{out} is not empty; give a new folder, so that nothing is overwritten")
    windows = [date.fromisoformat(day) for day in store.windows(product)]
    chosen = [day for day in windows if (first is None or day >= first) and (last is None or day <= last)]
    found = {day: store.released(product, day) for day in chosen}
    shown = {day: release for day, release in found.items() if release is not None}
    if not shown:
        raise OdanonError(f"{product} has no published window in that range; `odanon summary {product}` shows them")
    releases = list(shown.values())
    manifests = [json.loads(store.manifest_text(release)) for release in releases]
    flows = pd.concat([store.flows(release) for release in releases], ignore_index=True)
    zones, tiles = (_placed(read, releases, lists) for read, lists in ((store.zones, "tiles"), (store.tiles, "zones")))
    weights = pd.concat([_named(store.weights(release), release) for release in releases], ignore_index=True)
    with Derived(default_root()).elsewhere(store, product, out, shown) as folder:
        for kind in formats:
            _WRITERS[kind](flows, zones, weights, tiles, folder, product)
        (folder / "releases.json").write_text(to_json(manifests), encoding="utf-8")
        (folder / "datapackage.json").write_text(to_json(_described(folder, manifests)), encoding="utf-8")
    return len(releases)


def _placed(read: Callable[[str], "GeoDataFrame"], releases: list[str], lists: str) -> "GeoDataFrame":
    import geopandas

    table = pd.concat([_named(read(release), release) for release in releases], ignore_index=True)
    # One spelling of member lists, since stores read them back as lists or as arrays.
    table[lists] = [None if members is None else list(members) for members in table[lists]]
    return geopandas.GeoDataFrame(table, geometry="geometry", crs="EPSG:4326")


def _named(table: Any, release: str) -> Any:
    table.insert(0, "release_id", pd.Series(release, index=table.index, dtype="str"))
    return table


def _geoparquet(
    flows: pd.DataFrame, zones: "GeoDataFrame", weights: pd.DataFrame, tiles: "GeoDataFrame", folder: Path, product: str
) -> None:
    write_parquet(flows, folder / "flows.parquet")
    if len(weights):
        write_parquet(weights, folder / "weights.parquet")
    for name, table in (("zones", zones), ("tiles", tiles)):
        if len(table):
            table.to_parquet(folder / f"{name}.parquet", index=False, compression="zstd", write_covering_bbox=True)


def _csv(
    flows: pd.DataFrame, zones: "GeoDataFrame", weights: pd.DataFrame, tiles: "GeoDataFrame", folder: Path, product: str
) -> None:
    for name, timed in (("flows", flows), ("weights", weights)):
        if len(timed):
            times = [column for column in ("time_start", "time_end", "time_bin") if column in timed]
            plain = timed.assign(**{column: timed[column].dt.strftime("%Y-%m-%dT%H:%M:%SZ") for column in times})
            write_csv(plain, folder / f"{name}.csv")
    for name, lists, placed in (("zones", "tiles", zones), ("tiles", "zones", tiles)):
        if len(placed):
            plain = pd.DataFrame(_with_text(placed, lists)).assign(geometry=placed.geometry.to_wkt())
            write_csv(plain, folder / f"{name}.csv")


def _gpkg(
    flows: pd.DataFrame, zones: "GeoDataFrame", weights: pd.DataFrame, tiles: "GeoDataFrame", folder: Path, product: str
) -> None:
    import pyogrio

    path = folder / f"{product}.gpkg"
    before = pyogrio.get_gdal_config_option("OGR_CURRENT_DATE")
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": _FIXED_DATE})
    try:
        for layer, table in (
            ("zones", _with_text(zones, "tiles")),
            *([("tiles", _with_text(tiles, "zones"))] if len(tiles) else []),
            ("desire_lines", desire_lines(flows, zones)),
            ("flows", flows.assign(window_start=flows["window_start"].astype("str"))),
            *([("weights", weights)] if len(weights) else []),
        ):
            pyogrio.write_dataframe(table, path, layer=layer, driver="GPKG")
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": before})


_WRITERS: dict[Format, Any] = {Format.geoparquet: _geoparquet, Format.csv: _csv, Format.gpkg: _gpkg}


def _with_text(table: "GeoDataFrame", lists: str) -> "GeoDataFrame":
    return table.assign(**{lists: [None if members is None else json.dumps(members) for members in table[lists]]})


def desire_lines(flows: pd.DataFrame, zones: "GeoDataFrame") -> "GeoDataFrame":
    """A line for each pair of zones, kind of row and window, from a point inside the one to a point inside the other."""
    import geopandas
    import shapely

    keys = ["product", "release_id", "window_start", "origin_zone", "destination_zone", "kind"]
    between = flows[flows["origin_zone"] != flows["destination_zone"]]
    volume = between.groupby(keys, as_index=False, sort=True)["trips"].sum()
    places = pd.Series(
        zones.geometry.representative_point().to_numpy(),
        index=pd.MultiIndex.from_frame(pd.DataFrame(zones[["release_id", "zone_id"]])),
    )
    ends = [
        shapely.get_coordinates(places.loc[list(zip(volume["release_id"], volume[side], strict=True))].to_numpy())
        for side in ("origin_zone", "destination_zone")
    ]
    lines = shapely.linestrings(list(zip(ends[0], ends[1], strict=True))) if len(volume) else []
    volume["window_start"] = volume["window_start"].astype("str")
    return geopandas.GeoDataFrame(volume, geometry=lines, crs="EPSG:4326")


def _described(folder: Path, manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """The datapackage.json (Frictionless Data Package) of everything in a folder; it carries no date, so that the same export has the same bytes."""
    newest = manifests[-1]
    licence = newest["licence"]
    return {
        "profile": "data-package",
        "name": newest["product"],
        "title": newest["title"],
        "description": f"Origin-destination flows of {manifests[0]['window_start']} to {newest['window_start']};"
        f" {newest.get('promise', 'see releases.json for the promise')}.",
        "licenses": [{"name": licence, "path": f"https://spdx.org/licenses/{licence}.html"}],
        "contributors": [{"title": newest["owner"], "role": "publisher"}],
        "resources": [_resource(path) for path in sorted(folder.iterdir())],
    }


def _resource(path: Path) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": path.name.replace(".", "-"),
        "path": path.name,
        "format": path.suffix[1:],
        "mediatype": _MEDIA_TYPES[path.suffix],
        "bytes": path.stat().st_size,
        "hash": f"sha256:{sha256(path)}",
    }
    if path.suffix == ".json":
        return {**resource, "description": "The sealed manifests of the releases: parameters, digests, verdicts."}
    if path.suffix == ".gpkg":
        return {
            **resource,
            "description": "Layers zones, desire_lines and, where there are any, tiles; the tables flows and, where there are any, weights.",
        }
    fields, key = _TABLES[path.stem]
    schema: dict[str, Any] = {
        "fields": [{"name": name, "type": kind, "description": meaning} for name, kind, meaning in fields],
        "primaryKey": key,
        "missingValues": [""],
    }
    if path.stem in _TO_ZONES:
        zones = path.name.replace(path.stem, "zones").replace(".", "-")
        schema["foreignKeys"] = [
            {"fields": ["release_id", column], "reference": {"resource": zones, "fields": ["release_id", "zone_id"]}}
            for column in _TO_ZONES[path.stem]
        ]
    return {**resource, "profile": "tabular-data-resource", "encoding": "utf-8", "schema": schema}
