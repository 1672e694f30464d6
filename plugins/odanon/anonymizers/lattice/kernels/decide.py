"""The best thing to do at every product node at a multiplier, in one pass with exact sums.

A solution is (K, C): its published volume and its cost; its value is multiplier * K - C. Splitting on the destination
side is worth the sum over the nodes directly below in the same row. Splitting on the origin side is worth, for every
origin below, the value of its topmost node within this product. Call gain what a node is worth beyond its destination
split: a node's value is then the sum of the gains in its row at and below it, so the origin split is the sum of
the gains that the rows below hand up, whichever nodes they have.

Splitting in time is worth, for every slice below, the value of its topmost node within this product, which is the gains of the
topmost row within it. A node hands its gain to the same product in the slice above, and the next row above takes back there what
the rows below it have handed: what is left, added up over all rows at and below an origin, is the topmost row's alone.
"""

import numpy as np
from numba import njit

from odanon.anonymizers.lattice.arrays import PUBLISH, SPLIT_DESTINATION, SPLIT_ORIGIN, SPLIT_TIME


@njit(cache=True, nogil=True)
def decide(first, end, products, cost, o_size, d_size, length, multiplier, best, choice):
    """Fill `best` (K, C of the solution, of the destination split, and where there are times of the time split and of those
    directly below in the row) and `choice` of the nodes first:end.

    `best` holds zeros, or what was handed up by rows before `first`; gains for rows from `end` on stay to be handed up.
    `length` is that of the interval; None where there are no times, which is compiled apart. Ties publish, then split the
    side with more tiles, then time.
    """
    for i in range(first, end):
        o_K, o_C, d_K, d_C = best[i, 0], best[i, 1], best[i, 2], best[i, 3]
        gain, extra = multiplier * (o_K - d_K), o_C - d_C
        by_origin = gain > extra
        if gain == extra:
            by_origin = o_size[products.origin[i]] >= d_size[products.destination[i]]
        K, C, what = (o_K, o_C, SPLIT_ORIGIN) if by_origin else (d_K, d_C, SPLIT_DESTINATION)
        if length is not None:
            t_K, t_C = best[i, 4], best[i, 5]
            gain, extra = multiplier * (t_K - K), t_C - C
            by_time = gain > extra
            if gain == extra:
                by_time = length > max(o_size[products.origin[i]], d_size[products.destination[i]])
            if by_time:
                K, C, what = t_K, t_C, SPLIT_TIME
        volume = np.int64(products.volume[i])
        if volume > 0 and multiplier * (volume - K) >= cost[i] - C:
            K, C, what = volume, cost[i], PUBLISH
        best[i, 0], best[i, 1] = K, C
        choice[i] = what
        up = products.above_destination[i]
        if up >= 0:
            best[up, 0] += o_K
            best[up, 1] += o_C
            best[up, 2] += K
            best[up, 3] += C
            if length is not None:
                best[up, 4] += best[i, 4]
                best[up, 5] += best[i, 5]
                best[up, 6] += best[i, 4]
                best[up, 7] += best[i, 5]
        up = products.above_origin[i]
        if 0 <= up < end:
            hand(i, up, length, best)


@njit(cache=True, nogil=True)
def hand(i, up, length, best):
    """Hand the gain of a node, and what it has been handed in time, to the row above."""
    best[up, 0] += best[i, 0] - best[i, 2]
    best[up, 1] += best[i, 1] - best[i, 3]
    if length is not None:
        best[up, 4] += best[i, 4] - best[i, 6]
        best[up, 5] += best[i, 5] - best[i, 7]


@njit(cache=True, nogil=True)
def hand_up(rows, products, length, best):
    """Hand the gains of the nodes of some rows (first, behind the last) to the rows above."""
    for row in range(rows.shape[1]):
        for i in range(rows[0, row], rows[1, row]):
            up = products.above_origin[i]
            if up >= 0:
                hand(i, up, length, best)


@njit(cache=True, nogil=True)
def hand_over(first, end, products, above_time, best):
    """Hand the gains of the nodes of a slice to the slice above."""
    for i in range(first, end):
        K, C = best[i, 0] - best[i, 2], best[i, 1] - best[i, 3]
        best[above_time[i], 4] += K
        best[above_time[i], 5] += C
        over = products.above_origin[i]
        if over >= 0:
            best[above_time[over], 4] -= K
            best[above_time[over], 5] -= C
