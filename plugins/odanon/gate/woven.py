"""Origins and times as one side, so that what covers what in three dimensions is found as in two.

A tile in a bin is a place of its own: the line of places has every bin's tiles, bin after bin. An origin area during an interval is
its runs of tiles, once for every bin. A product of two areas and an interval is then one of an area of places and a destination.
"""

import numpy as np
import pandas as pd

from odanon.gate.coverage import Ints, Line, spread


def woven(origins: Line, times: Line, area: Ints, interval: Ints) -> tuple[Line, Ints]:
    """The line of places with the areas that rows name (by number on their lines), and the number of each row's; -1 for strangers."""
    known = (area >= 0) & (interval >= 0)
    width = len(times.areas) + 1
    number = np.full(len(area), -1, dtype=np.int64)
    keys, number[known] = np.unique(area[known] * width + interval[known], return_inverse=True)
    area, interval = np.divmod(keys, width)
    run, bins = _bins(times)
    # of every combination its bins, and in each of them the runs of its area
    owner, step = spread(np.diff(run)[interval])
    at = bins[run[interval][owner] + step]
    piece, step = spread(np.diff(origins.first)[area[owner]])
    mine = origins.first[area[owner]][piece] + step
    shift = at[piece] * (len(origins.tiles) + 1)  # runs of different bins never touch
    return Line(
        areas=pd.RangeIndex(len(keys)),
        tiles=pd.RangeIndex((len(origins.tiles) + 1) * len(times.tiles)),
        first=np.searchsorted(owner[piece], np.arange(len(keys) + 1)),
        start=origins.start[mine] + shift,
        stop=origins.stop[mine] + shift,
        n_tiles=origins.n_tiles[area] * times.n_tiles[interval],
    ), number


def places(origins: Line, tile: Ints, time: Ints) -> Ints:
    """Where each tile (by position) in each bin lies on the line of places, -1 for strangers."""
    return np.where((tile >= 0) & (time >= 0), time * (len(origins.tiles) + 1) + tile, -1)


def _bins(times: Line) -> tuple[Ints, Ints]:
    """(start, bin): the bins of every interval, in order."""
    run, step = spread(times.stop - times.start)
    owner = np.repeat(np.arange(len(times.areas)), np.diff(times.first))[run]
    return np.searchsorted(owner, np.arange(len(times.areas) + 1)), times.start[run] + step
