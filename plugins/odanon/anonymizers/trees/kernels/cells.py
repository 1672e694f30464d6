"""What the cells of two partitions leave out: one pass over the rows, one origin area at a time."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.kernels.keeps import keeps


@njit(cache=True, nogil=True)
def volume_left_out(origin, rows, shift, o_area, d_area, n_areas, test, marks, limit):
    """Trips in cells that must not be published; counting stops once they exceed `limit`.

    `rows` are sorted by origin tile, and the areas are runs of tiles, so the rows of an origin area follow each other.
    They are dealt out to its cells and every cell is counted. `o_area` and `d_area` number the area of each tile, -1
    where there is none that may be published.
    """
    size = np.zeros(n_areas, np.int64)  # rows of each cell of the origin area at hand
    cell_end = np.zeros(n_areas, np.int64)
    cells = np.empty(n_areas, np.int64)
    dealt = np.empty(len(origin), np.int32)
    lost, start = np.int64(0), 0
    while start < len(origin) and lost <= limit:
        area = o_area[origin[start]]
        n_cells, end = 0, start
        while end < len(origin) and o_area[origin[end]] == area:
            to = -1 if area < 0 else d_area[np.int64(rows.key[end]) >> shift]
            if to < 0:
                lost += rows.volume[end]
            else:
                if size[to] == 0:
                    cells[n_cells] = to
                    n_cells += 1
                size[to] += 1
            end += 1
        if area >= 0:
            deal_rows(rows.key, shift, d_area, start, end, cells[:n_cells], size, cell_end, dealt)
        for c in range(n_cells):
            to = cells[c]
            mine = dealt[cell_end[to] - size[to] : cell_end[to]]
            size[to] = 0
            safe, volume = keeps(rows, mine, shift, test, marks)
            if not safe:
                lost += volume
        start = end
    return lost


@njit(cache=True, nogil=True)
def deal_rows(key, shift, d_area, start, end, cells, size, cell_end, dealt):
    """Write the row numbers start:end grouped by cell; those of a cell end at `cell_end`."""
    at = start
    for to in cells:
        cell_end[to] = at
        at += size[to]
    for row in range(start, end):
        to = d_area[np.int64(key[row]) >> shift]
        if to >= 0:
            dealt[cell_end[to]] = row
            cell_end[to] += 1
