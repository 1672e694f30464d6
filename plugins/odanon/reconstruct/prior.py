"""Public weights by tile, such as residents and jobs, and what they make of the zones of a tree.

They come with the zoning and were public before any trip was counted, so reading a release by them costs no privacy.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.h3steps import cells_of
from odanon.model.geometry import h3_names
from odanon.model.hierarchy import Hierarchy
from odanon.reading.batches import Column
from odanon.reading.table import column_names, read_small
from odanon.reconstruct.fitted import SMOOTHING
from odanon.reconstruct.nested import Floats

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
    if table[TILE].duplicated().any() or table[TILE].isna().any():
        raise OdanonError(f"{path}: a tile is named twice or not at all; give every tile one row")
    numbers = [pd.Series(table[side].to_numpy(), table[TILE].astype("str"), name=name) for side, name in sides.items()]
    if any(not (np.isfinite(one).all() and (one >= 0).all() and one.sum() > 0) for one in numbers):
        raise OdanonError(f"{path}: weights are numbers from 0 on, not all 0; repair the columns {', '.join(names)}")
    return TileWeights(numbers[0], numbers[-1])


def node_weights(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    """The share of every node of a tree in the weights of its tiles, with a little for each tile, so that none has nothing."""
    given = _of_cells(tree, by_tile) if tree.kind == "h3" and tree.coverage == "full" else _of_leaves(tree, by_tile)
    if not given[tree.root] > 0:
        raise OdanonError("the weights name no tile of the zoning; give them by the labels of its tiles")
    return given / given[tree.root] + SMOOTHING * tree.n_tiles / tree.n_tiles[tree.root]


def _of_leaves(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    leaves = by_tile.reindex(tree.label[tree.tiles]).fillna(0.0).to_numpy()
    sums = np.concatenate([[0.0], np.cumsum(leaves)])
    return sums[tree.tile_end] - sums[tree.tile_start]


def _of_cells(tree: Hierarchy, by_tile: pd.Series) -> Floats:
    """Of a tree of H3 cells that holds visited tiles only, with all tiles in its zones, visited or not."""
    import h3

    finest = h3.get_resolution(str(tree.label[tree.tiles[0]]))
    known = by_tile[[h3.is_valid_cell(name) and h3.get_resolution(name) == finest for name in by_tile.index]]
    by_resolution = {finest: known.to_dict()}
    found = np.zeros(len(tree))
    for node in range(len(tree)):
        for cell in (cell for name in h3_names(tree, node) for cell in cells_of(str(name))):
            resolution = h3.get_resolution(cell)
            if resolution not in by_resolution:
                above = [h3.cell_to_parent(name, resolution) for name in known.index]
                by_resolution[resolution] = known.groupby(above).sum().to_dict()
            found[node] += by_resolution[resolution].get(cell, 0.0)
    return found
