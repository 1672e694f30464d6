"""The decisions above the blocks of a lattice: both sides are split in turn, into areas half as large at a time.

No multiplier that the lattice is good for publishes an area above the blocks, so all splits that lead to them are as good. Rests are
pooled along these. The steps follow the sizes of areas, not the levels of the trees, so deep trees have few.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.lattice.solver import Lattice
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.model.hierarchy import Hierarchy

Ints = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Above:
    """Decisions, children first."""

    origin: Ints
    destination: Ints
    by_origin: npt.NDArray[np.bool_]  # which side is split
    parent: Ints  # the last one is its own
    of_blocks: Ints  # the parent of every block


def decisions_above(lattice: Lattice) -> Above:
    """The products of areas that hold k trips, on the way from the top to the blocks; none above a whole lattice."""
    problem = lattice.problem
    trees, pairs, width = (problem.origins, problem.destinations), problem.od.pairs, len(problem.destinations)
    # of all cells at hand: a tile on both sides, and the trips
    tiles, trips = (pairs.origin, pairs.destination), pairs.trips
    nodes = lattice.products.origin[lattice.roots], lattice.products.destination[lattice.roots]
    cells, parents, sides, n = [], [], [], 0
    for owner, by_origin in _steps(lattice):
        key, number = np.unique(owner[0][tiles[0]].astype(np.int64) * width + owner[1][tiles[1]], return_inverse=True)
        trips = np.bincount(number, trips)
        tiles = trees[0].tile_start[key // width], trees[1].tile_start[key % width]
        key = key[trips >= problem.test.k]
        low, high = (side[tree.tile_start[node]] for side, tree, node in zip(owner, trees, nodes, strict=True))
        parents.append(n + np.searchsorted(key, low.astype(np.int64) * width + high))
        cells.append(key)
        sides.append(np.full(len(key), by_origin))
        nodes, n = (key // width, key % width), n + len(key)
    if not n:
        none = np.empty(0, dtype=np.int64)
        return Above(none, none, np.empty(0, dtype=np.bool_), none, none)
    found, parent = np.concatenate(cells), np.concatenate([*parents[1:], [n - 1]])
    return Above(found // width, found % width, np.concatenate(sides), parent, parents[0])


def _steps(lattice: Lattice) -> Iterator[tuple[tuple[Nodes, Nodes], bool]]:
    """The areas of all tiles of both sides, and which side was split last, from the blocks up to the top."""
    trees = lattice.problem.origins, lattice.problem.destinations
    limits = [lattice.limit]
    while limits[-1] <= max(int(tree.n_tiles[-1]) for tree in trees):
        limits.append(2 * limits[-1])
    for small, large in pairwise(limits):
        origins, wider = _largest_below(trees[0], small), _largest_below(trees[1], large)
        yield (origins, wider), False
        yield (_largest_below(trees[0], large), wider), True


def _largest_below(tree: Hierarchy, limit: int) -> Nodes:
    """For every tile the largest area around it of fewer than `limit` tiles."""
    return tree.owners(tree_kernels.topmost(tree.parent, tree.n_tiles < limit))
