"""The zones table: one row per published area, as the stores keep it (ARCHITECTURE, Data)."""

from typing import TYPE_CHECKING

import numpy as np

from odanon.model.hierarchy import Hierarchy, IntArray
from odanon.model.tiles import Tiles

if TYPE_CHECKING:
    from geopandas import GeoDataFrame


def zones_table(tree: Hierarchy, tiles: Tiles, nodes: IntArray) -> "GeoDataFrame":
    """Columns zone_id, hierarchy, level, n_tiles, area_km2, tiles, geometry (EPSG:4326 MultiPolygon).

    `tiles` lists the member tiles: those of the tree with coverage `observed`; every H3 cell inside with
    coverage `full`, or null when there are more than `geometry.EXACT_CELLS` (then membership follows from the
    cell id: a tile belongs to the zone that is its H3 parent).
    """
    from geopandas import GeoDataFrame

    from odanon.model.geometry import node_area_km2, node_geometry

    nodes = np.asarray(nodes, dtype=np.int64)
    geometry = node_geometry(tree, tiles, nodes)
    return GeoDataFrame(
        {
            "zone_id": tree.label[nodes].astype(str),
            "hierarchy": tree.kind,
            "level": tree.level[nodes],
            "n_tiles": tree.n_tiles[nodes],
            "area_km2": node_area_km2(geometry),
            "tiles": [_member_tiles(tree, int(node)) for node in nodes],
        },
        geometry=geometry,
        crs="EPSG:4326",
    )


def _member_tiles(tree: Hierarchy, node: int) -> list[str] | None:
    from odanon.model.geometry import EXACT_CELLS, h3_cells

    if tree.kind == "h3" and tree.coverage == "full":
        too_many = tree.n_tiles[node] > EXACT_CELLS
        return None if too_many else sorted(h3_cells(tree, node, EXACT_CELLS))
    return tree.members(node)
