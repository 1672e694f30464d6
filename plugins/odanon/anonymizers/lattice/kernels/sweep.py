"""Product nodes of one origin: the nodes of its compressed destination tree that have enough units.

Only the tiles of a row and the lowest common ancestors of neighbouring tiles are looked at: a node between two of
them has the same trips on more tiles, which is never better.
"""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import PERSON, PERSON_BITS
from odanon.anonymizers.trees.kernels.keeps import dominated, enough
from odanon.anonymizers.trees.kernels.lca import lca
from odanon.anonymizers.trees.kernels.rows import visits

NODE, VOLUME, UNITS, WEIGHT, CELLS, FIRST, BELOW = range(7)  # of a line of the spine


@njit(cache=True, nogil=True)
def read_tile(row, i, end, shift, side, stamp, scratch, sums):
    """Add up the entries of one tile into `sums`; returns the first entry of the next one.

    Somebody seen before in this row is counted here and once less where her tiles meet.
    """
    people, rank = shift > 0, np.int64(row.key[i]) >> shift
    sums[:] = 0
    sums[NODE], sums[FIRST] = side.tile[rank], i
    while i < end and np.int64(row.key[i]) >> shift == rank:
        sums[VOLUME] += row.volume[i]
        if len(row.weight) > 0:
            sums[WEIGHT] += row.weight[i]
        if len(row.cells) > 0:
            sums[CELLS] += row.cells[i]
        if people:
            person = row.key[i] & PERSON
            seen = scratch.last_seen[person]
            if seen != stamp | rank:
                if seen & ~PERSON == stamp:
                    scratch.correction[lca(side.table, side.exponent, seen & PERSON, rank)] -= 1
                scratch.last_seen[person] = stamp | rank
                sums[UNITS] += 1
        i += 1
    if not people:
        sums[UNITS] = sums[VOLUME]
    return i


@njit(cache=True, nogil=True)
def sweep(origin, fits, limit, row, begin, end, shift, side, test, scratch, waiting, out, at):
    """Append the product nodes of the row begin:end; returns where the next one goes.

    `fits` says whether the origin may be published. A destination below the limits on areas stands for the lowest
    one above it within them, unless other trips come in before; those of `limit` tiles and more are left out.
    """
    spine, depth, n_waiting = scratch.spine, 0, 0
    stamp = np.int64(origin + 1) << PERSON_BITS
    sums = np.empty(7, np.int64)
    i = begin
    while i < end:
        rank = np.int64(row.key[i]) >> shift
        i = read_tile(row, i, end, shift, side, stamp, scratch, sums)
        join = np.int64(-1)  # where the next tile comes in
        if i < end:
            join = np.int64(lca(side.table, side.exponent, rank, np.int64(row.key[i]) >> shift))
        while True:  # close the tile and every open node below the join
            above = join
            if depth > 0 and (join < 0 or spine[NODE, depth - 1] < join):
                above = spine[NODE, depth - 1]
            lifted = np.int64(side.lift[sums[NODE]])
            stands = (above < 0 or lifted < above) and side.size[lifted] < limit
            if (
                stands
                and enough(sums[UNITS], sums[WEIGHT], test)
                and (test.visited == 1 or visits(row, sums[FIRST], i, shift, test.visited, scratch))
            ):
                safe = fits and side.size[lifted] <= test.max_tiles
                if safe and test.dominance < 1.0:
                    safe = not dominated(row, range(sums[FIRST], i), test, scratch.tally)
                out.origin[at] = origin
                out.destination[at] = lifted
                out.volume[at] = sums[VOLUME] if safe else 0
                if len(row.cells) > 0:
                    out.cells[at] = sums[CELLS]
                out.above_origin[at] = -1
                out.above_destination[at] = -1
                for _ in range(sums[BELOW]):
                    n_waiting -= 1
                    out.above_destination[waiting[n_waiting]] = at
                waiting[n_waiting] = at
                n_waiting += 1
                sums[BELOW] = 1
                at += 1
            if above == join:
                break
            depth -= 1
            sums[NODE], sums[FIRST] = spine[NODE, depth], spine[FIRST, depth]
            for column in (VOLUME, UNITS, WEIGHT, CELLS, BELOW):
                sums[column] += spine[column, depth]
            sums[UNITS] += scratch.correction[sums[NODE]]
            scratch.correction[sums[NODE]] = 0
        if join >= 0:
            if depth == 0 or spine[NODE, depth - 1] != join:
                spine[:, depth] = 0
                spine[NODE, depth], spine[FIRST, depth] = join, sums[FIRST]
                depth += 1
            for column in (VOLUME, UNITS, WEIGHT, CELLS, BELOW):
                spine[column, depth - 1] += sums[column]
    return at
