"""The zones of a release: tree nodes, and areas that only a release knows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import shapely

from odanon.anonymize.release import Areas, Release
from odanon.hierarchy.geometry import node_area_km2, node_geometry
from odanon.hierarchy.tree import Hierarchy
from odanon.hierarchy.zones import zones_table
from odanon.zoning.layers import polygonal
from odanon.zoning.tiles import Tiles

if TYPE_CHECKING:
    from geopandas import GeoDataFrame


def release_zones(releases: Iterable[Release], tree: Hierarchy, tiles: Tiles) -> "GeoDataFrame":
    """One row per area of the releases, both sides, in node order; `zones_table` names the columns.

    An area that is no node (the rest of the map seen from one area) is everything that the flows beside it leave
    of the root, with its members unlisted.
    """
    node_of = {label: node for node, label in enumerate(tree.label.tolist())}
    nodes: set[int] = set()
    rests: dict[str, tuple[Areas, int, set[int]]] = {}
    for release in releases:
        for side, other, areas in (
            ("origin", "destination", release.origins),
            ("destination", "origin", release.destinations),
        ):
            nodes.update(node_of[label] for label in areas.label.tolist() if label in node_of)
            for number, label in enumerate(areas.label.tolist()):
                if label not in node_of:
                    beside = _beside(release.flows, label, side, other)
                    rests[label] = (areas, number, {node_of[name] for name in beside if name in node_of})
    table = zones_table(tree, tiles, np.array(sorted(nodes), dtype=np.int64))
    return table if not rests else pd.concat([table, _rest_rows(rests, tree, tiles)], ignore_index=True)


def _beside(flows: pd.DataFrame, label: str, side: str, other: str) -> set[str]:
    """The areas on the same side of the other flows of a rest's partner."""
    partner = flows.loc[flows[side] == label, other].iloc[0]
    return set(flows.loc[flows[other] == partner, side]) - {label}


def _rest_rows(rests: dict[str, tuple[Areas, int, set[int]]], tree: Hierarchy, tiles: Tiles) -> "GeoDataFrame":
    from geopandas import GeoDataFrame

    (whole,) = node_geometry(tree, tiles, np.array([tree.root]))
    shapes = []
    for _, _, beside in rests.values():
        taken = node_geometry(tree, tiles, np.array(sorted(beside), dtype=np.int64)) if beside else []
        shapes.append(polygonal(shapely.difference(whole, shapely.union_all(taken))))
    return GeoDataFrame(
        {
            "zone_id": list(rests),
            "hierarchy": tree.kind,
            "level": np.array([areas.level[number] for areas, number, _ in rests.values()]),
            "n_tiles": np.array([areas.n_tiles[number] for areas, number, _ in rests.values()]),
            "area_km2": node_area_km2(shapes),
            "tiles": None,
        },
        geometry=shapes,
        crs="EPSG:4326",
    )
