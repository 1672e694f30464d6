"""Nested square blocks over tiles: the skeleton of the grid hierarchy and the quadtree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.geo.crs import resolve, to_metres
from odanon.model.hierarchy import VIRTUAL_ROOT
from odanon.model.tiles import GridCells, ObjectArray, Tiles


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes in any order: `parent` holds positions, -1 at the root; `level` grows downwards."""

    label: ObjectArray
    parent: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]


def finest_blocks(tiles: Tiles, factor: int, cell_m: float, crs: str) -> GridCells:
    """The smallest block above each tile.

    Tiles that are grid cells join blocks `factor` cells long; other tiles join the square of side `cell_m`
    that holds their centroid. Blocks align with the origin of the CRS.
    """
    if tiles.cells is not None:
        cells = tiles.cells
        return GridCells(cells.row // factor, cells.col // factor, cells.cell_m * factor)
    x, y = to_metres(tiles.lat, tiles.lon, resolve(crs, tiles.lat, tiles.lon))
    return GridCells(np.floor(y / cell_m).astype(np.int64), np.floor(x / cell_m).astype(np.int64), cell_m)


def nested_blocks(
    tile: ObjectArray,
    finest: npt.NDArray[np.int64],
    factors: Iterator[tuple[int, int]],
    name: Callable[[int, int, int], str],
) -> Nodes:
    """Tiles under their `finest` blocks (row, column), and these under blocks larger by the next of the `factors`.

    A factor is one of heights and one of widths. The top is the smallest block above all tiles, or a virtual root where the
    blocks meet at the origin. `name` is given steps above the finest blocks, row and column.
    """
    labels, parents = [tile], []
    cells, height = finest, 0
    offset, joined = 0, len(tile) == 1
    while not joined:
        block, position = np.unique(cells, axis=1, return_inverse=True)
        offset += len(labels[-1])
        parents.append(position.ravel() + offset)
        labels.append(np.array([name(height, row, col) for row, col in block.T.tolist()], dtype=object))
        joined = block.shape[1] == 1 or bool(np.isin(block, (-1, 0)).all())  # which no factor brings together
        cells, height = block // np.array(next(factors))[:, None], height + 1
    return _close(labels, parents)


def _close(labels: list[ObjectArray], parents: list[npt.NDArray[np.int64]]) -> Nodes:
    """Name the root: the one block at the top, or a virtual node above several."""
    if len(labels[-1]) > 1:
        parents.append(np.full(len(labels[-1]), sum(map(len, labels))))
        labels.append(np.array([VIRTUAL_ROOT], dtype=object))
    depth = np.repeat(np.arange(len(labels))[::-1], [len(part) for part in labels])
    return Nodes(np.concatenate(labels), np.concatenate([*parents, [-1]]).astype(np.int64), depth)


def without_single_children(nodes: Nodes) -> Nodes:
    """Drop every inner node with one child: it covers the same tiles as that child."""
    is_child = nodes.parent >= 0
    keep = np.bincount(nodes.parent[is_child], minlength=len(nodes.parent)) != 1
    up = nodes.parent.copy()
    while True:
        skip = (up >= 0) & ~keep[up]
        if not skip.any():
            break
        up[skip] = nodes.parent[up[skip]]
    position = np.cumsum(keep) - 1
    parent = np.where(up >= 0, position[up], -1)
    return Nodes(nodes.label[keep], parent[keep], nodes.level[keep])
