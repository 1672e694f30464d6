"""Passes over one tree: which nodes are covered, and the cut whose areas emit about the same volume."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def at_or_below(parent, nodes):
    """Whether each node is one of `nodes` or has one of them above it."""
    marked = nodes.copy()
    for node in range(len(parent) - 2, -1, -1):
        marked[node] |= marked[parent[node]]
    return marked


@njit(cache=True, nogil=True)
def even_cut(parent, n_tiles, outflow, fits, v_target):
    """Nodes better kept whole when the sum of (v_target - outflow)^2 over kept nodes is to be least (000 section 3.2).

    Nodes without outflow pay v_target^2 like any other, those that a tree of full coverage counts and does not hold
    included: as many as the tiles that are missing below a node would fill of its largest child's size. A node that is all
    one child's is left to the child. Nodes that do not fit the limits are kept only when nothing below them does better.
    """
    n_nodes = len(parent)
    below = np.zeros(n_nodes)
    children = np.zeros(n_nodes, np.int64)
    held, largest = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)  # tiles of all children, of one
    whole = np.zeros(n_nodes, np.bool_)
    for node in range(n_nodes):
        missing = n_tiles[node] - held[node]
        if children[node] > 0 and missing > 0:
            absent = (missing + largest[node] - 1) // largest[node]
            below[node] += absent * v_target**2
            children[node] += absent
        own = (v_target - outflow[node]) ** 2 if fits[node] or outflow[node] == 0 else np.inf
        tie = own == below[node] and (children[node] > 1 or own == np.inf)
        whole[node] = children[node] == 0 or own < below[node] or tie
        up = parent[node]
        if up >= 0:
            below[up] += own if whole[node] else below[node]
            children[up] += 1
            held[up] += n_tiles[node]
            largest[up] = max(largest[up], n_tiles[node])
    return whole


@njit(cache=True, nogil=True)
def topmost(parent, marked):
    """The marked nodes without a marked node above, in order."""
    covered = at_or_below(parent, marked)
    count = 0
    nodes = np.empty(len(parent), np.int64)
    for node in range(len(parent)):
        if marked[node] and (parent[node] < 0 or not covered[parent[node]]):
            nodes[count] = node
            count += 1
    return nodes[:count].copy()
