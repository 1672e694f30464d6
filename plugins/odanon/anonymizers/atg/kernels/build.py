"""Candidates of every origin node at once: rows are merged up the origin tree and swept on the way.

The row of a node is the sorted merge of its children's rows. Rows wait on a stack, so at most one copy of the matrix is in
work whatever the shape of the tree, and a build can stop when the candidate buffers are full and go on later.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymizers.trees.arrays import Entries
from odanon.anonymizers.trees.kernels.rows import sweep


class Tree(NamedTuple):
    """What the build must know of the origin tree."""

    parent: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]  # how many
    size: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]  # rows to form (closed downwards)
    emit: npt.NDArray[np.bool_]  # rows to sweep
    start: npt.NDArray[np.int64]  # first entry of each tile's row


class Work(NamedTuple):
    """Buffers of a build that may stop when the candidate buffers are full and go on later."""

    row: Entries
    spare: Entries
    row_start: npt.NDArray[np.int64]
    swept: npt.NDArray[np.bool_]  # whether a waiting row is already represented by a lower node
    cursor: npt.NDArray[np.int64]  # next node, rows waiting, tiles read


@njit(cache=True, nogil=True)
def merge_top(row, spare, start, middle, end):
    """Merge the neighbouring sorted rows start:middle and middle:end in place, adding equal keys; new end.

    Where visited tiles are counted, rows of different origins stay apart.
    """
    i, j, out = start, middle, 0
    weighted, apart = len(row.weight) > 0, len(row.origin) > 0
    while i < middle and j < end:
        a, b = row.key[i], row.key[j]
        from_a, from_b = a <= b, b < a or (b == a and not apart)
        spare.key[out] = a if from_a else b
        spare.volume[out] = row.volume[i] * from_a + row.volume[j] * from_b
        if weighted:
            spare.weight[out] = row.weight[i] * from_a + row.weight[j] * from_b
        if apart:
            spare.origin[out] = row.origin[i] if from_a else row.origin[j]
        i += from_a
        j += from_b
        out += 1
    while i < middle:
        spare.key[out] = row.key[i]
        spare.volume[out] = row.volume[i]
        if weighted:
            spare.weight[out] = row.weight[i]
        if apart:
            spare.origin[out] = row.origin[i]
        i += 1
        out += 1
    # what is left of the second row stays behind the merged part
    row.key[start : start + out] = spare.key[:out]
    row.volume[start : start + out] = spare.volume[:out]
    if weighted:
        row.weight[start : start + out] = spare.weight[:out]
    if apart:
        row.origin[start : start + out] = spare.origin[:out]
    out += start
    if out == j:
        return end
    while j < end:
        row.key[out] = row.key[j]
        row.volume[out] = row.volume[j]
        if weighted:
            row.weight[out] = row.weight[j]
        if apart:
            row.origin[out] = row.origin[j]
        j += 1
        out += 1
    return out


@njit(cache=True, nogil=True)
def build(entries, shift, tree, limit, side, test, work, scratch, out):
    """Sweep origin nodes from `work.cursor[0]` on until done or the candidate buffers are full.

    Returns the node to go on with. `limit` bounds |o| + |d| of inner candidates.
    """
    row = work.row
    weighted, apart = len(row.weight) > 0, len(row.origin) > 0
    node, waiting, tile = work.cursor[0], work.cursor[1], work.cursor[2]
    at = np.int64(0)
    while node < len(tree.parent):
        kids = tree.children[node]
        if not tree.active[node]:
            if kids == 0:
                tile += 1
            out.first[node] = at
            out.end[node] = at
            node += 1
            continue
        top = work.row_start[waiting]
        if kids == 0:
            begin, end = top, top + tree.start[tile + 1] - tree.start[tile]
        else:
            begin, end = work.row_start[waiting - kids], top
        if tree.emit[node] and at + 2 * (end - begin) > len(out.node):
            break
        swept = False
        if kids == 0:
            source = tree.start[tile]
            for i in range(end - begin):
                row.key[begin + i] = entries.key[source + i]
                row.volume[begin + i] = entries.volume[source + i]
                if weighted:
                    row.weight[begin + i] = entries.weight[source + i]
                if apart:
                    row.origin[begin + i] = entries.origin[source + i]
            tile += 1
        else:
            filled = 0
            for child in range(waiting - kids, waiting):
                if work.row_start[child + 1] > work.row_start[child]:
                    filled += 1
                    swept = work.swept[child]
            if filled > 1:
                swept = False
            for child in range(waiting - 1, waiting - kids, -1):
                end = merge_top(row, work.spare, work.row_start[child - 1], work.row_start[child], end)
            waiting -= kids
        out.first[node] = at
        if tree.emit[node] and not swept and end > begin:
            at = sweep(node, limit - tree.size[node], row, begin, end, shift, side, test, scratch, out, at)
            swept = True
        out.end[node] = at
        work.swept[waiting] = swept
        up = tree.parent[node]
        if up >= 0 and tree.active[up]:
            waiting += 1
            work.row_start[waiting] = end
        node += 1
    work.cursor[0], work.cursor[1], work.cursor[2] = node, waiting, tile
    return node
