"""The zones table: one row per published area, as the stores keep it: tree nodes, and areas that only a release knows."""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.geo.layers import polygonal
from odanon.geo.placenames import joined_name
from odanon.model.areas import Areas, is_rest
from odanon.model.geometry import EXACT_CELLS, h3_cells, members_geometry, node_area_km2, node_geometry
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy, IntArray
from odanon.model.release import Release
from odanon.model.tiles import Tiles

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

Area = tuple[Areas, int]
_CALLED_BY_PEOPLE = ("admin", "table")  # kinds of hierarchies whose areas have ids of somebody's own


def release_zones(releases: Iterable[Release], tree: Hierarchy, tiles: Tiles) -> "GeoDataFrame":
    """One row per area of the releases, both sides, in node order; `zones_table` names the columns.

    After the nodes come the areas that are none: a box is the union of its member tiles; a rest (of the map, seen
    from one area) is everything that the flows beside it leave of the root, with its members unlisted.
    """
    node_of = {label: node for node, label in enumerate(tree.label.tolist())}
    nodes: set[int] = set()
    boxes: dict[str, Area] = {}
    rests: dict[str, Area] = {}
    beside: dict[str, set[int]] = {}
    for release in releases:
        for side, other, areas in (
            ("origin", "destination", release.origins),
            ("destination", "origin", release.destinations),
        ):
            for number, label in enumerate(areas.label.tolist()):
                if label in node_of:
                    nodes.add(node_of[label])
                elif is_rest(label):
                    rests[label] = areas, number
                    others = _beside(release.flows, label, side, other)
                    beside[label] = {node_of[name] for name in others if name in node_of}
                else:
                    boxes[label] = areas, number
    parts = [zones_table(tree, tiles, np.array(sorted(nodes), dtype=np.int64))]
    if boxes:
        members = [areas.members[areas.start[n] : areas.start[n + 1]] for areas, n in boxes.values()]
        names = tree.label[tree.tiles]
        listed = [names[ranks].tolist() for ranks in members]
        called = _Names(tree, tiles)
        parts.append(
            _rows(
                boxes,
                tree,
                members_geometry(tree, tiles, list(members)),
                listed,
                [called.of_tiles(ranks) for ranks in members],
            )
        )
    if rests:
        parts.append(_rows(rests, tree, _rest_shapes(list(beside.values()), tree, tiles), None, None))
    return parts[0] if len(parts) == 1 else pd.concat([part for part in parts if len(part)], ignore_index=True)


def _beside(flows: pd.DataFrame, label: str, side: str, other: str) -> set[str]:
    """The areas on the same side of the other flows of a rest's partner."""
    partner = flows.loc[flows[side] == label, other].iloc[0]
    return set(flows.loc[flows[other] == partner, side]) - {label}


def _rest_shapes(beside: list[set[int]], tree: Hierarchy, tiles: Tiles) -> list[Any]:
    import shapely

    (whole,) = node_geometry(tree, tiles, np.array([tree.root]))
    shapes = []
    for others in beside:
        taken = node_geometry(tree, tiles, np.array(sorted(others), dtype=np.int64)) if others else []
        shapes.append(polygonal(shapely.difference(whole, shapely.union_all(taken))))
    return shapes


def _rows(
    found: dict[str, Area],
    tree: Hierarchy,
    shapes: list[Any],
    members: list[list[str]] | None,
    names: list[str | None] | None,
) -> "GeoDataFrame":
    from geopandas import GeoDataFrame

    return GeoDataFrame(
        {
            "zone_id": list(found),
            "name": pd.Series(names, index=range(len(found)), dtype="str"),
            "hierarchy": tree.kind,
            "level": np.array([areas.level[number] for areas, number in found.values()]),
            "n_tiles": np.array([areas.n_tiles[number] for areas, number in found.values()]),
            "area_km2": node_area_km2(shapes),
            "tiles": members,
        },
        geometry=shapes,
        crs="EPSG:4326",
    )


def zones_table(tree: Hierarchy, tiles: Tiles, nodes: IntArray) -> "GeoDataFrame":
    """Columns zone_id, name, hierarchy, level, n_tiles, area_km2, tiles, geometry (EPSG:4326 MultiPolygon).

    `tiles` lists the member tiles: those of the tree with coverage `observed`; every H3 cell inside with
    coverage `full`, or null when there are more than `geometry.EXACT_CELLS` (then membership follows from the
    zone id: a tile belongs to the zone that is its H3 parent, or that names the child of such a parent above it).
    `name` is what people call the place, as zoning or hierarchy say; an area that a hierarchy has made of several is called by
    those with most ground.
    """
    from geopandas import GeoDataFrame

    nodes = np.asarray(nodes, dtype=np.int64)
    geometry = node_geometry(tree, tiles, nodes)
    called = _Names(tree, tiles)
    return GeoDataFrame(
        {
            "zone_id": tree.label[nodes].astype(str),
            "name": pd.Series([called.of_node(int(node)) for node in nodes], dtype="str"),
            "hierarchy": tree.kind,
            "level": tree.level[nodes],
            "n_tiles": tree.n_tiles[nodes],
            "area_km2": node_area_km2(geometry),
            "tiles": [_member_tiles(tree, int(node)) for node in nodes],
        },
        geometry=geometry,
        crs="EPSG:4326",
    )


def as_told(zones: "GeoDataFrame") -> "GeoDataFrame":
    """Zones as files have them: without a column of names where no zone has one."""
    return zones.drop(columns="name") if zones["name"].isna().all() else zones


class _Names:
    """What the nodes and sets of tiles of a tree are called (PRIVACY rule 24: by zoning and hierarchy alone)."""

    def __init__(self, tree: Hierarchy, tiles: Tiles) -> None:
        self._tree, self._tiles = tree, tiles

    def of_node(self, node: int) -> str | None:
        tree = self._tree
        if tree.name is None or tree.name[node] is not None:
            return None if tree.name is None else str(tree.name[node])
        if tree.size[node] == 1 or tree.kind in _CALLED_BY_PEOPLE or tree.label[node] == VIRTUAL_ROOT:
            return None
        return self.of_tiles(np.arange(tree.tile_start[node], tree.tile_end[node]))

    def of_tiles(self, ranks: IntArray) -> str | None:
        names = self._tree.name
        return None if names is None else joined_name(names[self._tree.tiles[ranks]], self._ground[ranks])

    @cached_property
    def _ground(self) -> npt.NDArray[np.float64]:
        """Square kilometres of every tile, by rank."""
        labels = self._tree.label[self._tree.tiles]
        return node_area_km2(list(self._tiles.geometry))[np.searchsorted(self._tiles.label, labels)]


def _member_tiles(tree: Hierarchy, node: int) -> list[str] | None:
    if tree.kind == "h3" and tree.coverage == "full":
        too_many = tree.n_tiles[node] > EXACT_CELLS
        return None if too_many else sorted(h3_cells(tree, node, EXACT_CELLS))
    return tree.members(node)
