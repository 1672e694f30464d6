"""Candidates of fixed origin areas: entries sorted by destination are dealt out to the areas and swept."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.kernels.rows import sweep


@njit(cache=True, nogil=True)
def deal(rank, tile, person, volume, weight, owner, shift, rows, end):
    """Append entries, given in order of destination rank, to the rows of the areas that own their origin tiles.

    `end` holds where each area's row starts and is moved to where it ends. Entries of one tile pair (and person)
    that follow each other are added up, of one origin only where visited tiles are counted. `owner` is -1 for tiles without an area.
    """
    by_person, weighted, apart = shift > 0, len(weight) > 0, len(rows.origin) > 0
    start = end.copy()
    for i in range(len(rank)):
        area = owner[tile[i]]
        if area < 0:
            continue
        key = np.int64(rank[i]) << shift
        if by_person:
            key |= person[i]
        at = end[area]
        if at > start[area] and rows.key[at - 1] == key and not (apart and rows.origin[at - 1] != tile[i]):
            rows.volume[at - 1] += volume[i]
            if weighted:
                rows.weight[at - 1] += weight[i]
        else:
            rows.key[at] = key
            rows.volume[at] = volume[i]
            if weighted:
                rows.weight[at] = weight[i]
            if apart:
                rows.origin[at] = tile[i]
            end[area] += 1


@njit(cache=True, nogil=True)
def sweep_areas(rows, start, end, sizes, limit, shift, side, test, scratch, out):
    """Sweep the row of every area; returns the number of candidates. `limit` bounds |o| + |d| of inner ones."""
    at = np.int64(0)
    for area in range(len(start)):
        out.first[area] = at
        if end[area] > start[area]:
            begin = start[area]
            at = sweep(area, limit - sizes[area], rows, begin, end[area], shift, side, test, scratch, out, at)
        out.end[area] = at
    return at
