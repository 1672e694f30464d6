"""What is left of the budget goes to decisions that a smaller multiplier would take."""

import numpy as np
from numba import njit

from odanon.anonymizers.lattice.arrays import PUBLISH
from odanon.anonymizers.lattice.kernels.trace import expand


@njit(cache=True, nogil=True)
def sums_below(products, cost, choice, parent, best):
    """(K, C) of what is published at or below every decision, in the last two columns of `best`."""
    best[:, 2:] = 0
    for i in range(len(choice)):
        if parent[i] < 0:
            continue
        if choice[i] == PUBLISH:
            best[i, 2] = products.volume[i]
            best[i, 3] = cost[i]
        if parent[i] != i:
            best[parent[i], 2] += best[i, 2]
            best[parent[i], 3] += best[i, 3]


@njit(cache=True, nogil=True)
def spend(products, choice, other, best, budget, rows, sizes, parent, row_of):
    """Where that costs less and loses no more trips than `budget`, replace a decision and all below it, from the top down.

    `other` are the choices at a smaller multiplier, `best` their sums and those of `choice`. Updates `choice` and
    `parent`; returns the budget left.
    """
    replaced = np.zeros(len(choice), np.bool_)
    tops = parent == np.arange(len(parent))
    parent[~tops] = -1
    for i in range(len(choice) - 1, -1, -1):
        made = parent[i]
        if made < 0:
            continue
        lost = best[i, 2] - best[i, 0]
        if made != i and replaced[made]:
            replaced[i] = True
        elif 0 <= lost <= budget and best[i, 1] < best[i, 3]:
            budget -= lost
            replaced[i] = True
        if replaced[i]:
            choice[i] = other[i]
        expand(i, row_of[i], products, choice, rows, sizes, parent, row_of)
    return budget
