"""Public weights by tile, such as residents and jobs, and what they make of the zones of a tree.

They come with the zoning and were public before any trip was counted, so reading a release by them costs no privacy. Those of the tiles in
published zones are published with a release: which these are follows from the zones and from the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.h3cells import cell_names, is_cell
from odanon.geo.h3shape import outline
from odanon.geo.h3steps import cells_of
from odanon.model.geometry import h3_names, members_geometry
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.reading.batches import Column
from odanon.reading.table import column_names, read_small
from odanon.reconstruct.nested import Floats, Ints
from odanon.reconstruct.readings import EVERYWHERE, TILE_COLUMNS

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

TILE = "tile"


@dataclass(frozen=True, eq=False)
class TileWeights:
    """Two columns of a file, by tile: what leaves is spread by the first, what enters by the second."""

    leaving: pd.Series
    entering: pd.Series

    @property
    def names(self) -> list[str]:
        return [str(self.leaving.name), str(self.entering.name)]

    def of_nodes(self, tree: Hierarchy) -> tuple[Floats, Floats]:
        """The weights of all nodes of a tree, for either side."""
        return node_weights(tree, self.leaving), node_weights(tree, self.entering)

    def listed(self, zones: pd.DataFrame, tree: Hierarchy) -> pd.DataFrame:
        """The tiles inside zones of a tree that have a weight, by name: TILE_COLUMNS without the geometry.

        Weights are shares of all that the file gives. `zones` has zone_id, inner zones first.
        """
        shares = pd.DataFrame(
            {side: given / given.sum() for side, given in (("leaving", self.leaving), ("entering", self.entering))}
        )
        shares = shares[(shares > 0).any(axis=1)].sort_index()
        nodes = pd.Index(tree.label).get_indexer(pd.Index(zones["zone_id"].astype("str")))
        inside = _cells_inside if _of_all_cells(tree) else _leaves_inside
        zone, tile = inside(tree, nodes, shares.index.to_numpy(object))
        order = np.lexsort((zone, tile))
        found, first = np.unique(tile[order], return_index=True)
        names = np.split(zones["zone_id"].to_numpy(object)[zone[order]], first[1:]) if len(found) else []
        held = shares.iloc[found]
        columns = {TILE: pd.array(held.index, dtype="str"), "zones": [list(each) for each in names]}
        return pd.DataFrame({**columns, "leaving": held["leaving"].to_numpy(), "entering": held["entering"].to_numpy()})

    def drawn(self, zones: pd.DataFrame, tree: Hierarchy, tiles: Tiles) -> "GeoDataFrame":
        """The same with their outlines."""
        from geopandas import GeoDataFrame

        table = self.listed(zones, tree)
        names = table[TILE].to_numpy(object)
        if _of_all_cells(tree):
            shapes = [outline([name]) for name in names]
        else:
            rank = pd.Index(tree.label[tree.tiles]).get_indexer(pd.Index(names))
            shapes = members_geometry(tree, tiles, [np.array([at]) for at in rank])
        return GeoDataFrame(table, geometry=shapes, crs="EPSG:4326")[list(TILE_COLUMNS)]


def no_tiles() -> "GeoDataFrame":
    """The table of a release that is not read by public weights."""
    from geopandas import GeoDataFrame

    kinds = {TILE: "str", "zones": "object"}
    plain = {name: pd.Series(dtype=kinds.get(name, "float64")) for name in TILE_COLUMNS[:-1]}
    return GeoDataFrame(plain, geometry=[], crs="EPSG:4326")


def read_weights(path: Path) -> TileWeights:
    """A Parquet or CSV table with the column `tile` and one or two columns of numbers; one serves both sides."""
    try:
        given = column_names(path)
    except (OSError, ValueError):
        raise OdanonError(f"{path} cannot be read as a table of weights; give a Parquet or CSV file") from None
    names = [name for name in given if name != TILE]
    if TILE not in given or len(names) not in (1, 2):
        raise OdanonError(f"{path}: weights need the column {TILE} and one or two columns of numbers beside it")
    sides = {f"side {number}": name for number, name in enumerate(names)}
    columns = [Column(TILE, TILE, "text"), *(Column(side, name, "number") for side, name in sides.items())]
    table = read_small(str(path), columns).to_pandas()
    tiles = table[TILE].astype("str")
    if (cells := cell_names(tiles)) is not None:
        tiles = pd.Series(cells, dtype="str")
    if tiles.duplicated().any() or tiles.isna().any():
        raise OdanonError(f"{path}: a tile is named twice or not at all; give every tile one row")
    numbers = [pd.Series(table[side].to_numpy(), tiles, name=name) for side, name in sides.items()]
    if any(not (np.isfinite(one).all() and (one >= 0).all() and one.sum() > 0) for one in numbers):
        raise OdanonError(f"{path}: weights are numbers from 0 on, not all 0; repair the columns {', '.join(names)}")
    return TileWeights(numbers[0], numbers[-1])


def node_weights(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    """The weights of the tiles of every node of a tree as shares of all, with a little for each tile, so that none has nothing."""
    given = (_of_cells if _of_all_cells(tree) else _of_leaves)(tree, by_tile / by_tile.sum())
    if not given[tree.root] > 0:
        raise OdanonError("the weights name no tile of the zoning; give them by the labels of its tiles")
    return given + EVERYWHERE * tree.n_tiles


def _of_all_cells(tree: Hierarchy) -> bool:
    """Whether the zones of a tree hold more tiles than the tree: those that nobody visited."""
    return tree.kind == "h3" and tree.coverage == "full"


def _of_leaves(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    leaves = by_tile.reindex(tree.label[tree.tiles]).fillna(0.0).to_numpy()
    sums = np.concatenate([[0.0], np.cumsum(leaves)])
    return sums[tree.tile_end] - sums[tree.tile_start]


def _leaves_inside(tree: Hierarchy, nodes: Ints, names: np.ndarray) -> tuple[Ints, Ints]:
    """(node, name) by number of every named tile inside a node."""
    rank = pd.Index(tree.label[tree.tiles]).get_indexer(pd.Index(names))
    order = np.argsort(rank, kind="stable")
    low, high = (np.searchsorted(rank[order], edge[nodes]) for edge in (tree.tile_start, tree.tile_end))
    at = np.arange((high - low).sum()) - np.repeat(np.cumsum(high - low) - high, high - low)
    return np.repeat(np.arange(len(nodes)), high - low), order[at]


def _of_cells(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    """Of a tree of H3 cells that holds visited tiles only, with all tiles in its zones, visited or not."""
    zone, tile = _cells_inside(tree, np.arange(len(tree)), by_tile.index.to_numpy(object))
    return np.bincount(zone, by_tile.to_numpy()[tile], len(tree)).astype(np.float64)


def _cells_inside(tree: Hierarchy, nodes: Ints, names: np.ndarray) -> tuple[Ints, Ints]:
    """(node, name) by number of every named cell of the finest resolution inside a node."""
    import h3

    finest = h3.get_resolution(str(tree.label[tree.tiles[0]]))
    known = np.flatnonzero([is_cell(name) and h3.get_resolution(name) == finest for name in names])
    made_of = [
        (h3.get_resolution(cell), cell, at)
        for at, node in enumerate(nodes.tolist())
        for name in h3_names(tree, node)
        for cell in cells_of(str(name))
    ]
    zones = pd.DataFrame(made_of, columns=["resolution", "cell", "zone"])
    found = []
    for resolution, here in zones.groupby("resolution"):
        above = pd.DataFrame({"cell": [h3.cell_to_parent(names[at], resolution) for at in known], "tile": known})
        found.append(here.merge(above, on="cell")[["zone", "tile"]])
    pairs = pd.concat([zones.iloc[:0].assign(tile=0)[["zone", "tile"]], *found]).astype("int64")
    return pairs["zone"].to_numpy(), pairs["tile"].to_numpy()
