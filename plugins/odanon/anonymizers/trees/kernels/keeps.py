"""The test of a flow: whether the rows behind it reach k and the least weight, and whether one person dominates them."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import NO_LIMIT, PERSON


@njit(cache=True, nogil=True)
def enough(units, weight, test):
    """Whether the numbers suffice."""
    return units >= test.k and weight >= test.weight


@njit(cache=True, nogil=True)
def dominated(rows, mine, test, tally):
    """Whether one person has more than the allowed share of the (capped) trips of the rows `mine`, or of their weight."""
    if _one_has_most(rows.key, rows.volume, mine, test.cap, test.dominance, tally):
        return True
    return len(rows.weight) > 0 and _one_has_most(rows.key, rows.weight, mine, NO_LIMIT, test.dominance, tally)


@njit(cache=True, nogil=True)
def _one_has_most(key, amount, mine, cap, dominance, tally):
    """Whether one person's amount, up to the cap, is more than that share of all of them; empties the tally."""
    for row in mine:
        tally[key[row] & PERSON] += amount[row]
    total, largest = np.int64(0), np.int64(0)
    for row in mine:
        person = key[row] & PERSON
        counted = min(tally[person], cap)
        tally[person] = 0
        total += counted
        largest = max(largest, counted)
    return largest > dominance * total


@njit(cache=True, nogil=True)
def visited(rows, mine, shift, test, marks):
    """Whether the rows `mine` start in enough different tiles, and end in enough; `marks.turn` must be fresh."""
    turn, origins, destinations = marks.turn[0], 0, 0
    for row in mine:
        start, end = rows.origin[row], np.int64(rows.key[row]) >> shift
        if marks.origin[start] != turn:
            marks.origin[start] = turn
            origins += 1
        if marks.destination[end] != turn:
            marks.destination[end] = turn
            destinations += 1
        if origins >= test.visited and destinations >= test.visited:
            return True
    return False


@njit(cache=True, nogil=True)
def keeps(rows, mine, shift, test, marks):
    """(whether a flow of the rows `mine` keeps the promise, its trips)."""
    by_person = shift > 0
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
    if safe and test.visited > 1:
        safe = visited(rows, mine, shift, test, marks)
    if safe and test.dominance < 1.0:
        safe = not dominated(rows, mine, test, marks.tally)
    return safe, volume


@njit(cache=True, nogil=True)
def groups_kept(rows, group, n_groups, shift, test, marks):
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
        kept[number] = keeps(rows, dealt[start[number] : start[number + 1]], shift, test, marks)[0]
    return kept
