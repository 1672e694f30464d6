"""From multipliers to releases: which candidates are published, which are split to spend the budget, what covers what."""

import numpy as np
from numba import njit

from odanon.anonymizers.atg.kernels.evaluate import keep_whole
from odanon.anonymizers.trees.arrays import FORCED


@njit(cache=True, nogil=True)
def subtree_start(rows, start, stack):
    """The first candidate of each candidate's subtree (post-order makes a subtree a run that ends at its root)."""
    for row in range(len(rows.first)):
        depth = 0
        for c in range(rows.first[row], rows.end[row]):
            start[c] = c
            for _ in range(rows.below[c]):  # no turn for a forced tile
                depth -= 1
                start[c] = stack[0, depth]
            stack[0, depth] = start[c]
            depth += 1


@njit(cache=True, nogil=True)
def prune_row(rows, row, o_size, size, lambda_, whole, inner, stack):
    """Whether the best pruning keeps each candidate whole, and the volume it publishes at or below it."""
    depth = 0
    for c in range(rows.first[row], rows.end[row]):
        volume = np.int64(rows.volume[c])
        cost = volume * (o_size[row] + size[rows.node[c]])
        K, A = np.int64(0), np.int64(0)
        for _ in range(rows.below[c]):
            depth -= 1
            K += stack[0, depth]
            A += stack[1, depth]
        whole[c] = rows.below[c] == FORCED or keep_whole(lambda_, volume - K, cost - A)
        if whole[c]:
            K, A = volume, cost
        inner[c] = K
        stack[0, depth] = K
        stack[1, depth] = A
        depth += 1


@njit(cache=True, nogil=True)
def publish(begin, end, start, whole, published):
    """Mark the topmost whole candidates of the run begin:end."""
    c = end - 1
    while c >= begin:
        if whole[c]:
            published[c] = True
            c = start[c] - 1
        else:
            c -= 1


@njit(cache=True, nogil=True)
def select(rows, o_size, size, lambda_, start, published, whole, inner, stack):
    """Mark the candidates that the best prunings of all rows publish at a multiplier."""
    for row in range(len(rows.first)):
        prune_row(rows, row, o_size, size, lambda_, whole, inner, stack)
        publish(rows.first[row], rows.end[row], start, whole, published)


@njit(cache=True, nogil=True)
def fill(rows, o_size, size, lambda_, budget, start, published, whole, inner, stack):
    """Split published flows the way a smaller multiplier would, in order, as long as `budget` trips last.

    Returns the budget that is left.
    """
    for row in range(len(rows.first)):
        prune_row(rows, row, o_size, size, lambda_, whole, inner, stack)
        for c in range(rows.first[row], rows.end[row]):
            lost = rows.volume[c] - inner[c]
            if published[c] and not whole[c] and lost <= budget:
                budget -= lost
                published[c] = False
                publish(start[c], c, start, whole, published)
    return budget


@njit(cache=True, nogil=True)
def assign(rows, areas, o_size, size, o_ranks, d_ranks, pair_start, destination, published, nodes):
    """Write the published nodes of every tile pair that a marked candidate covers; returns (K, A) of the release.

    `o_ranks` and `d_ranks` are the first and end tile ranks of the nodes; pairs of origin tile t are
    `pair_start[t]:pair_start[t + 1]`, sorted by destination rank.
    """
    o_start, o_end = o_ranks
    d_start, d_end = d_ranks
    chosen = np.empty(len(published), np.int32)
    K, A = np.int64(0), np.int64(0)
    for row in range(len(areas)):
        n = 0
        for c in range(rows.first[row], rows.end[row]):
            if published[c] and rows.volume[c] > 0:
                chosen[n] = rows.node[c]
                n += 1
                K += rows.volume[c]
                A += rows.volume[c] * (o_size[row] + size[rows.node[c]])
        if n == 0:
            continue
        for tile in range(o_start[areas[row]], o_end[areas[row]]):
            j = 0
            for pair in range(pair_start[tile], pair_start[tile + 1]):
                rank = destination[pair]
                low, high = j, n  # the first chosen node that ends after this tile
                while low < high:
                    middle = (low + high) >> 1
                    if d_end[chosen[middle]] <= rank:
                        low = middle + 1
                    else:
                        high = middle
                j = low
                if j == n:
                    break
                if d_start[chosen[j]] <= rank:
                    nodes[0, pair] = areas[row]
                    nodes[1, pair] = chosen[j]
    return K, A
