"""The tiles that boxes touch, found through square bins."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def tiles_in_boxes(x, y, boxes, reach):
    """(start, members): the tiles whose centroid is at most `reach` away from each box, in x and in y.

    `boxes` has a column (west, east, south, north) for every box; members are tile numbers in order.
    """
    west, south = x.min(), y.min()
    side = max(1, np.int64(np.sqrt((x.max() - west + 1.0) * (y.max() - south + 1.0) / len(x))))
    side = max(side, max(x.max() - west, y.max() - south) // (4 * len(x)) + 1)
    n_cols = (x.max() - west) // side + 1
    n_rows = (y.max() - south) // side + 1
    bin_start = np.zeros(n_rows * n_cols + 1, np.int64)
    for i in range(len(x)):
        bin_start[(y[i] - south) // side * n_cols + (x[i] - west) // side + 1] += 1
    bin_start = np.cumsum(bin_start)
    tile = np.empty(len(x), np.int32)
    fill = bin_start[:-1].copy()
    for i in range(len(x)):
        at = (y[i] - south) // side * n_cols + (x[i] - west) // side
        tile[fill[at]] = i
        fill[at] += 1
    n = boxes.shape[1]
    start = np.zeros(n + 1, np.int64)
    members = np.empty(max(16, 2 * n), np.int32)
    for box in range(n):
        x0, x1 = boxes[0, box] - reach, boxes[1, box] + reach
        y0, y1 = boxes[2, box] - reach, boxes[3, box] + reach
        at = start[box]
        for row in range(max(0, (y0 - south) // side), min(n_rows - 1, (y1 - south) // side) + 1):
            first = bin_start[row * n_cols + max(0, (x0 - west) // side)]
            end = bin_start[row * n_cols + min(n_cols - 1, (x1 - west) // side) + 1]
            for i in range(first, end):
                t = tile[i]
                if x0 <= x[t] <= x1 and y0 <= y[t] <= y1:
                    if at == len(members):
                        members = np.concatenate((members, np.empty_like(members)))
                    members[at] = t
                    at += 1
        members[start[box] : at].sort()
        start[box + 1] = at
    return start, members[: start[n]].copy()
