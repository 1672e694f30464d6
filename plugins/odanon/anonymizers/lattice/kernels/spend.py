"""What is left of the budget goes to decisions that a smaller multiplier would take."""

import numpy as np
from numba import njit

from odanon.anonymizers.lattice.arrays import PUBLISH
from odanon.anonymizers.lattice.kernels.trace import made_by, region_of


@njit(cache=True, nogil=True)
def sums_below(products, cost, choice, parent, total):
    """(K, C) of what is published at or below every decision."""
    total[:] = 0
    for i in range(len(choice)):
        if parent[i] < 0:
            continue
        if choice[i] == PUBLISH:
            total[i, 0] = products.volume[i]
            total[i, 1] = cost[i]
        if parent[i] != i:
            total[parent[i], 0] += total[i, 0]
            total[parent[i], 1] += total[i, 1]


@njit(cache=True, nogil=True)
def spend(products, choice, total, other, best, budget, parent, region):
    """Where that costs less and loses no more trips than `budget`, replace a decision and all below it, from the top down.

    `other` and `best` are choices and sums at a smaller multiplier. Updates `choice` and `parent`; returns the budget left.
    """
    replaced = np.zeros(len(choice), np.bool_)
    for i in range(len(choice) - 1, -1, -1):
        made = made_by(i, products, choice, parent, region)
        parent[i] = made
        if made >= 0:
            lost = total[i, 0] - best[i, 0]
            if made != i and replaced[made]:
                replaced[i] = True
            elif 0 <= lost <= budget and best[i, 1] < total[i, 1]:
                budget -= lost
                replaced[i] = True
            if replaced[i]:
                choice[i] = other[i]
        region[i] = region_of(i, products, choice, parent, region)
    return budget
