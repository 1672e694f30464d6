"""Mondrian: tile pairs as points in four dimensions, halved along the widest one (000 appendix B; 002 section 2.5.1)."""

import numpy as np
from numba import njit

from odanon.anonymizers.places.kernels.pairs import pairs_keep


@njit(cache=True, nogil=True)
def partition(points, trips, evidence, room, relaxed):
    """(order, starts): pairs of cell c are `order[starts[c]:starts[c + 1]]`; all pairs together must keep the promise.

    A cell is cut at the weighted median of the widest dimension, between different coordinates; where that is not allowed
    it is final. The relaxed rule parts equal coordinates as well, and tries the next wider dimension.
    """
    n = points.shape[1]
    order = np.arange(n)
    starts = np.empty(n + 1, np.int64)
    n_cells = 0
    todo = [(0, n)]
    while len(todo) > 0:
        begin, end = todo.pop()
        at = _cut(points, trips, evidence, room, relaxed, order[begin:end])
        if at > 0:
            todo.append((begin + at, end))
            todo.append((begin, begin + at))
        else:
            starts[n_cells] = begin
            n_cells += 1
    starts[n_cells] = n
    return order, starts[: n_cells + 1].copy()


@njit(cache=True, nogil=True)
def _cut(points, trips, evidence, room, relaxed, cell):
    """Where to cut the cell, reordered to fit; 0 when no cut is allowed."""
    total, n_rows = np.int64(0), np.int64(0)
    for pair in cell:
        total += trips[pair]
        n_rows += evidence.start[pair + 1] - evidence.start[pair]
    if (n_rows if evidence.by_person else total) < 2 * evidence.test.k:
        return 0
    extent = np.empty(4, np.int64)
    for dimension in range(4):
        low = high = points[dimension, cell[0]]
        for pair in cell:
            value = points[dimension, pair]
            low, high = min(low, value), max(high, value)
        extent[dimension] = high - low
    for _ in range(4):
        widest = np.argmax(extent)
        if extent[widest] <= 0:
            return 0
        at = balance(points[widest], trips, total, cell)
        if not relaxed:
            at = together(points[widest], trips, total, cell, at)
        if pairs_keep(cell[:at], evidence, room) and pairs_keep(cell[at:], evidence, room):
            return at
        if not relaxed:
            return 0
        extent[widest] = -1
    return 0


@njit(cache=True, nogil=True)
def together(value, trips, total, cell, at):
    """Move the cut that `balance` found to where no value is on both sides: below or above that of the cut.

    The one whose sides differ less is taken, the lower of two equal ones, and never one with an empty side.
    """
    middle = value[cell[at]]
    for pair in cell[at:]:
        middle = min(middle, value[pair])
    parted = False
    for pair in cell[:at]:
        parted |= value[pair] == middle
    if not parted:
        return at
    below, through, n_below, n_through = np.int64(0), np.int64(0), 0, 0
    for pair in cell:
        if value[pair] < middle:
            below += trips[pair]
            n_below += 1
        if value[pair] <= middle:
            through += trips[pair]
            n_through += 1
    lower = n_through == len(cell) or (n_below > 0 and abs(2 * below - total) <= abs(2 * through - total))
    n_left = n_below if lower else n_through
    ordered, left, right = np.empty(len(cell), cell.dtype), 0, n_left
    for pair in cell:
        if value[pair] < middle or (value[pair] == middle and not lower):
            ordered[left] = pair
            left += 1
        else:
            ordered[right] = pair
            right += 1
    cell[:] = ordered
    return n_left


@njit(cache=True, nogil=True)
def balance(value, trips, total, cell):
    """Reorder the cell so that its first pairs are those below the cut whose two sides differ least in trips.

    Pairs are compared by (value, pair), so pairs of equal value may end on different sides (the relaxed partitioning
    of Mondrian), each pair whole. Of two equal cuts the lower one is taken. Quick-select with a median of three.
    """
    low, middle, high = 0, 0, len(cell)
    before = after = np.int64(0)  # trips below the middle pair, and with it
    while True:
        middle = _split(value, cell, low, high)
        below = before
        for i in range(low, middle):
            below += trips[cell[i]]
        after = below + trips[cell[middle]]
        if 2 * below >= total:
            high = middle
        elif 2 * after < total:
            low, before = middle + 1, after
        else:
            before = below
            break
    if middle == 0 or (middle + 1 < len(cell) and 2 * after - total < total - 2 * before):
        return middle + 1
    return middle


@njit(cache=True, nogil=True)
def _split(value, cell, low, high):
    """Reorder low:high around a pivot; returns the place of the pivot."""
    last = high - 1
    first, centre = low, (low + last) // 2
    if _less(value, cell[centre], cell[first]):
        first, centre = centre, first
    pivot_at = centre
    if _less(value, cell[last], cell[first]):
        pivot_at = first
    elif _less(value, cell[last], cell[centre]):
        pivot_at = last
    pivot = cell[pivot_at]
    cell[pivot_at], cell[last] = cell[last], pivot
    at = low
    for i in range(low, last):
        pair = cell[i]
        if _less(value, pair, pivot):
            cell[i], cell[at] = cell[at], pair
            at += 1
    cell[last], cell[at] = cell[at], pivot
    return at


@njit(cache=True, nogil=True)
def _less(value, a, b):
    return value[a] < value[b] or (value[a] == value[b] and a < b)
