"""Tree knapsack: every sensible trade of suppressed trips against cost, exactly (001 section 2.2).

A frontier lists, by growing number of suppressed trips, the least cost G that can be had for it, as far as the price of
these trips pays. Frontiers of siblings are joined by trying all their sums; a node is then published whole or split. The way
back needs no notes: sums are whole numbers, so the two parts of a point are found again by looking.
"""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import FORCED

NEVER = np.int64(2**62)


@njit(cache=True, nogil=True)
def join(left, right, budget, price, best):
    """The frontier of two independent parts, (2, n): suppressed trips and cost. `best` is room for budget + 1 costs."""
    if left.shape[1] == 0 or right.shape[1] == 0:
        return np.empty((2, 0), np.int64)
    length = min(budget, left[0, -1] + right[0, -1]) + 1
    best[:length] = NEVER
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            trips = left[0, i] + right[0, j]
            if trips >= length:
                break
            best[trips] = min(best[trips], left[1, i] + right[1, j])
    return pruned(best[:length], price)


@njit(cache=True, nogil=True)
def pruned(cost, price):
    """The frontier of costs by suppressed trips: a trip more must lower the cost by more than its price."""
    found = np.empty((2, len(cost)), np.int64)
    n, least = 0, np.inf
    for trips in range(len(cost)):
        if cost[trips] < NEVER and cost[trips] + price * trips < least:
            least = cost[trips] + price * trips
            found[0, n] = trips
            found[1, n] = cost[trips]
            n += 1
    return found[:, :n].copy()


@njit(cache=True, nogil=True)
def row_frontier(rows, row, o_size, size, outflow, budget, price, goal, published, best):
    """The frontier of one origin area; with a point of it as `goal`, its published candidates are marked as well."""
    first, n = rows.first[row], rows.end[row] - rows.first[row]
    pool, table = np.empty((2, 64), np.int64), np.zeros(2 * n + 3, np.int64)
    own, joined = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)  # tables of candidates and of their children
    volume, stack = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    depth, n_tables = 0, 0
    for c in range(n + 1):
        is_row = c == n
        below = depth if is_row else max(rows.below[first + c], 0)
        whole = outflow if is_row else np.int64(rows.volume[first + c])
        total = np.int64(0)
        frontier = np.zeros((2, 1), np.int64)
        joined[c] = n_tables
        for i in range(depth - below, depth):
            child = stack[i]
            total += volume[child]
            part = pool[:, table[own[child]] : table[own[child] + 1]]
            if i == depth - below:
                frontier = part.copy()
                continue
            frontier = join(frontier, part, budget, price, best)
            pool = _append(pool, table, n_tables, frontier)
            n_tables += 1
        if not is_row:
            cost = whole * (o_size[row] + size[rows.node[first + c]])
            forced = rows.below[first + c] == FORCED
            frontier = _whole_or_split(frontier, whole, total, cost, forced, budget, price, best)
        else:
            frontier = _moved(frontier, whole - total, budget)
        volume[c] = whole if whole > 0 else total
        pool = _append(pool, table, n_tables, frontier)
        own[c] = n_tables
        n_tables += 1
        depth -= below
        stack[depth] = c
        depth += 1
    if goal[0] >= 0:
        _trace(rows, row, o_size, size, outflow, goal, pool, table, own, joined, volume, published)
    return pool[:, table[own[n]] : table[own[n] + 1]].copy()


@njit(cache=True, nogil=True)
def _append(pool, table, number, frontier):
    """Write a frontier behind the others, in a larger pool if need be."""
    begin, end = table[number], table[number] + frontier.shape[1]
    if end > pool.shape[1]:
        larger = np.empty((2, 2 * end), np.int64)
        larger[:, :begin] = pool[:, :begin]
        pool = larger
    pool[:, begin:end] = frontier
    table[number + 1] = end
    return pool


@njit(cache=True, nogil=True)
def _moved(frontier, trips, budget):
    """The frontier with more suppressed trips, as far as the budget goes."""
    n = 0
    while n < frontier.shape[1] and frontier[0, n] + trips <= budget:
        n += 1
    moved = frontier[:, :n].copy()
    moved[0] += trips
    return moved


@njit(cache=True, nogil=True)
def _whole_or_split(parts, whole, total, cost, forced, budget, price, best):
    """The frontier of a candidate: published whole, or split into its parts.

    Volume 0 marks a node that must not be published: it is split, or all of it is suppressed. A tile cannot be split.
    """
    if forced:
        single = np.zeros((2, 1), np.int64)
        single[1, 0] = cost
        return single
    split = _moved(parts, whole - total if whole > 0 else 0, budget)
    last = split[0, -1] if split.shape[1] > 0 else 0
    length = max(last, total if whole == 0 and total <= budget else 0) + 1
    best[:length] = NEVER
    for i in range(split.shape[1]):
        best[split[0, i]] = split[1, i]
    if whole > 0:
        best[0] = min(best[0], cost)
    elif total <= budget:
        best[total] = 0
    return pruned(best[:length], price)


@njit(cache=True, nogil=True)
def _trace(rows, row, o_size, size, outflow, goal, pool, table, own, joined, volume, published):
    """Mark the candidates behind a point of the row's frontier."""
    first, n = rows.first[row], rows.end[row] - rows.first[row]
    start = np.empty(n + 1, np.int64)  # first candidate of each subtree
    stack = np.empty(n + 1, np.int64)
    depth = 0
    for c in range(n):
        start[c] = c
        for _ in range(rows.below[first + c]):  # no turn for a forced tile
            depth -= 1
            start[c] = stack[depth]
        stack[depth] = start[c]
        depth += 1
    start[n] = 0
    goals = np.full((2, n + 1), -1, np.int64)
    goals[0, n], goals[1, n] = goal
    for c in range(n, -1, -1):
        trips, cost = goals[0, c], goals[1, c]
        if trips < 0 or cost == 0:
            continue
        if c < n:
            whole = np.int64(rows.volume[first + c])
            if whole > 0 and trips == 0 and cost == whole * (o_size[row] + size[rows.node[first + c]]):
                published[first + c] = True
                continue
        else:
            whole = outflow
        n_children, child = 0, c - 1
        total = np.int64(0)
        while child >= start[c]:
            total += volume[child]
            n_children += 1
            child = start[child] - 1
        trips -= whole - total if whole > 0 else 0
        child = c - 1
        for left in range(n_children - 2, -1, -1):  # joins made before this child came in
            other = joined[c] + left - 1 if left > 0 else own[_first_child(start, c, n_children)]
            mine = pool[:, table[own[child]] : table[own[child] + 1]]
            i = part_of(pool[:, table[other] : table[other + 1]], mine, trips, cost)
            goals[0, child], goals[1, child] = mine[0, i], mine[1, i]
            trips -= mine[0, i]
            cost -= mine[1, i]
            child = start[child] - 1
        goals[0, child], goals[1, child] = trips, cost


@njit(cache=True, nogil=True)
def _first_child(start, c, n_children):
    child = c - 1
    for _ in range(n_children - 1):
        child = start[child] - 1
    return child


@njit(cache=True, nogil=True)
def part_of(left, right, trips, cost):
    """Which point of `right` makes, with one of `left`, the point (trips, cost) of their join."""
    for i in range(right.shape[1]):
        at = np.searchsorted(left[0], trips - right[0, i])
        if at < left.shape[1] and left[0, at] == trips - right[0, i] and left[1, at] == cost - right[1, i]:
            return i
    return -1
