"""One partition for all: costs of every node of a tree over all areas of the other side, and the best cut.

For fixed areas o of one side, K[d] = sum over o of v(o, d) where publishable and A[d] = sum of v * (|o| + |d|) there
hold for every node d at once, so any number of multipliers costs no further look at the matrix.
"""

import numpy as np
from numba import njit

from odanon.anonymizers.atg.kernels.evaluate import keep_whole


@njit(cache=True, nogil=True)
def add_node_costs(rows, o_size, volume, weighted, stack):
    """Add what every row changes at a node: its candidates' volume starts there and that of those below ends.

    Sums over subtrees then give the publishable volume at every node, also at nodes that no row lists, since the
    flow from one listed node up to the next is the same. `weighted` is the volume times |o|.
    """
    for row in range(len(rows.first)):
        depth = 0
        for c in range(rows.first[row], rows.end[row]):
            change = np.int64(rows.volume[c])
            for _ in range(rows.below[c]):  # no turn for a forced tile
                depth -= 1
                change -= stack[0, depth]
            volume[rows.node[c]] += change
            weighted[rows.node[c]] += change * o_size[row]
            stack[0, depth] = rows.volume[c]
            depth += 1


@njit(cache=True, nogil=True)
def sum_subtrees(parent, values):
    """Replace every value by the sum over its node's subtree."""
    for node in range(len(parent) - 1):
        values[parent[node]] += values[node]


@njit(cache=True, nogil=True)
def shared_cut(parent, n_children, K, A, lambda_, whole, inner):
    """The best cut at a multiplier: `whole` marks nodes better not split, `inner` is (K, A) at or below each.

    An only child with the same volume stands for its parent. Returns (K, A) of the root.
    """
    inner[:] = 0
    for node in range(len(parent)):
        if n_children[node] == 0:
            whole[node] = True
        elif n_children[node] == 1 and K[node - 1] == K[node]:
            whole[node] = False
        else:
            whole[node] = keep_whole(lambda_, K[node] - inner[0, node], A[node] - inner[1, node])
        if whole[node]:
            inner[0, node] = K[node]
            inner[1, node] = A[node]
        if parent[node] >= 0:
            inner[0, parent[node]] += inner[0, node]
            inner[1, parent[node]] += inner[1, node]
    return inner[0, -1], inner[1, -1]


@njit(cache=True, nogil=True)
def shared_fill(size, K, cut, whole, inner, budget):
    """Split nodes of a cut the way `whole` and `inner` (of a smaller multiplier) say while `budget` trips last.

    Nodes are marked in `cut`; `size` counts the nodes of a subtree. Returns the budget that is left.
    """
    for node in range(len(size)):
        lost = K[node] - inner[0, node]
        if cut[node] and not whole[node] and lost <= budget:
            budget -= lost
            cut[node] = False
            below = node - 1
            while below > node - size[node]:
                if whole[below]:
                    cut[below] = True
                    below -= size[below]
                else:
                    below -= 1
    return budget
