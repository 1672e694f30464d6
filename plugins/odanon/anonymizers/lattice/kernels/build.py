"""Product nodes of many origins: rows are merged up the origin tree and swept on the way.

Rows wait on a stack, so at most one copy of the entries is in work whatever the shape of the tree. A build stops when the room
for product nodes is full and goes on when there is more.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymizers.lattice.arrays import Row
from odanon.anonymizers.lattice.kernels.sweep import sweep


class Part(NamedTuple):
    """The origin nodes of a build and the rows of those without children in it."""

    nodes: npt.NDArray[np.int32]  # children first
    children: npt.NDArray[np.int32]  # in this part
    sweep: npt.NDArray[np.bool_]  # large enough to be published, with trips enough for a flow
    fits: npt.NDArray[np.bool_]  # within the limits on areas
    rows: Row
    start: npt.NDArray[np.int64]  # of each given row
    swept: npt.NDArray[np.int64]  # first product node of each given row and the one behind the last


class Work(NamedTuple):
    """Rows in work."""

    row: Row
    spare: Row
    start: npt.NDArray[np.int64]  # of each waiting row
    swept: npt.NDArray[np.int64]  # product nodes of each waiting row, as in Part
    place: npt.NDArray[np.int32]  # by destination: its product node in the row at hand
    waiting: npt.NDArray[np.int64]
    cursor: npt.NDArray[np.int64]  # next node, rows waiting, rows read, product nodes


@njit(cache=True, nogil=True)
def copy_run(source, start, end, target, at):
    """Append a run of entries; returns the end."""
    n = end - start
    target.key[at : at + n] = source.key[start:end]
    target.volume[at : at + n] = source.volume[start:end]
    if len(source.cells) > 0:
        target.cells[at : at + n] = source.cells[start:end]
    if len(source.weight) > 0:
        target.weight[at : at + n] = source.weight[start:end]
    if len(source.origin) > 0:
        target.origin[at : at + n] = source.origin[start:end]
    return at + n


@njit(cache=True, nogil=True)
def merge_two(source, start, middle, end, target, at):
    """Append the merge of two neighbouring sorted runs, equal keys added up unless origins are kept; returns the end."""
    counted, weighted, apart = len(source.cells) > 0, len(source.weight) > 0, len(source.origin) > 0
    i, j = start, middle
    while i < middle and j < end:
        a, b = source.key[i], source.key[j]
        from_a = a <= b
        from_b = b < a or (b == a and not apart)
        target.key[at] = a if from_a else b
        target.volume[at] = source.volume[i] * from_a + source.volume[j] * from_b
        if counted:
            target.cells[at] = source.cells[i] * from_a + source.cells[j] * from_b
        if weighted:
            target.weight[at] = source.weight[i] * from_a + source.weight[j] * from_b
        if apart:
            target.origin[at] = source.origin[i] if from_a else source.origin[j]
        i += from_a
        j += from_b
        at += 1
    at = copy_run(source, i, middle, target, at)
    return copy_run(source, j, end, target, at)


@njit(cache=True, nogil=True)
def merge_rows(row, spare, start, n):
    """Merge the n rows start[0]:start[1], start[1]:start[2], ... in place, two by two; returns the end."""
    source, target, moved = row, spare, False
    while n > 1:
        at, merged = start[0], 0
        for j in range(0, n, 2):
            first, middle = start[j], start[j + 1]
            if j + 1 < n:
                at = merge_two(source, first, middle, start[j + 2], target, at)
            else:
                at = copy_run(source, first, middle, target, at)
            merged += 1
            start[merged] = at
        n = merged
        source, target, moved = target, source, not moved
    if moved:
        copy_run(spare, start[0], start[1], row, start[0])
    return start[1]


@njit(cache=True, nogil=True)
def link(lower, begin, end, place, out):
    """Tell the product nodes of the rows `lower` (first, behind the last) theirs in the row begin:end."""
    for at in range(begin, end):
        place[out.destination[at]] = at
    for row in range(lower.shape[1]):
        for at in range(lower[0, row], lower[1, row]):
            out.above_origin[at] = place[out.destination[at]]


@njit(cache=True, nogil=True)
def build(part, limit, shift, side, test, work, scratch, out):
    """Go on with the nodes of a part until done or `out` is full; returns whether all is done.

    Destinations of `limit` tiles and more have no product nodes.
    """
    index, waiting, given, at = work.cursor
    done = True
    while index < len(part.nodes):
        node, kids = part.nodes[index], part.children[index]
        base = waiting - kids
        begin = work.start[base]
        end = work.start[waiting]
        if kids == 0:
            end = begin + part.start[given + 1] - part.start[given]
        if at + 2 * (end - begin) > len(out.origin):
            done = False
            break
        filled = 0
        if kids == 0:
            copy_run(part.rows, part.start[given], part.start[given + 1], work.row, begin)
            work.swept[:, base] = part.swept[:, given]
            given += 1
            filled = 1
        else:
            for child in range(base, waiting):  # rows without entries drop out
                if work.start[child + 1] > work.start[child]:
                    work.start[base + filled] = work.start[child]
                    work.swept[:, base + filled] = work.swept[:, child]
                    filled += 1
            work.start[base + filled] = end
            lower = work.swept[:, base : base + filled].copy()
            if filled > 1:
                end = merge_rows(work.row, work.spare, work.start[base:], filled)
        # a row that repeats the only one below it is not swept again: same trips on more tiles
        known = filled == 1 and work.swept[1, base] > work.swept[0, base]
        if not known:
            work.swept[:, base] = at
            if end > begin and part.sweep[index]:
                fits = part.fits[index]
                at = sweep(node, fits, limit, work.row, begin, end, shift, side, test, scratch, work.waiting, out, at)
                work.swept[1, base] = at
                if kids > 0:
                    link(lower, work.swept[0, base], at, work.place, out)
        waiting = base + 1
        work.start[waiting] = end
        index += 1
    work.cursor[0], work.cursor[1], work.cursor[2], work.cursor[3] = index, waiting, given, at
    return done
