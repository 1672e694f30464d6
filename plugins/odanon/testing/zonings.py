"""Conformance of zonings."""

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.model.tiles import Tiles
from odanon.protocols import KnowsEveryTile, Zoning
from odanon.testing.parameters import check_parameters

_REACH = 1e-6  # degrees, about a decimetre: what rounding may move a border
_NEAR = 0.1  # of the longer side of a tile, by which its centre may lie outside the box around it
_ALL = 0.999  # of the ground of two tiles: then they are one


def check_zoning(plugin: Zoning, lat: npt.ArrayLike, lon: npt.ArrayLike) -> None:
    """All rules for a zoning, at some points (degrees) of which at least one lies in it."""
    import shapely

    check_parameters(plugin)
    name = type(plugin).__name__
    lat, lon = np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64)
    labels = plugin.assign(lat, lon)
    assert len(labels) == len(lat), f"{name}: assign() gives {len(labels)} labels for {len(lat)} points"
    known = np.array([label is not None for label in labels])
    assert known.any(), f"{name}: none of the points lies in a tile"
    assert all(isinstance(label, str) for label in labels[known]), f"{name}: a label is neither text nor None"
    backwards = plugin.assign(lat[::-1], lon[::-1])[::-1]
    assert list(backwards) == list(labels), f"{name}: a point's tile depends on the points beside it"
    lost = plugin.assign(np.array([np.nan, np.inf, 91.0, 0.0]), np.array([0.0, 0.0, 0.0, 181.0]))
    assert all(label is None for label in lost), f"{name}: a point that is not on Earth has a tile"
    tiles = plugin.tiles(labels[known])
    assert list(tiles.label) == sorted(set(labels[known])), f"{name}: tiles() are not the sorted distinct labels"
    again = plugin.tiles(labels[known][::-1])
    assert list(again.label) == list(tiles.label), f"{name}: tiles() depend on the order of the labels"
    assert (np.abs(tiles.lat) <= 90).all(), f"{name}: the latitude of a tile is out of range"
    assert (np.abs(tiles.lon) <= 180).all(), f"{name}: the longitude of a tile is out of range"
    shapes = tiles.geometry
    assert shapely.is_valid(shapes).all(), f"{name}: the polygon of a tile is not valid"
    _check_ground(tiles, name)
    own = shapes[np.searchsorted(tiles.label, labels[known])]
    away = shapely.distance(own, shapely.points(lon[known], lat[known]))
    assert (away <= _REACH).all(), f"{name}: {int((away > _REACH).sum())} points lie outside the polygon of their tile"
    if isinstance(plugin, KnowsEveryTile):
        assert set(labels[known]) <= set(plugin.every_label), f"{name}: assign() knows a tile that every_label does not"
    try:
        plugin.tiles(["no such tile \N{SNOWMAN}"])
    except (OdanonError, ValueError):
        return
    raise AssertionError(f"{name}: tiles() accepts a label that it never gave; raise OdanonError")


def _check_ground(tiles: Tiles, name: str) -> None:
    """Every tile has ground of its own, and its centre there; districts of a layer may overlap, but are not the same."""
    import shapely

    shapes = tiles.geometry
    west, south, east, north = shapely.bounds(shapes).T
    reach = _NEAR * np.maximum(east - west, north - south) + _REACH
    turns = np.array([[-360.0], [0.0], [360.0]])  # ground behind the 180th meridian may be drawn on either side
    beside = ((tiles.lon + turns >= west - reach) & (tiles.lon + turns <= east + reach)).any(axis=0)
    near = beside & (tiles.lat >= south - reach) & (tiles.lat <= north + reach)
    assert near.all(), f"{name}: the centres of {int((~near).sum())} tiles lie outside their polygons"
    one, two = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    one, two = one[one < two], two[one < two]
    common = shapely.area(shapely.intersection(shapes[one], shapes[two]))
    same = common > _ALL * np.maximum(shapely.area(shapes[one]), shapely.area(shapes[two]))
    assert not same.any(), f"{name}: {len(np.unique(two[same]))} tiles have the same polygon as another one"
