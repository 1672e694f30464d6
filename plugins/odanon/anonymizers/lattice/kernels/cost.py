"""What publishing a product node costs, in whole numbers."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cost_in_tiles(first, end, products, o_size, d_size, length, cost):
    """Trips times tiles of both sides, and the length of the interval where there are times (else 0)."""
    for i in range(first, end):
        size = o_size[products.origin[i]] + d_size[products.destination[i]] + length
        cost[i] = np.int64(products.volume[i]) * size


@njit(cache=True, nogil=True)
def cost_in_loss(first, end, products, origins, destinations, interval, cells, price, unit, cost):
    """Trips that an even spread puts in the wrong cells, and `price` for every tile of a trip, in parts of 1 / `unit`.

    `interval` is (length, first and end bin) of the slice that the product nodes are in.
    """
    length, t_first, t_end = interval
    longest = cells.length[t_first:t_end].max()
    for i in range(first, end):
        o, d, volume = products.origin[i], products.destination[i], float(products.volume[i])
        room = float(origins.size[o]) * float(destinations.size[d]) * float(length)
        if volume * longest <= room:  # nowhere fewer trips than the mean but in empty cells
            above = volume - products.cells[i] * (volume / room)
        else:
            ranks = origins.first[o], origins.end[o], destinations.first[d], destinations.end[d], t_first, t_end
            above = above_mean(ranks, cells, volume / room)
        cost[i] = np.int64(np.round((2 * above + price * volume * (origins.size[o] + destinations.size[d])) * unit))


@njit(cache=True, nogil=True)
def above_mean(ranks, cells, mean):
    """Trips above the mean, cell by cell; a cell of a longer bin is given more."""
    o_first, o_end, d_first, d_end, t_first, t_end = ranks
    above = 0.0
    for o in range(o_first, o_end):
        row = cells.destination[cells.start[o] : cells.start[o + 1]]
        at = cells.start[o] + np.searchsorted(row, d_first)
        while at < cells.start[o + 1] and cells.destination[at] < d_end:
            if t_first <= cells.time[at] < t_end:
                above += max(cells.trips[at] - mean * cells.length[cells.time[at]], 0.0)
            at += 1
    return above
