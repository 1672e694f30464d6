"""Candidates of every origin node: the publishable nodes of its compressed destination tree.

The row of an origin node is the sorted merge of its children's rows; rows wait on a stack, so at most one copy of
the matrix is in work whatever the shape of the tree. A sweep over a row visits its tiles and the LCAs of
neighbouring tiles (nothing between them can be better: same people, more tiles) and keeps the publishable ones
in post-order with the number of kept nodes directly below: all that an evaluation needs (ALGORITHMS, ATG-Joint).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymize.kernels.lca import lca

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


class Tree(NamedTuple):
    """What the build must know of the origin tree."""

    parent: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]  # how many
    size: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]  # rows to form (closed downwards)
    emit: npt.NDArray[np.bool_]  # rows to sweep
    start: npt.NDArray[np.int64]  # first entry of each tile's row


class Work(NamedTuple):
    """Buffers of a build that may stop when the candidate buffers are full and go on later."""

    row: Entries
    spare: Entries
    row_start: npt.NDArray[np.int64]
    swept: npt.NDArray[np.bool_]  # whether a waiting row is already represented by a lower node
    cursor: npt.NDArray[np.int64]  # next node, rows waiting, tiles read
    spine: npt.NDArray[np.int64]  # node, volume, count, weight, candidates below, first entry
    correction: npt.NDArray[np.int32]  # people counted twice, by destination node
    last_seen: npt.NDArray[np.int64]  # by person: origin node << 32 | tile rank
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
def merge_top(row, spare, start, middle, end):  # type: ignore[no-untyped-def]
    """Merge the neighbouring sorted rows start:middle and middle:end in place, adding equal keys; new end."""
    i, j, out = start, middle, 0
    weighted = len(row.weight) > 0
    while i < middle and j < end:
        a, b = row.key[i], row.key[j]
        from_a, from_b = a <= b, b <= a
        spare.key[out] = a if from_a else b
        spare.volume[out] = row.volume[i] * from_a + row.volume[j] * from_b
        if weighted:
            spare.weight[out] = row.weight[i] * from_a + row.weight[j] * from_b
        i += from_a
        j += from_b
        out += 1
    while i < middle:
        spare.key[out] = row.key[i]
        spare.volume[out] = row.volume[i]
        if weighted:
            spare.weight[out] = row.weight[i]
        i += 1
        out += 1
    # what is left of the second row stays behind the merged part
    row.key[start : start + out] = spare.key[:out]
    row.volume[start : start + out] = spare.volume[:out]
    if weighted:
        row.weight[start : start + out] = spare.weight[:out]
    out += start
    if out == j:
        return end
    while j < end:
        row.key[out] = row.key[j]
        row.volume[out] = row.volume[j]
        if weighted:
            row.weight[out] = row.weight[j]
        j += 1
        out += 1
    return out


@njit(cache=True, nogil=True)
def dominated(row, first, end, test, tally):  # type: ignore[no-untyped-def]
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
def sweep(origin, limit, begin, end, shift, side, test, work, out, at):  # type: ignore[no-untyped-def]
    """Append the candidates of the row begin:end of an origin node; returns where the next one goes.

    Inner nodes of `limit` or more tiles are left out (they are never worth it below the multiplier bound).
    """
    row, spine = work.row, work.spine
    people, weighted = shift > 0, len(row.weight) > 0
    stamp = np.int64(origin + 1) << 32
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
                seen = work.last_seen[person]
                if seen & ~0xFFFFFFFF == stamp:
                    meet = lca(side.table, side.exponent, seen & 0xFFFFFFFF, here)
                    if side.size[meet] < limit:
                        work.correction[meet] -= 1
                work.last_seen[person] = stamp | here
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
            if depth > 0 and (wall or spine[0, depth - 1] < join):
                above = spine[0, depth - 1]
            else:
                above = join
            units = count if people else volume
            if units >= test.k and weight >= test.weight:
                lifted = np.int64(side.lift[node])
                size = side.size[lifted]
                forced = is_tile and lifted == node
                if above < 0 or lifted < above:
                    safe = size <= test.max_tiles and not (
                        test.dominance < 1.0 and dominated(row, first, i, test, work.tally)
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
            count += spine[2, depth] + work.correction[node]
            work.correction[node] = 0
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


@njit(cache=True, nogil=True)
def build(entries, shift, tree, limit, side, test, work, out):  # type: ignore[no-untyped-def]
    """Sweep origin nodes from `work.cursor[0]` on until done or the candidate buffers are full.

    Returns the node to go on with. `limit` bounds |o| + |d| of inner candidates.
    """
    row = work.row
    weighted = len(row.weight) > 0
    node, waiting, tile = work.cursor[0], work.cursor[1], work.cursor[2]
    at = np.int64(0)
    while node < len(tree.parent):
        kids = tree.children[node]
        if not tree.active[node]:
            if kids == 0:
                tile += 1
            out.first[node] = at
            out.end[node] = at
            node += 1
            continue
        top = work.row_start[waiting]
        if kids == 0:
            begin, end = top, top + tree.start[tile + 1] - tree.start[tile]
        else:
            begin, end = work.row_start[waiting - kids], top
        if tree.emit[node] and at + 2 * (end - begin) > len(out.node):
            break
        swept = False
        if kids == 0:
            source = tree.start[tile]
            for i in range(end - begin):
                row.key[begin + i] = entries.key[source + i]
                row.volume[begin + i] = entries.volume[source + i]
                if weighted:
                    row.weight[begin + i] = entries.weight[source + i]
            tile += 1
        else:
            filled = 0
            for child in range(waiting - kids, waiting):
                if work.row_start[child + 1] > work.row_start[child]:
                    filled += 1
                    swept = work.swept[child]
            if filled > 1:
                swept = False
            for child in range(waiting - 1, waiting - kids, -1):
                end = merge_top(row, work.spare, work.row_start[child - 1], work.row_start[child], end)
            waiting -= kids
        out.first[node] = at
        if tree.emit[node] and not swept and end > begin:
            at = sweep(node, limit - tree.size[node], begin, end, shift, side, test, work, out, at)
            swept = True
        out.end[node] = at
        work.swept[waiting] = swept
        up = tree.parent[node]
        if up >= 0 and tree.active[up]:
            waiting += 1
            work.row_start[waiting] = end
        node += 1
    work.cursor[0], work.cursor[1], work.cursor[2] = node, waiting, tile
    return node
