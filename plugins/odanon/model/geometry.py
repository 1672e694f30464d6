"""Geometry of hierarchy nodes, built on demand.

A node's honest area is the union of its member tiles. H3 parents do not contain their children exactly, so
even there the union is drawn, not the parent's own hexagon. An H3 node with more than `EXACT_CELLS` tiles is
drawn from its descendants at the finest resolution that has at most that many: its outline is then off by a
fraction of one such cell.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.h3shape import outline
from odanon.geo.h3steps import cells_within
from odanon.geo.layers import polygonal
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy, IntArray
from odanon.model.tiles import Tiles

if TYPE_CHECKING:
    from shapely import MultiPolygon

EXACT_CELLS = 7**5


def node_geometry(tree: Hierarchy, tiles: Tiles, nodes: IntArray) -> "list[MultiPolygon]":
    """One MultiPolygon in EPSG:4326 per node: the union of its tiles, as the tree's coverage counts them."""
    if tree.kind == "h3" and tree.coverage == "full":
        return [outline(h3_cells(tree, int(node), EXACT_CELLS)) for node in nodes]
    if tiles.kind == "h3":
        return [outline(tree.members(int(node))) for node in nodes]
    unions = dict(_unions(tree, tiles, np.unique(nodes)))
    return [unions[int(node)] for node in nodes]


def members_geometry(tree: Hierarchy, tiles: Tiles, members: list[IntArray]) -> "list[MultiPolygon]":
    """One MultiPolygon in EPSG:4326 per set of tile ranks: the union of those tiles."""
    import shapely

    names = tree.label[tree.tiles]
    if tiles.kind == "h3":
        return [outline(names[ranks].tolist()) for ranks in members]
    shape = tiles.geometry[_positions(tiles, names)]
    return [shapely.orient_polygons(polygonal(shapely.union_all(shape[ranks]))) for ranks in members]


def node_area_km2(geometry: "list[MultiPolygon]") -> npt.NDArray[np.float64]:
    """Geodesic areas on WGS 84 of geometries in EPSG:4326."""
    import shapely
    from pyproj import Geod

    geod = Geod(ellps="WGS84")
    parts, of_shape = shapely.get_parts(shapely.orient_polygons(geometry), return_index=True)
    rings, of_part = shapely.get_rings(parts, return_index=True)
    corners, of_ring = shapely.get_coordinates(rings, return_index=True)
    ends = np.searchsorted(of_ring, np.arange(1, len(rings)))
    km2 = [geod.polygon_area_perimeter(lon, lat)[0] / 1e6 for lon, lat in map(np.transpose, np.split(corners, ends))]
    return np.abs(np.bincount(of_shape[of_part], km2, minlength=len(geometry)))


def h3_cells(tree: Hierarchy, node: int, limit: int) -> list[str]:
    """The H3 cells that make up a node, at the finest resolution with up to `limit` of them.

    Never finer than the tiles; the virtual root is made of its children.
    """
    return cells_within(h3_names(tree, node), str(tree.label[tree.tiles[0]]), limit)


def h3_names(tree: Hierarchy, node: int) -> tuple[str, ...]:
    """The zones that a node is made of: itself, unless it is the virtual root."""
    return (tree.label[node],) if tree.label[node] != VIRTUAL_ROOT else tuple(tree.label[tree.parent == node])


def _unions(tree: Hierarchy, tiles: Tiles, nodes: IntArray) -> "Iterator[tuple[int, MultiPolygon]]":
    """Unions in post-order, each reusing the unions already made of nodes below it."""
    import shapely

    tile_shape = tiles.geometry[_positions(tiles, tree.label[tree.tiles])]
    done: list[tuple[int, MultiPolygon]] = []
    for node in nodes.tolist():
        pieces = []
        covered = tree.tile_end[node]
        while done and tree.is_ancestor(node, done[-1][0]):
            below, shape = done.pop()
            pieces += [shape, *tile_shape[tree.tile_end[below] : covered]]
            covered = tree.tile_start[below]
        pieces += tile_shape[tree.tile_start[node] : covered].tolist()
        # In one order of rings and corners: what it is made of follows from the other areas that are asked for.
        union = shapely.orient_polygons(shapely.normalize(polygonal(shapely.union_all(pieces))))
        done.append((node, union))
        yield node, union


def _positions(tiles: Tiles, labels: npt.NDArray[np.object_]) -> IntArray:
    """Where labels stand among the tiles."""
    at = np.minimum(np.searchsorted(tiles.label, labels), len(tiles) - 1)
    strangers = int((tiles.label[at] != labels).sum())
    if strangers:
        raise OdanonError(
            f"{strangers} of {len(labels)} tiles of the hierarchy have no geometry; give the tiles it was built on"
        )
    return at
