"""From choices to the tree of decisions, and to the decision that every tile pair ends at."""

import numpy as np
from numba import njit

from odanon.anonymizers.lattice.arrays import PUBLISH, SPLIT_DESTINATION, SPLIT_ORIGIN


@njit(cache=True, nogil=True)
def last_below(ids, first, end, node, size):
    """The last of the ascending ids first:end that is at or below a node of a tree, -1 without one."""
    at = first + np.searchsorted(ids[first:end], node, side="right") - 1
    return at if at >= first and ids[at] > node - size[node] else -1


@njit(cache=True, nogil=True)
def expand(i, row, products, choice, rows, sizes, parent, row_of):
    """Tell the product nodes that the decision `i` makes theirs, and their rows; `sizes` count nodes of both trees below.

    A split of the destination makes the topmost nodes below it in its row, one of the origin the topmost node within the product in
    each of the topmost rows below its own, one of time the same in the topmost row of each slice below.
    """
    o_size, d_size = sizes
    o, d = products.origin[i], products.destination[i]
    if choice[i] == PUBLISH:
        return
    if choice[i] == SPLIT_DESTINATION:
        at = i - 1
        while at >= rows.first[row] and products.destination[at] > d - d_size[d]:
            parent[at], row_of[at] = i, row
            beyond = products.destination[at] - d_size[products.destination[at]]
            at = rows.first[row] + np.searchsorted(products.destination[rows.first[row] : at], beyond, side="right") - 1
    elif choice[i] == SPLIT_ORIGIN:
        slice_, below = rows.slice[row], row - 1
        while below >= rows.start[slice_] and rows.origin[below] > o - o_size[o]:
            at = last_below(products.destination, rows.first[below], rows.end[below], d, d_size)
            if at >= 0:
                parent[at], row_of[at] = i, below
            beyond = rows.origin[below] - o_size[rows.origin[below]]
            first = rows.start[slice_]
            below = first + np.searchsorted(rows.origin[first:below], beyond, side="right") - 1
    else:
        for slice_ in range(rows.slice[row]):
            if rows.above[slice_] == rows.slice[row]:
                below = last_below(rows.origin, rows.start[slice_], rows.start[slice_ + 1], o, o_size)
                if below >= 0:
                    at = last_below(products.destination, rows.first[below], rows.end[below], d, d_size)
                    if at >= 0:
                        parent[at], row_of[at] = i, below


@njit(cache=True, nogil=True)
def trace(products, choice, rows, sizes, parent, row_of):
    """Fill `parent`, the decision that makes each product node (-1: none), from the tops, which are their own."""
    for i in range(len(choice) - 1, -1, -1):
        if parent[i] >= 0:
            expand(i, row_of[i], products, choice, rows, sizes, parent, row_of)


@njit(cache=True, nogil=True)
def settle(first, end, cells, top, tree, ranks, owner):
    """The innermost decision that holds each tile pair of the origin ranks first:end, -1 where none does.

    `tree` is (child start, children, which side a node splits) with children in order of the split side;
    `ranks` are those of every decision (first, end) by origin, destination and time.
    """
    child_start, child, side = tree
    lowest, behind = ranks
    place = np.empty(3, np.int64)
    for o in range(first, end):
        for pair in range(cells.start[o], cells.start[o + 1]):
            place[0], place[1], place[2] = o, cells.destination[pair], cells.time[pair]
            at, node = -1, top
            while node >= 0:
                inside = True
                for axis in range(3):
                    inside &= lowest[axis, node] <= place[axis] < behind[axis, node]
                if not inside:
                    break
                at = node
                low, high = child_start[at], child_start[at + 1]
                axis = side[at]
                node = -1
                while low < high:
                    middle = (low + high) // 2
                    candidate = child[middle]
                    if lowest[axis, candidate] <= place[axis]:
                        node = candidate
                        low = middle + 1
                    else:
                        high = middle
            owner[pair] = at
