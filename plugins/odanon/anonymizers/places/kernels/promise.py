"""Whether a set of tile pairs keeps a promise, counted from the rows behind the pairs."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class Rows(NamedTuple):
    """Rows by tile pair: those of pair p are `start[p]:start[p + 1]`."""

    start: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]  # empty when k counts trips
    trips: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64]  # in fixed point; empty unless tested
    origin: npt.NDArray[np.int32]  # tile ranks by pair
    destination: npt.NDArray[np.int32]


class Limits(NamedTuple):
    """When a flow may be published."""

    k: int
    weight: int  # least weight in fixed point; 0 = not tested
    dominance: float  # largest share of one person; 1 = not tested
    cap: int  # trips of one person that count
    min_tiles: int  # different tiles in use on either side


class Scratch(NamedTuple):
    """Marks that tell what was already counted in the set at hand; `turn` numbers the sets."""

    turn: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    tally: npt.NDArray[np.int64]  # trips by person
    origin: npt.NDArray[np.int64]
    destination: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def keeps(pairs, rows, limits, scratch):
    """Whether the flow made of `pairs` keeps the promise."""
    scratch.turn[0] += 1
    turn = scratch.turn[0]
    people, weighted, shares = len(rows.person) > 0, len(rows.weight) > 0, limits.dominance < 1.0
    units, weight = np.int64(0), np.int64(0)
    for pair in pairs:
        for i in range(rows.start[pair], rows.start[pair + 1]):
            if weighted:
                weight += rows.weight[i]
            if not people:
                units += rows.trips[i]
                continue
            person = rows.person[i]
            if scratch.person[person] != turn:
                scratch.person[person] = turn
                scratch.tally[person] = 0
                units += 1
            if shares:
                scratch.tally[person] += rows.trips[i]
        if units >= limits.k and not weighted and not shares and limits.min_tiles == 1:
            return True
    if units < limits.k or weight < limits.weight:
        return False
    if limits.min_tiles > 1 and not _enough_tiles(pairs, rows, limits.min_tiles, turn, scratch):
        return False
    return not shares or not _dominated(pairs, rows, limits, scratch.tally)


@njit(cache=True, nogil=True)
def _enough_tiles(pairs, rows, least, turn, scratch):
    """Whether people start from and go to at least so many different tiles."""
    origins, destinations = 0, 0
    for pair in pairs:
        if scratch.origin[rows.origin[pair]] != turn:
            scratch.origin[rows.origin[pair]] = turn
            origins += 1
        if scratch.destination[rows.destination[pair]] != turn:
            scratch.destination[rows.destination[pair]] = turn
            destinations += 1
    return min(origins, destinations) >= least


@njit(cache=True, nogil=True)
def _dominated(pairs, rows, limits, tally):
    """Whether one person holds more than the allowed share of the capped trips; empties the tally."""
    total, largest = np.int64(0), np.int64(0)
    for pair in pairs:
        for i in range(rows.start[pair], rows.start[pair + 1]):
            trips = min(tally[rows.person[i]], limits.cap)
            tally[rows.person[i]] = 0
            total += trips
            largest = max(largest, trips)
    return largest > limits.dominance * total
