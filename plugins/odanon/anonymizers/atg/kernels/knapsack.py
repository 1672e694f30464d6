"""The joint problem by dynamic programming over suppressed trips: exact, for matrices small enough.

A table holds the least cost of a subtree for every number of trips that may be suppressed in it, so it never rises; behind
its end it stays at the last value. Tables wait on a stack: those of a node's children are added up (every split of the
suppressed trips is tried), moved by the trips that no child publishes, and compared with publishing the node whole.
What was chosen is kept for the way back.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymizers.trees.arrays import FORCED

NEVER = np.int64(2**60)  # cost of what cannot be done


class Tables(NamedTuple):
    """Pools of tables and choices, and where those of an item are (items: candidates, then origin nodes)."""

    cost: npt.NDArray[np.int64]
    stack: npt.NDArray[np.int64]  # offset and length in `cost`, item
    share: npt.NDArray[np.int32]  # trips given to an item, by trips given to it and its later siblings
    share_at: npt.NDArray[np.int64]
    share_length: npt.NDArray[np.int64]
    split_from: npt.NDArray[np.int64]  # candidates: trips from which splitting is cheaper
    effort: npt.NDArray[np.int64]  # steps left before giving up
    row_at: npt.NDArray[np.int64]  # origin nodes: offset in `share` of whether their own row is cheaper
    row_length: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def add_up(tables, depth, n, loss, budget, used):
    """Replace the top n tables of the stack by their sum with `loss` more trips suppressed.

    Returns the new height of the stack and of the choices, which is -1 when room or effort do not suffice.
    """
    cost, stack = tables.cost, tables.stack
    room = stack[0, depth - 1] + stack[1, depth - 1] if depth > 0 else 0
    first = stack[0, depth - n] if n > 0 else room
    total, length = room, np.int64(1)
    if n > 0:
        total, length = stack[0, depth - 1], stack[1, depth - 1]
    else:
        cost[room] = 0
    for j in range(depth - 2, depth - n - 1, -1):
        one, one_length, item = stack[0, j], stack[1, j], stack[2, j]
        summed = min(budget + 1, length + one_length - 1)
        out = max(room, total + length)
        tables.effort[0] -= length * one_length
        if used + summed > len(tables.share) or out + summed > len(cost) or tables.effort[0] < 0:
            return depth, np.int64(-1)
        for trips in range(summed):
            best, share = NEVER, 0
            fewest, most = max(np.int64(0), trips - length + 1), min(one_length - 1, trips)
            for mine in range(fewest, most + 1):
                value = cost[one + mine] + cost[total + trips - mine]
                if value < best:
                    best, share = value, mine
            cost[out + trips] = best
            tables.share[used + trips] = share
        tables.share_at[item] = used
        tables.share_length[item] = summed
        used += summed
        total, length = out, summed
    moved = min(budget + 1, length + loss)
    tables.effort[0] -= moved
    if first + moved > len(cost) or tables.effort[0] < 0:
        return depth, np.int64(-1)
    if loss > budget:
        cost[first], moved = NEVER, 1
    elif loss == 0:
        cost[first : first + length] = cost[total : total + length].copy()
    else:
        kept = cost[total : total + moved - loss].copy()
        cost[first : first + loss] = NEVER
        cost[first + loss : first + moved] = kept
    depth -= n
    stack[0, depth], stack[1, depth] = first, moved
    return depth + 1, used


@njit(cache=True, nogil=True)
def tabulate(rows, n_children, emitted, o_size, size, budget, tables):
    """Fill the tables bottom-up; the root's is at the bottom of the stack. Returns whether that could be done."""
    depth, used = 0, np.int64(0)
    for origin in range(len(n_children)):
        below_row = depth
        covered = np.int64(0)
        for c in range(rows.first[origin], rows.end[origin]):
            volume = np.int64(rows.volume[c])
            whole = volume * (o_size[origin] + size[rows.node[c]])
            n, loss = max(rows.below[c], 0), volume
            for child in range(depth - n, depth):
                loss -= rows.volume[tables.stack[2, child]]
            depth, used = add_up(tables, depth, n, loss, budget, used)
            if used < 0:
                return False
            start, length = tables.stack[0, depth - 1], tables.stack[1, depth - 1]
            split = length
            if rows.below[c] != FORCED:
                split = 0
                while split < length and tables.cost[start + split] >= whole:
                    split += 1
            tables.split_from[c] = split
            tables.cost[start : start + split] = whole
            if split == length:
                tables.split_from[c] = NEVER
                tables.stack[1, depth - 1] = 1
            tables.stack[2, depth - 1] = c
        for item in range(below_row, depth):
            covered += rows.volume[tables.stack[2, item]]
        has_row = rows.end[origin] > rows.first[origin]
        if has_row or n_children[origin] == 0:
            depth, used = add_up(tables, depth, depth - below_row, emitted[origin] - covered, budget, used)
            if used < 0:
                return False
        tables.row_length[origin] = 0
        if n_children[origin] > 0:
            depth, used = _with_children(tables, depth, n_children[origin], has_row, origin, budget, used)
            if used < 0:
                return False
        tables.stack[2, depth - 1] = len(rows.node) + origin
    return True


@njit(cache=True, nogil=True)
def _with_children(tables, depth, n, has_row, origin, budget, used):
    """Replace the tables of n children, and of the node's own row above them, by the better of both."""
    cost, stack = tables.cost, tables.stack
    if not has_row:
        return add_up(tables, depth, n, np.int64(0), budget, used)
    row_length = stack[1, depth - 1]
    own = cost[stack[0, depth - 1] : stack[0, depth - 1] + row_length].copy()
    depth, used = add_up(tables, depth - 1, n, np.int64(0), budget, used)
    if used < 0:
        return depth, used
    start, length = stack[0, depth - 1], stack[1, depth - 1]
    longest = max(length, row_length)
    if used + longest > len(tables.share) or start + longest > len(cost):
        return depth, np.int64(-1)
    tables.row_at[origin], tables.row_length[origin] = used, longest
    split = NEVER
    for trips in range(longest):
        if trips < length:
            split = cost[start + trips]
        mine = own[min(trips, row_length - 1)]
        tables.share[used + trips] = mine <= split
        cost[start + trips] = min(mine, split)
    stack[1, depth - 1] = longest
    return depth, used + longest


@njit(cache=True, nogil=True)
def trace(rows, child_start, children, emitted, trips, tables, start, published):
    """Mark the candidates published when `trips` may be suppressed in all; returns the origin nodes that publish.

    `start` is the first candidate of each candidate's subtree.
    """
    n_candidates = len(rows.node)
    budget = np.zeros(n_candidates + len(emitted), np.int64)
    items = np.empty(n_candidates + len(emitted), np.int64)
    chosen = np.zeros(len(emitted), np.bool_)
    open_node = np.zeros(len(emitted), np.bool_)
    budget[-1], open_node[-1] = trips, True
    for node in range(len(emitted) - 1, -1, -1):
        if not open_node[node]:
            continue
        mine = budget[n_candidates + node]
        own = rows.end[node] > rows.first[node]
        if own and tables.row_length[node] > 0:
            own = tables.share[tables.row_at[node] + min(mine, tables.row_length[node] - 1)] > 0
        if own:
            chosen[node] = True
            n = _siblings(rows.end[node] - 1, rows.first[node], start, items)
            loss = emitted[node] - np.sum(rows.volume[items[:n]])
            _share_out(mine - loss, items[:n], tables, budget)
            for i in range(n):
                published[items[i]] = True
            for c in range(rows.end[node] - 1, rows.first[node] - 1, -1):
                if published[c] and budget[c] >= tables.split_from[c]:
                    published[c] = False
                    n = _siblings(c - 1, start[c], start, items)
                    loss = rows.volume[c] - np.sum(rows.volume[items[:n]])
                    _share_out(budget[c] - loss, items[:n], tables, budget)
                    for i in range(n):
                        published[items[i]] = True
        else:
            below = children[child_start[node] : child_start[node + 1]]
            _share_out(mine, n_candidates + below, tables, budget)
            for child in below:
                open_node[child] = True
    return np.flatnonzero(chosen)


@njit(cache=True, nogil=True)
def _siblings(last, first, start, items):
    """The roots of the subtrees that make up candidates first..last, in order; returns how many."""
    n = 0
    while last >= first:
        items[n] = last
        last = start[last] - 1
        n += 1
    items[:n] = items[:n][::-1].copy()
    return n


@njit(cache=True, nogil=True)
def _share_out(trips, items, tables, budget):
    """Divide trips among siblings as chosen."""
    for i in range(len(items) - 1):
        at = min(trips, tables.share_length[items[i]] - 1)
        budget[items[i]] = tables.share[tables.share_at[items[i]] + at]
        trips = at - budget[items[i]]
    if len(items) > 0:
        budget[items[-1]] = trips
