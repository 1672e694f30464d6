"""Glove: merge the closest two clusters of which one is below k, again and again (000 section 4.2; 003 section 3.5).

Joint boxes only grow, so the distance of two clusters is never less than that of their parts was, and an outdated
distance is a lower bound. It is enough to keep, for every cluster below k, its nearest neighbour in a heap and to look again
when that neighbour is gone. Clusters that are safe never search.
"""

import heapq

import numpy as np
from numba import njit

from odanon.anonymizers.places.kernels.clusters import join, leader_of, left_out, published_clusters, single_clusters

_NOWHERE = np.int64(2**62)


@njit(cache=True, nogil=True)
def merge_closest(points, start, neighbour, trips, evidence, room, budget):
    """(cluster of every pair, merges made); -1 for pairs left out, at most `budget` trips of them if that is possible.

    The neighbours of pair p are `neighbour[start[p]:start[p + 1]]`; those of a cluster are the clusters of its members'
    neighbours, or all clusters when it has none. Of equal distances the lowest cluster numbers win.
    """
    clusters = single_clusters(trips, evidence, room)
    n = len(trips)
    size = 2 * n - 1
    low, high = np.empty((4, size), np.int64), np.empty((4, size), np.int64)
    low[:, :n] = points
    high[:, :n] = points
    checked = np.zeros(size + 1, np.int64)  # number of the search that saw a cluster last; of all searches
    unsafe = left_out(clusters, n)
    heap = [(_NOWHERE, n, n, n)][:0]
    for pair in range(n):
        if not clusters.safe[pair] and n > 1:
            heap.append(_nearest(pair, n, clusters, low, high, start, neighbour, checked))
    heapq.heapify(heap)
    new = n
    while unsafe > budget and len(heap) > 0:
        _, a, b, owner = heapq.heappop(heap)
        if clusters.leader[owner] != owner:
            continue
        if clusters.leader[a] == a and clusters.leader[b] == b:
            join(clusters, a, b, new, evidence, room)
            for d in range(4):
                low[d, new] = min(low[d, a], low[d, b])
                high[d, new] = max(high[d, a], high[d, b])
            for part in (a, b):
                if not clusters.safe[part]:
                    unsafe -= clusters.volume[part]
            if not clusters.safe[new]:
                unsafe += clusters.volume[new]
            owner = new
            new += 1
        if not clusters.safe[owner] and new < size:
            heapq.heappush(heap, _nearest(owner, new, clusters, low, high, start, neighbour, checked))
    return published_clusters(clusters), new - n


@njit(cache=True, nogil=True)
def _nearest(owner, end, clusters, low, high, start, neighbour, checked):
    """(distance, lower cluster, higher cluster, owner) of the nearest neighbour of a cluster; `end` clusters exist."""
    best = (_NOWHERE, owner, owner, owner)
    checked[-1] += 1
    checked[owner] = checked[-1]
    pair = clusters.first[owner]
    while pair >= 0:
        for i in range(start[pair], start[pair + 1]):
            other = leader_of(clusters, neighbour[i])
            if checked[other] != checked[-1]:
                checked[other] = checked[-1]
                edge = _edge(owner, other, low, high)
                if edge < best:
                    best = edge
        pair = clusters.after[pair]
    if best[0] == _NOWHERE:
        for other in range(end):
            if clusters.leader[other] == other and other != owner:
                edge = _edge(owner, other, low, high)
                if edge < best:
                    best = edge
    return best


@njit(cache=True, nogil=True)
def _edge(owner, other, low, high):
    """The L1 extent of the joint box: the sum of its sides in all four dimensions."""
    extent = np.int64(0)
    for d in range(4):
        extent += max(high[d, owner], high[d, other]) - min(low[d, owner], low[d, other])
    return extent, min(owner, other), max(owner, other), owner
