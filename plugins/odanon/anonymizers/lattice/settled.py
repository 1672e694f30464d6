"""The decision that every tile pair ends at."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.above import decisions_above
from odanon.anonymizers.lattice.arrays import PUBLISH, SPLIT_ORIGIN
from odanon.anonymizers.lattice.solver import Decisions, Lattice
from odanon.anonymizers.lattice.threads import on_threads

_PARTS = 8


@dataclass(frozen=True, eq=False)
class Settled:
    """The live decisions, children first, and the innermost one of every tile pair (-1: none)."""

    origin: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int32]
    time: npt.NDArray[np.int32]  # nodes of the tree over the bins, 0 without times
    parent: npt.NDArray[np.int64]  # itself at the top
    published: npt.NDArray[np.bool_]
    owner: npt.NDArray[np.integer]


def settle(lattice: Lattice, decisions: Decisions) -> Settled:
    """Walk every tile pair down the tree of decisions."""
    problem, cells = lattice.problem, lattice.slices.cells
    live, above = np.flatnonzero(decisions.parent >= 0), decisions_above(lattice)
    number = np.empty(len(lattice), dtype=np.int64)
    number[live] = np.arange(len(live))
    parent = np.concatenate([number[decisions.parent[live]], len(live) + above.parent])
    if len(above.of_blocks):
        parent[number[lattice.roots]] = len(live) + above.of_blocks
    origin = np.concatenate([lattice.products.origin[live], above.origin]).astype(np.int32)
    destination = np.concatenate([lattice.products.destination[live], above.destination]).astype(np.int32)
    time = np.concatenate(
        [lattice.slices.interval_of(live), np.full(len(above.origin), len(lattice.slices.time.size) - 1)]
    )
    side = np.concatenate([decisions.choice[live] - SPLIT_ORIGIN, np.where(above.by_origin, 0, 1)])
    published = np.concatenate([decisions.choice[live] == PUBLISH, np.zeros(len(above.origin), dtype=np.bool_)])
    nodes = (problem.origins, origin), (problem.destinations, destination)
    first = np.stack([*(tree.tile_start[each] for tree, each in nodes), lattice.slices.time.first[time]])
    end = np.stack([*(tree.tile_end[each] for tree, each in nodes), lattice.slices.time.end[time]])
    start = first[np.maximum(side[parent], 0), np.arange(len(parent))]
    child = np.lexsort((start, parent))
    child = child[parent[child] != child].astype(np.int32)
    child_start = np.concatenate([[0], np.cumsum(np.bincount(parent[child], minlength=len(parent)))])
    tree = child_start, child, side
    owner = np.empty(len(cells.trips), dtype=np.int32)

    def walk(ranks: tuple[int, int]) -> None:
        kernels.settle(*ranks, cells, len(parent) - 1, tree, (first, end), owner)

    cuts = np.searchsorted(problem.pair_start, np.linspace(0, len(owner), _PARTS + 1)[1:-1]).tolist()
    cuts = [0, *cuts, problem.origins.n_leaves]
    on_threads(walk, list(pairwise(cuts)))
    return Settled(origin, destination, time.astype(np.int32), parent, published, owner)
