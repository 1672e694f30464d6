"""Nested square blocks over tiles: the skeleton of the grid hierarchy and the quadtree."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.hierarchy.tree import VIRTUAL_ROOT
from odanon.zoning.grid import cell_label
from odanon.zoning.tiles import GridCells, ObjectArray, Tiles


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes in any order: `parent` holds positions, -1 at the root; `level` grows downwards."""

    label: ObjectArray
    parent: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]


def grid_cells(tiles: Tiles, cell_m: float, crs: str) -> GridCells:
    """The grid cell that each tile's centroid falls into, aligned with the origin of the CRS."""
    from odanon.zoning.crs import resolve, to_metres

    x, y = to_metres(tiles.lat, tiles.lon, resolve(crs, tiles.lat, tiles.lon))
    return GridCells(np.floor(y / cell_m).astype(np.int64), np.floor(x / cell_m).astype(np.int64), cell_m)


def nested_blocks(tiles: Tiles, cells: GridCells, factor: int) -> Nodes:
    """Tiles under blocks `factor` times larger at each step, up to one block or a virtual root.

    Tiles that are grid cells themselves are the finest blocks; other tiles hang below their finest block.
    Blocks align with the origin of the grid's CRS, so they are the same on every day.
    """
    row, col = cells.row, cells.col
    labels, parents, offset, side = [tiles.label], [], 0, cells.cell_m
    if tiles.cells is cells:
        row, col, side = row // factor, col // factor, side * factor
    width = len(tiles)
    while width > 1:
        block, position = np.unique(np.stack([row, col]), axis=1, return_inverse=True)
        offset += width
        parents.append(position.ravel() + offset)
        names = [cell_label(side, r, c) for r, c in block.T.tolist()]
        labels.append(np.array(names, dtype=object))
        coarser = block // factor
        if width == block.shape[1] and np.array_equal(coarser, block):
            break  # blocks that meet at the origin never join
        width = block.shape[1]
        (row, col), side = coarser, side * factor
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
