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
def even_cut(parent, node_count, outflow, fits, v_target):
    """Nodes better kept whole when the sum of (v_target - outflow)^2 over kept nodes is to be least (000 section 3.2).

    Nodes without outflow publish nothing and cost nothing. A node whose outflow is all one child's is left to the
    child. Nodes that do not fit the tile limits are kept only when nothing below them does better.
    """
    n_nodes = len(parent)
    below = np.zeros(n_nodes)
    filled = np.zeros(n_nodes, np.int32)
    whole = np.zeros(n_nodes, np.bool_)
    for node in range(n_nodes):
        if outflow[node] == 0:
            continue
        own = (v_target - outflow[node]) ** 2 if fits[node] else np.inf
        whole[node] = node_count[node] == 1 or own < below[node] or (own == below[node] and filled[node] > 1)
        if filled[node] == 1 and below[node] == np.inf:
            whole[node] = True
        if parent[node] >= 0:
            below[parent[node]] += own if whole[node] else below[node]
            filled[parent[node]] += 1
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
