"""Whether a set of tile pairs keeps a promise, counted from the rows behind the pairs."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import PERSON
from odanon.anonymizers.trees.kernels.keeps import dominated, enough


@njit(cache=True, nogil=True)
def pairs_keep(pairs, evidence, room):
    """Whether the flow made of `pairs` keeps the promise; stops counting where nothing more can matter."""
    rows, test = evidence.rows, evidence.test
    room.turn[0] += 1
    turn = room.turn[0]
    shares = test.dominance < 1.0
    weighted = len(rows.weight) > 0
    quick = not weighted and not shares and evidence.visited == 1
    units, weight = np.int64(0), np.int64(0)
    for pair in pairs:
        for i in range(evidence.start[pair], evidence.start[pair + 1]):
            if weighted:
                weight += rows.weight[i]
            if not evidence.by_person:
                units += rows.volume[i]
                continue
            person = rows.key[i] & PERSON
            if room.seen[person] != turn:
                room.seen[person] = turn
                units += 1
        if quick and units >= test.k:
            return True
    if not enough(units, weight, test):
        return False
    if evidence.visited > 1 and not _enough_tiles(pairs, evidence, turn, room):
        return False
    return not shares or not dominated(rows, _rows_of(pairs, evidence.start), test, room.tally)


@njit(cache=True, nogil=True)
def _rows_of(pairs, start):
    """The rows behind the pairs."""
    n = 0
    for pair in pairs:
        n += start[pair + 1] - start[pair]
    mine = np.empty(n, np.int64)
    at = 0
    for pair in pairs:
        for row in range(start[pair], start[pair + 1]):
            mine[at] = row
            at += 1
    return mine


@njit(cache=True, nogil=True)
def _enough_tiles(pairs, evidence, turn, room):
    """Whether people start from and go to at least so many different tiles."""
    origins, destinations = 0, 0
    for pair in pairs:
        if room.origin[evidence.origin[pair]] != turn:
            room.origin[evidence.origin[pair]] = turn
            origins += 1
        if room.destination[evidence.destination[pair]] != turn:
            room.destination[evidence.destination[pair]] = turn
            destinations += 1
    return min(origins, destinations) >= evidence.visited
