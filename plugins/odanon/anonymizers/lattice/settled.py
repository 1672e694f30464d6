"""The decision that every tile pair ends at."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.arrays import PUBLISH, SPLIT_ORIGIN
from odanon.anonymizers.lattice.solver import Decisions, Lattice
from odanon.anonymizers.lattice.threads import on_threads

_PARTS = 8


@dataclass(frozen=True, eq=False)
class Settled:
    """The live decisions, children first, and the innermost one of every tile pair (-1: none)."""

    origin: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int64]  # itself at the top
    published: npt.NDArray[np.bool_]
    owner: npt.NDArray[np.integer]


def settle(lattice: Lattice, decisions: Decisions) -> Settled:
    """Walk every tile pair down the tree of decisions."""
    problem, pairs = lattice.problem, lattice.problem.od.pairs
    live = np.flatnonzero(decisions.parent >= 0)
    number = np.empty(len(lattice), dtype=np.int32)
    number[live] = np.arange(len(live))
    parent = number[decisions.parent[live]].astype(np.int64)
    origin, destination = lattice.products.origin[live], lattice.products.destination[live]
    by_origin = decisions.choice[live] == SPLIT_ORIGIN
    o_ranks = problem.origins.tile_start[origin], problem.origins.tile_end[origin]
    d_ranks = problem.destinations.tile_start[destination], problem.destinations.tile_end[destination]
    start = np.where(by_origin[parent], o_ranks[0], d_ranks[0])
    child = np.lexsort((start, parent))
    child = child[parent[child] != child].astype(np.int32)
    child_start = np.concatenate([[0], np.cumsum(np.bincount(parent[child], minlength=len(live)))])
    tree = child_start, child, by_origin
    owner = np.empty(len(pairs.trips), dtype=np.int32)

    def walk(ranks: tuple[int, int]) -> None:
        top = len(live) - 1
        kernels.settle(*ranks, problem.pair_start, pairs.destination, top, tree, o_ranks, d_ranks, owner)

    cuts = np.searchsorted(problem.pair_start, np.linspace(0, len(owner), _PARTS + 1)[1:-1]).tolist()
    cuts = [0, *cuts, problem.origins.n_leaves]
    on_threads(walk, list(pairwise(cuts)))
    return Settled(origin, destination, parent, decisions.choice[live] == PUBLISH, owner)
