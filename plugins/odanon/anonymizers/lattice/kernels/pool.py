"""What no flow tells is pooled up the tree of decisions until it keeps the promise."""

import numpy as np
from numba import njit

from odanon.anonymizers.trees.kernels.keeps import keeps


@njit(cache=True, nogil=True)
def pool(parent, fits, owner, rows, shift, test, marks):
    """For every row the first decision, from its own upwards, where the rows pooled so far keep the promise; -1 without one.

    `parent` is that of every decision, children first and the top its own; `fits` says which decisions may publish a
    rest; `owner` is the decision of every row, -1 for rows of flows. Rows that a rest takes go no further.
    """
    home = np.full(len(owner), -1, np.int64)
    following = np.full(len(owner), -1, np.int64)  # in the list of a decision
    first, last = np.full(len(parent), -1, np.int64), np.full(len(parent), -1, np.int64)
    for row in range(len(owner)):
        if owner[row] >= 0:
            append(first, last, following, owner[row], row, row)
    mine = np.empty(len(owner), np.int64)
    for node in range(len(parent)):
        if first[node] < 0:
            continue
        safe = False
        if fits[node]:
            n, row = 0, first[node]
            while row >= 0:
                mine[n] = row
                n += 1
                row = following[row]
            safe = keeps(rows, mine[:n], shift, test, marks)[0]
            if safe:
                home[mine[:n]] = node
        if not safe and parent[node] != node:
            append(first, last, following, parent[node], first[node], last[node])
    return home


@njit(cache=True, nogil=True)
def append(first, last, following, node, begin, end):
    """Put the list begin..end behind that of a decision."""
    if first[node] < 0:
        first[node] = begin
    else:
        following[last[node]] = begin
    last[node] = end
