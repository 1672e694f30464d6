"""The same products in the slices above."""

from numba import njit


@njit(cache=True, nogil=True)
def link_slices(slice_, destination, rows, above_time):
    """Tell the product nodes of a slice theirs in the slice above, which has them all; rows and nodes ascend in both."""
    upper = rows.start[rows.above[slice_]]
    for row in range(rows.start[slice_], rows.start[slice_ + 1]):
        while rows.origin[upper] < rows.origin[row]:
            upper += 1
        at = rows.first[upper]
        for i in range(rows.first[row], rows.end[row]):
            while destination[at] < destination[i]:
                at += 1
            above_time[i] = at
