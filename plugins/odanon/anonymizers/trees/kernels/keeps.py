"""The test of a flow: whether the rows behind it reach k and the least weight, and whether one person dominates them."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import PERSON


@njit(cache=True, nogil=True)
def enough(units, weight, test):
    """Whether the numbers suffice."""
    return units >= test.k and weight >= test.weight


@njit(cache=True, nogil=True)
def dominated(rows, mine, test, tally):
    """Whether one person holds more than the allowed share of the (capped) trips of the rows `mine`; empties the tally."""
    for row in mine:
        tally[rows.key[row] & PERSON] += rows.volume[row]
    total, largest = np.int64(0), np.int64(0)
    for row in mine:
        person = rows.key[row] & PERSON
        trips = min(tally[person], test.cap)
        tally[person] = 0
        total += trips
        largest = max(largest, trips)
    return largest > test.dominance * total


@njit(cache=True, nogil=True)
def keeps(rows, mine, by_person, test, marks):
    """(whether a flow of the rows `mine` keeps the promise, its trips)."""
    marks.turn[0] += 1
    volume, weight, people = np.int64(0), np.int64(0), np.int64(0)
    for row in mine:
        volume += rows.volume[row]
        if len(rows.weight) > 0:
            weight += rows.weight[row]
        if by_person:
            person = rows.key[row] & PERSON
            if marks.seen[person] != marks.turn[0]:
                marks.seen[person] = marks.turn[0]
                people += 1
    safe = enough(people if by_person else volume, weight, test)
    if safe and test.dominance < 1.0:
        safe = not dominated(rows, mine, test, marks.tally)
    return safe, volume


@njit(cache=True, nogil=True)
def groups_kept(rows, group, n_groups, by_person, test, marks):
    """For every group whether it keeps the promise; `group` numbers the rows, -1 = in none."""
    start = np.zeros(n_groups + 1, np.int64)
    for number in group:
        if number >= 0:
            start[number + 1] += 1
    for number in range(n_groups):
        start[number + 1] += start[number]
    dealt, at = np.empty(start[-1], np.int64), start[:-1].copy()
    for row in range(len(group)):
        if group[row] >= 0:
            dealt[at[group[row]]] = row
            at[group[row]] += 1
    kept = np.empty(n_groups, np.bool_)
    for number in range(n_groups):
        kept[number] = keeps(rows, dealt[start[number] : start[number + 1]], by_person, test, marks)[0]
    return kept
