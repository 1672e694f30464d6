"""The zones and tiles of releases in folders, each shape once, and how zonings lie in each other."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.ownfiles import read_outlines
from odanon.reconstruct.areas import zone_shares
from odanon_assets.stores.duck import manifest_of
from odanon_assets.stores.interface import zoning_version
from odanon_assets.stores.seal import TILES, with_names, zone_digests

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_KEPT = 32  # releases whose zones are at hand for the next question: they never change, and reading them takes longest


def distinct_zones(folders: list[Path]) -> tuple["GeoDataFrame", pd.DataFrame]:
    """Areas that differ (zone_id is a number here, name the zone's), and the number of each release's zones."""
    import geopandas

    kept: dict[bytes, int] = {}
    rows, names = [], []
    for folder in folders:
        zones = read_zones(folder)
        numbers = []
        for digest, name, shape in zip(zone_digests(zones), zones["zone_id"], zones.geometry, strict=True):
            if digest not in kept:
                kept[digest] = len(kept)
                rows.append((kept[digest], name, shape))
            numbers.append(kept[digest])
        names.append(pd.DataFrame({"release_id": folder.name, "zone_id": zones["zone_id"], "zone": numbers}))
    table = geopandas.GeoDataFrame(
        {"zone_id": [row[0] for row in rows], "name": [row[1] for row in rows]},
        geometry=[row[2] for row in rows],
        crs="EPSG:4326",
    )
    return table, pd.concat(names, ignore_index=True)


def read_zones(folder: Path) -> "GeoDataFrame":
    """The zones of a release as they were published."""
    path = folder / "zones.parquet"
    return _zones_of(path, path.stat().st_mtime_ns).copy(deep=False)


@lru_cache(maxsize=_KEPT)
def _zones_of(path: Path, _written_ns: int) -> "GeoDataFrame":
    return with_names(read_outlines(path))


def distinct_tiles(folders: list[Path], names: pd.DataFrame) -> "GeoDataFrame":
    """The tiles of releases that share a file of weights, each with the numbers of all zones of theirs around it."""
    number = names.set_index(["release_id", "zone_id"])["zone"]
    tables = [read_outlines(folder / TILES).assign(release_id=folder.name) for folder in folders]
    every = pd.concat(tables, ignore_index=True)
    around = every[["tile", "release_id", "zones"]].explode("zones")
    around["zones"] = number.loc[list(zip(around["release_id"], around["zones"], strict=True))].to_numpy()
    zones = around.drop_duplicates(["tile", "zones"]).groupby("tile")["zones"].agg(list)
    tiles = every.drop_duplicates("tile", ignore_index=True)
    return tiles.assign(zones=zones.loc[tiles["tile"]].to_list())


def crosswalk_over(folders: list[Path], old: str, new: str) -> pd.DataFrame:
    """How the zones of one zoning version lie in those of another."""
    import geopandas

    sides = []
    for version in (old, new):
        chosen = [folder for folder in folders if zoning_version(manifest_of(folder)) == version]
        if not chosen:
            raise OdanonError(f"no visible release has the zoning version {version[:20]!r}")
        sides.append(distinct_zones(chosen)[0])
    before, after = sides
    shares = zone_shares(before, geopandas.GeoSeries(after.geometry, crs="EPSG:4326"))
    table = pd.DataFrame(
        {
            "zone": before["name"].to_numpy()[shares["zone"]],
            "area": after["name"].to_numpy()[shares["area"]],
            "share": shares["share"],
        }
    )
    return table.sort_values(["zone", "area"], ignore_index=True)
