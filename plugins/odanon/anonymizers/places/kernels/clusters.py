"""Clusters of tile pairs that grow by joining two: members, volume and whether they keep the promise.

Clusters 0..n-1 are the pairs, every join makes the next number. Joined clusters lead to the one that holds them now.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from odanon.anonymizers.places.kernels.pairs import pairs_keep


class Clusters(NamedTuple):
    """Arrays by cluster, but `after` and `members`, which are by pair."""

    leader: npt.NDArray[np.int64]  # itself while it is no part of another
    first: npt.NDArray[np.int64]  # its members as a linked list: first pair, last pair
    last: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]  # next pair of the same cluster, -1 at the end
    volume: npt.NDArray[np.int64]
    safe: npt.NDArray[np.bool_]
    members: npt.NDArray[np.int64]  # room to list pairs


@njit(cache=True, nogil=True)
def single_clusters(trips, evidence, room):
    """Every pair on its own."""
    n = len(trips)
    size = 2 * n - 1
    first, last, volume = np.arange(size), np.arange(size), np.zeros(size, np.int64)
    volume[:n] = trips
    safe, members = np.zeros(size, np.bool_), np.arange(n)
    clusters = Clusters(np.arange(size), first, last, np.full(n, -1, np.int64), volume, safe, members)
    for pair in range(n):
        safe[pair] = pairs_keep(members[pair : pair + 1], evidence, room)
    return clusters


@njit(cache=True, nogil=True)
def leader_of(clusters, cluster):
    """The cluster that holds this one now."""
    leader = clusters.leader
    while leader[cluster] != cluster:
        leader[cluster] = leader[leader[cluster]]
        cluster = leader[cluster]
    return cluster


@njit(cache=True, nogil=True)
def join(clusters, a, b, new, evidence, room):
    """Join clusters a and b as number `new`.

    Safe and anything is safe, but with shares of persons that must be counted again.
    """
    clusters.leader[a] = clusters.leader[b] = new
    clusters.first[new], clusters.last[new] = clusters.first[a], clusters.last[b]
    clusters.after[clusters.last[a]] = clusters.first[b]
    clusters.volume[new] = clusters.volume[a] + clusters.volume[b]
    if (clusters.safe[a] or clusters.safe[b]) and evidence.test.dominance == 1.0:
        clusters.safe[new] = True
        return
    n = 0
    pair = clusters.first[new]
    while pair >= 0:
        clusters.members[n] = pair
        n += 1
        pair = clusters.after[pair]
    clusters.safe[new] = pairs_keep(clusters.members[:n], evidence, room)


@njit(cache=True, nogil=True)
def published_clusters(clusters):
    """The cluster of every pair, -1 where it does not keep the promise."""
    n = len(clusters.after)
    cluster = np.empty(n, np.int64)
    for pair in range(n):
        found = leader_of(clusters, pair)
        cluster[pair] = found if clusters.safe[found] else -1
    return cluster


@njit(cache=True, nogil=True)
def left_out(clusters, n):
    """Trips of the first n clusters that do not keep the promise."""
    total = np.int64(0)
    for cluster in range(n):
        if not clusters.safe[cluster]:
            total += clusters.volume[cluster]
    return total


@njit(cache=True, nogil=True)
def lowest_cut(merges, trips, evidence, room, budget):
    """(cluster of every pair, merges made): the shortest run of merges after which at most `budget` trips are left out.

    Without such a run all merges are made; then every pair that is not safe has cluster -1.
    """
    clusters = single_clusters(trips, evidence, room)
    n = len(trips)
    unsafe = left_out(clusters, n)
    made = 0
    while unsafe > budget and made < len(merges):
        a, b = merges[made]
        new = n + made
        join(clusters, a, b, new, evidence, room)
        for part in (a, b):
            if not clusters.safe[part]:
                unsafe -= clusters.volume[part]
        if not clusters.safe[new]:
            unsafe += clusters.volume[new]
        made += 1
    return published_clusters(clusters), made
