"""From choices to the tree of decisions, and to the decision that every tile pair ends at."""

from numba import njit

from odanon.anonymizers.lattice.arrays import SPLIT_DESTINATION, SPLIT_ORIGIN


@njit(cache=True, nogil=True)
def made_by(i, products, choice, parent, region):
    """The decision whose split makes a product node: itself at the top, -1 where no split leads to it.

    Nodes behind it in the order are known. A destination split makes the nodes directly below it in its row. An origin split
    makes the topmost nodes, in the rows below, of its region: the nodes of its row at and below it.
    """
    above, over = products.above_destination[i], products.above_origin[i]
    if above >= 0 and parent[above] >= 0 and choice[above] == SPLIT_DESTINATION:
        return above
    topmost = above < 0 or (over >= 0 and region[products.above_origin[above]] != region[over])
    if over >= 0 and region[over] >= 0 and topmost:
        return region[over]
    return i if above < 0 and over < 0 else -1


@njit(cache=True, nogil=True)
def region_of(i, products, choice, parent, region):
    """The origin split at or above a node in its row, -1 without one."""
    if parent[i] >= 0 and choice[i] == SPLIT_ORIGIN:
        return i
    above = products.above_destination[i]
    return region[above] if above >= 0 else -1


@njit(cache=True, nogil=True)
def trace(products, choice, parent, region):
    """Fill `parent`, the decision that makes each product node, and `region`."""
    for i in range(len(choice) - 1, -1, -1):
        parent[i] = made_by(i, products, choice, parent, region)
        region[i] = region_of(i, products, choice, parent, region)


@njit(cache=True, nogil=True)
def settle(first, end, pair_start, destination, top, tree, o_ranks, d_ranks, owner):
    """The innermost decision that holds each tile pair of the origin ranks first:end, -1 where none does.

    `tree` is (child start, children, whether a node splits its origin) with children in order of the split side;
    ranks are (first, end) of every decision.
    """
    child_start, child, by_origin = tree
    o_first, o_end = o_ranks
    d_first, d_end = d_ranks
    for o in range(first, end):
        for pair in range(pair_start[o], pair_start[o + 1]):
            d, at, node = destination[pair], -1, top
            while node >= 0:
                if not (o_first[node] <= o < o_end[node] and d_first[node] <= d < d_end[node]):
                    break
                at = node
                low, high = child_start[at], child_start[at + 1]
                origin_side = by_origin[at]
                node = -1
                while low < high:
                    middle = (low + high) // 2
                    candidate = child[middle]
                    if (o_first[candidate] <= o) if origin_side else (d_first[candidate] <= d):
                        node = candidate
                        low = middle + 1
                    else:
                        high = middle
            owner[pair] = at
