"""Which areas may be named at all: limits on tiles, and on the people who leave or enter an area (k^m, m = 1).

Somebody who knows only where a person left from, or only where she went, must face `k_areas` people (002 section 2.5.2).
People below a node only grow towards the root, so the limit lifts small nodes to the first ancestor that has enough, as
`min_tiles` does, and every exact search stays exact.
"""

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.trees.lca import floor_log2, lca_table
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

Ints = npt.NDArray[np.int64]


def large_enough(tree: Hierarchy, tile: npt.NDArray[np.integer], od: ODMatrix, promise: Anonymizer) -> npt.NDArray:
    """Nodes with `min_tiles` tiles and `k_areas` units; `tile` is the rank of every row of `od` on this side."""
    enough = tree.n_tiles >= promise.min_tiles
    if promise.k_areas is None:
        return enough
    by_trip = promise.unit == "trips" or od.person is None
    units = trips_below(tree, tile, od.trips) if by_trip else people_below(tree, tile, od.person)
    return enough & (units >= promise.k_areas)


def lift(tree: Hierarchy, enough: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """The lowest node at or above each node that is large enough (len(tree) if none is)."""
    if enough.all():
        return np.arange(len(tree), dtype=np.int32)
    lifted = [0] * len(tree)
    good, parent = enough.tolist(), tree.parent.tolist()
    for node in range(len(tree) - 1, -1, -1):
        above = lifted[parent[node]] if parent[node] >= 0 else len(tree)
        lifted[node] = node if good[node] else above
    return np.array(lifted, dtype=np.int32)


def trips_below(tree: Hierarchy, tile: npt.NDArray[np.integer], trips: Ints) -> Ints:
    """Trips on the tiles below every node."""
    running = np.concatenate([[0], np.cumsum(np.bincount(tile, trips, tree.n_leaves).astype(np.int64))])
    return running[tree.tile_end] - running[tree.tile_start]


def people_below(tree: Hierarchy, tile: npt.NDArray[np.integer], person: npt.NDArray[np.integer] | None) -> Ints:
    """Distinct people on the tiles below every node: one at each of a person's tiles, one less where two of them meet."""
    assert person is not None  # other units are refused without ids
    visited = np.unique(person.astype(np.int64) * tree.n_leaves + tile)
    who, rank = np.divmod(visited, tree.n_leaves)
    change = np.bincount(tree.tiles[rank], minlength=len(tree))
    again = np.flatnonzero(np.diff(who) == 0)
    first, last = rank[again], rank[again + 1]
    table, run = lca_table(tree), floor_log2(tree.n_leaves)[last - first].astype(np.int64)
    meeting = np.maximum(table[run, first], table[run, last - (1 << run)])
    change -= np.bincount(meeting, minlength=len(tree))
    running = np.concatenate([[0], np.cumsum(change)])
    node = np.arange(len(tree)) + 1
    return running[node] - running[node - tree.size]
