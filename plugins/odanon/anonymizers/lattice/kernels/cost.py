"""What publishing a product node costs, in whole numbers."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cost_in_tiles(first, end, products, o_size, d_size, cost):
    """Trips times tiles of both sides."""
    for i in range(first, end):
        cost[i] = np.int64(products.volume[i]) * (o_size[products.origin[i]] + d_size[products.destination[i]])


@njit(cache=True, nogil=True)
def cost_in_loss(first, end, products, o_side, d_side, pairs, price, unit, cost):
    """Trips that an even spread puts in the wrong cells, and `price` for every tile of a trip, in parts of 1 / `unit`.

    A side is (tiles, first and end rank of every node), `pairs` are (start by origin rank, destination, trips).
    """
    o_size, o_start, o_end = o_side
    d_size, d_start, d_end = d_side
    for i in range(first, end):
        o, d, volume = products.origin[i], products.destination[i], float(products.volume[i])
        cells = float(o_size[o]) * float(d_size[d])
        if volume <= cells:  # nowhere fewer trips than the mean but in empty cells
            above = volume - products.cells[i] * (volume / cells)
        else:
            above = above_mean(o_start[o], o_end[o], d_start[d], d_end[d], pairs, volume / cells)
        cost[i] = np.int64(np.round((2 * above + price * volume * (o_size[o] + d_size[d])) * unit))


@njit(cache=True, nogil=True)
def above_mean(o_first, o_end, d_first, d_end, pairs, mean):
    """Trips above the mean, cell by cell."""
    start, destination, trips = pairs
    above = 0.0
    for o in range(o_first, o_end):
        row = destination[start[o] : start[o + 1]]
        at = start[o] + np.searchsorted(row, d_first)
        while at < start[o + 1] and destination[at] < d_end:
            above += max(trips[at] - mean, 0.0)
            at += 1
    return above
