"""Candidates of an origin's row: the publishable nodes of its compressed destination tree.

A sweep over a row sorted by destination visits its tiles and the LCAs of neighbouring tiles (nothing between them
can be better: same people, more tiles) and keeps the publishable ones in post-order with the number of kept nodes
directly below: all that an evaluation needs (ALGORITHMS, ATG-Joint).
"""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import FORCED, PERSON, PERSON_BITS
from odanon.anonymizers.trees.kernels.keeps import dominated, enough
from odanon.anonymizers.trees.kernels.lca import lca


@njit(cache=True, nogil=True)
def sweep(number, limit, row, begin, end, shift, side, test, scratch, out, at):
    """Append the candidates of the row begin:end; returns where the next one goes.

    `number` is different for every row. Inner nodes of `limit` or more tiles are left out (they are never worth it
    below the multiplier bound).
    """
    spine = scratch.spine
    people, weighted = shift > 0, len(row.weight) > 0
    stamp = np.int64(number + 1) << PERSON_BITS
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
                person = row.key[i] & PERSON
                seen = scratch.last_seen[person]
                if seen != stamp | here:
                    if seen & ~PERSON == stamp:
                        meet = lca(side.table, side.exponent, seen & PERSON, here)
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
            if enough(units, weight, test) and (
                test.visited == 1 or visits(row, first, i, shift, test.visited, scratch)
            ):
                lifted = np.int64(side.lift[node])
                size = side.size[lifted]
                forced = is_tile and lifted == node
                if above < 0 or lifted < above:
                    safe = size <= test.max_tiles and not (
                        test.dominance < 1.0 and dominated(row, range(first, i), test, scratch.tally)
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


@njit(cache=True, nogil=True)
def visits(row, first, end, shift, least, scratch):
    """Whether the entries first:end, sorted by destination, start in so many different tiles, and end in so many."""
    scratch.turn[0] += 1
    turn, origins, destinations, last = scratch.turn[0], 0, 0, np.int64(-1)
    for i in range(first, end):
        rank = np.int64(row.key[i]) >> shift
        if rank != last:
            last = rank
            destinations += 1
        if scratch.origin[row.origin[i]] != turn:
            scratch.origin[row.origin[i]] = turn
            origins += 1
        if origins >= least and destinations >= least:
            return True
    return False
