"""Candidates of an origin's row: the publishable nodes of its compressed destination tree.

A sweep over a row sorted by destination visits its tiles and the LCAs of neighbouring tiles (nothing between them
can be better: same people, more tiles) and keeps the publishable ones in post-order with the number of kept nodes
directly below: all that an evaluation needs (ALGORITHMS, ATG-Joint).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymizers.trees.kernels.lca import lca

FORCED = -1  # marks a kept tile: it cannot be split, so it is published even at a loss


class Side(NamedTuple):
    """What a sweep must know of the destination tree."""

    table: npt.NDArray[np.int32]
    exponent: npt.NDArray[np.uint8]
    tile: npt.NDArray[np.int32]  # node of each tile rank
    size: npt.NDArray[np.int64]
    lift: npt.NDArray[np.int32]  # lowest node at or above each one that has min_tiles


class Test(NamedTuple):
    """When a flow is publishable."""

    k: int
    weight: int  # least weight in fixed point; 0 = not tested
    max_tiles: int
    dominance: float  # largest share of one person; 1 = not tested
    cap: int  # trips of one person that count


class Entries(NamedTuple):
    """Sorted rows: key = tile rank (trips), or rank << 32 | person; weight is empty unless tested."""

    key: npt.NDArray[np.integer]
    volume: npt.NDArray[np.integer]
    weight: npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """What a sweep needs room for."""

    spine: npt.NDArray[np.int64]  # node, volume, count, weight, candidates below, first entry
    correction: npt.NDArray[np.int32]  # people counted twice, by destination node
    last_seen: npt.NDArray[np.int64]  # by person: origin row << 32 | tile rank
    tally: npt.NDArray[np.int64]  # by person, for dominance


class Candidates(NamedTuple):
    """Publishable pairs; those of origin node o are `first[o]:end[o]`, in post-order.

    Volume 0 marks a pair that may only be suppressed although pairs below it are publishable.
    """

    node: npt.NDArray[np.int32]
    volume: npt.NDArray[np.integer]
    below: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def dominated(row, first, end, test, tally):
    """Whether one person holds more than the allowed share of the (capped) volume of entries first:end."""
    for i in range(first, end):
        tally[row.key[i] & 0xFFFFFFFF] += row.volume[i]
    total, largest = 0, 0
    for i in range(first, end):
        person = row.key[i] & 0xFFFFFFFF
        trips = min(tally[person], test.cap)
        tally[person] = 0
        total += trips
        largest = max(largest, trips)
    return largest > test.dominance * total


@njit(cache=True, nogil=True)
def sweep(number, limit, row, begin, end, shift, side, test, scratch, out, at):
    """Append the candidates of the row begin:end; returns where the next one goes.

    `number` is different for every row. Inner nodes of `limit` or more tiles are left out (they are never worth it
    below the multiplier bound).
    """
    spine = scratch.spine
    people, weighted = shift > 0, len(row.weight) > 0
    stamp = np.int64(number + 1) << 32
    depth = 0
    i = begin
    rank = np.int64(row.key[begin]) >> shift
    while i < end:
        # the tile: gather its entries
        node = np.int64(side.tile[rank])
        first, volume, count, weight, below = i, np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        here = rank
        while True:
            volume += row.volume[i]
            if weighted:
                weight += row.weight[i]
            if people:
                person = row.key[i] & 0xFFFFFFFF
                seen = scratch.last_seen[person]
                if seen != stamp | here:
                    if seen & ~0xFFFFFFFF == stamp:
                        meet = lca(side.table, side.exponent, seen & 0xFFFFFFFF, here)
                        if side.size[meet] < limit:
                            scratch.correction[meet] -= 1
                    scratch.last_seen[person] = stamp | here
                    count += 1
            i += 1
            if i == end:
                break
            rank = np.int64(row.key[i]) >> shift
            if rank != here:
                break
        # the node above which the next tile joins, or a wall nothing can be merged through
        join = np.int64(-1)
        if i < end:
            join = np.int64(lca(side.table, side.exponent, here, rank))
        wall = join < 0 or side.size[join] >= limit
        # close the tile and every open node below the join
        is_tile = True
        while True:
            above = spine[0, depth - 1] if depth > 0 and (wall or spine[0, depth - 1] < join) else join
            units = count if people else volume
            if units >= test.k and weight >= test.weight:
                lifted = np.int64(side.lift[node])
                size = side.size[lifted]
                forced = is_tile and lifted == node
                if above < 0 or lifted < above:
                    safe = size <= test.max_tiles and not (
                        test.dominance < 1.0 and dominated(row, first, i, test, scratch.tally)
                    )
                    # too large or dominated nodes above others stay, without volume: all of it may be suppressed
                    if (safe or below > 0) and (size < limit or forced):
                        out.node[at] = lifted
                        out.volume[at] = volume if safe else 0
                        out.below[at] = FORCED if forced else below
                        at += 1
                        below = np.int64(1)
            if above == join:
                break
            depth -= 1
            node = spine[0, depth]
            volume += spine[1, depth]
            count += spine[2, depth] + scratch.correction[node]
            scratch.correction[node] = 0
            weight += spine[3, depth]
            below += spine[4, depth]
            first = spine[5, depth]
            is_tile = False
        if not wall:
            if depth > 0 and spine[0, depth - 1] == join:
                spine[1, depth - 1] += volume
                spine[2, depth - 1] += count
                spine[3, depth - 1] += weight
                spine[4, depth - 1] += below
            else:
                spine[0, depth] = join
                spine[1, depth] = volume
                spine[2, depth] = count
                spine[3, depth] = weight
                spine[4, depth] = below
                spine[5, depth] = first
                depth += 1
    return at
