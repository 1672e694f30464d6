"""Best prunings at a multiplier, in profit form with integer sums.

A solution is (K, A): its published volume and its cost sum v * (|o| + |d|), so its value at any multiplier is
lambda * K - A and comparisons of solutions lose nothing to rounding but the one product (000 appendix D;
the objective alpha + lambda * sigma is lambda * V minus this profit).
"""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.arrays import FORCED


@njit(cache=True, nogil=True)
def keep_whole(lambda_, gain, cost):
    """Whether `gain` more published trips are worth `cost`; ties keep the larger area."""
    return lambda_ * gain >= cost


@njit(cache=True, nogil=True)
def evaluate_row(rows, o_size, size, origin, lambda_, stack):
    """(K, A) of the best destination pruning of one origin's row."""
    depth = 0
    for c in range(rows.first[origin], rows.end[origin]):
        volume = np.int64(rows.volume[c])
        cost = volume * (o_size[origin] + size[rows.node[c]])
        below = rows.below[c]
        if below == FORCED:
            stack[0, depth] = volume
            stack[1, depth] = cost
            depth += 1
            continue
        K, A = np.int64(0), np.int64(0)
        for _ in range(below):
            depth -= 1
            K += stack[0, depth]
            A += stack[1, depth]
        if keep_whole(lambda_, volume - K, cost - A):
            K, A = volume, cost
        stack[0, depth] = K
        stack[1, depth] = A
        depth += 1
    K, A = np.int64(0), np.int64(0)
    for i in range(depth):
        K += stack[0, i]
        A += stack[1, i]
    return K, A


@njit(cache=True, nogil=True)
def evaluate_rows(rows, begin, end, o_size, size, lambda_, left, right, result, stack):
    """Fill result[:, o] = (K, A) for the origin nodes begin:end.

    A row with the same solution at a smaller and at a larger multiplier (`left`, `right`) has it in between too:
    its value is convex in the multiplier and touches one line at both ends.
    """
    for origin in range(begin, end):
        if left[0, origin] == right[0, origin] and left[1, origin] == right[1, origin]:
            result[0, origin] = left[0, origin]
            result[1, origin] = left[1, origin]
        elif rows.end[origin] > rows.first[origin]:
            K, A = evaluate_row(rows, o_size, size, origin, lambda_, stack)
            result[0, origin] = K
            result[1, origin] = A
        else:
            result[0, origin] = 0
            result[1, origin] = 0


@njit(cache=True, nogil=True)
def best_cut(parent, node_count, emitted, row, lambda_, total, whole):
    """Bottom-up over the origin tree: a node as one area, or the best of its children.

    `emitted` says which nodes have a row of their own; the others repeat a child's row or are too large to pay.
    `node_count` is 1 for tiles, which cannot be split. Returns (K, A) of the root; `whole` marks the nodes that are better not split.
    """
    total[:] = 0
    for node in range(len(parent)):
        gain, cost = row[0, node] - total[0, node], row[1, node] - total[1, node]
        is_tile = node_count[node] == 1
        whole[node] = emitted[node] and (is_tile or keep_whole(lambda_, gain, cost))
        if whole[node]:
            total[0, node] = row[0, node]
            total[1, node] = row[1, node]
        if parent[node] >= 0:
            total[0, parent[node]] += total[0, node]
            total[1, parent[node]] += total[1, node]
    return total[0, -1], total[1, -1]
