"""Flows between areas by shares of tiles: the even spread over tiles of 000 section 4.3, for areas that tiles make up.

An area here is a set of tiles: a tile itself, a zone of another zoning that tiles are assigned to, or a polygon with the
tiles whose centres lie in it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.tiles import Tiles
from odanon.protocols import Zoning
from odanon.reconstruct.areas import checked

if TYPE_CHECKING:
    from geopandas import GeoSeries


def tile_shares(zones: pd.DataFrame, area_of: pd.Series, places: Tiles | None = None) -> pd.DataFrame:
    """Columns zone (position in zones), area, share of the zone's tiles that belong to the area.

    `area_of` names the area of every tile (its index; tiles may be missing or have none). `zones` lists its tiles in
    column `tiles`; `n_tiles` may count more of them, those without traffic. Zones that list none, such as the rest of a
    map, hold the tiles whose centres lie in their geometry, if `places` tells where tiles are.
    """
    if area_of.index.has_duplicates:
        raise OdanonError("a tile has two areas; give every tile one")
    silent = zones["tiles"].isna().to_numpy()
    if silent.any() and places is None:
        raise OdanonError(f"{int(silent.sum())} zones do not list their tiles; reconstruct by shares of area instead")
    listed = zones["tiles"][~silent]
    zone = np.repeat(np.flatnonzero(~silent), listed.map(len).to_numpy(np.int64))
    labels = np.concatenate([*listed.map(np.asarray), np.empty(0, object)])
    if places is not None and silent.any():
        more, found = _tiles_inside(zones[silent], np.flatnonzero(silent), places)
        zone, labels = np.concatenate([zone, more]), np.concatenate([labels, found])
    area = area_of.reindex(labels).to_numpy(object)
    inside = pd.notna(area)
    table = pd.DataFrame({"zone": zone[inside], "area": area[inside]})
    shares = table.groupby(["zone", "area"], as_index=False).size()
    shares["share"] = shares.pop("size") / zones["n_tiles"].to_numpy()[shares["zone"]]
    return shares


def _tiles_inside(zones: pd.DataFrame, number: np.ndarray, places: Tiles) -> tuple[np.ndarray, np.ndarray]:
    """(zone number, tile) of every tile whose centre lies in a zone."""
    import shapely

    centre = shapely.points(places.lon, places.lat)
    at, tile = shapely.STRtree(centre).query(np.asarray(zones["geometry"]), predicate="intersects")
    return number[at], places.label[tile]


def themselves(labels: Sequence[Any]) -> pd.Series:
    """Every tile as an area of its own."""
    return pd.Series(list(labels), index=list(labels), dtype=object)


def by_zoning(tiles: Tiles, zoning: Zoning) -> pd.Series:
    """The zone of another zoning that holds each tile's centre."""
    return pd.Series(zoning.assign(tiles.lat, tiles.lon), index=tiles.label, dtype=object)


def by_polygons(tiles: Tiles, areas: "GeoSeries") -> pd.Series:
    """The polygon (its index) that holds each tile's centre; where polygons overlap, the first one."""
    import shapely

    areas = checked(areas)
    centre = shapely.points(tiles.lon, tiles.lat)
    tile, area = shapely.STRtree(np.asarray(areas)).query(centre, predicate="intersects")
    first = pd.DataFrame({"tile": tile, "area": area}).groupby("tile")["area"].min()
    return pd.Series(areas.index.to_numpy()[first], index=tiles.label[first.index], dtype=object)
