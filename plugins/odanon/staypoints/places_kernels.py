"""Compiled density clustering; imported only by the method that runs it."""

import math

import numpy as np
from numba import njit

from odanon.staypoints.kernels import METRES_PER_DEGREE, cosine_at, squared_metres


@njit(cache=True, nogil=True)
def place_numbers(starts, lat, lon, radius_m, min_stays):
    """The place of every stay as `Places` describes it, numbered from 0 for each person, -1 for none."""
    place = np.full(len(lat), -1, np.int64)
    for p in range(len(starts) - 1):
        rows = slice(starts[p], starts[p + 1])
        _cluster(lat[rows], lon[rows], radius_m, min_stays, place[rows])
    return place


@njit(cache=True, nogil=True)
def _cluster(lat, lon, radius_m, min_stays, place):
    """DBSCAN of one person's stays, written to `place`: sweep from south to north, join dense stays."""
    n = len(lat)
    order = np.argsort(lat, kind="mergesort")
    band = radius_m / METRES_PER_DEGREE
    limit = radius_m * radius_m
    neighbours = np.ones(n, np.int64)
    for i in range(n):
        a = order[i]
        cos_lat = cosine_at(lat[a])
        j = i + 1
        while j < n and lat[order[j]] - lat[a] <= band:
            b = order[j]
            if squared_metres(lat[a], lon[a], lat[b], lon[b], cos_lat) <= limit:
                neighbours[a] += 1
                neighbours[b] += 1
            j += 1
    root = np.arange(n)
    nearest = np.full(n, math.inf)  # squared metres from a sparse stay to the dense one it hangs on
    hangs_on = np.full(n, -1, np.int64)
    for i in range(n):
        a = order[i]
        cos_lat = cosine_at(lat[a])
        j = i + 1
        while j < n and lat[order[j]] - lat[a] <= band:
            b = order[j]
            distance = squared_metres(lat[a], lon[a], lat[b], lon[b], cos_lat)
            if distance <= limit:
                if neighbours[a] >= min_stays and neighbours[b] >= min_stays:
                    _unite(root, a, b)
                elif neighbours[a] >= min_stays:
                    _hang(b, a, distance, nearest, hangs_on)
                elif neighbours[b] >= min_stays:
                    _hang(a, b, distance, nearest, hangs_on)
            j += 1
    number = np.full(n, -1, np.int64)
    places = 0
    for a in range(n):
        dense = a if neighbours[a] >= min_stays else hangs_on[a]
        if dense >= 0:
            r = _find(root, dense)
            if number[r] < 0:
                number[r] = places
                places += 1
            place[a] = number[r]


@njit(cache=True, nogil=True)
def _find(root, a):
    while root[a] != a:
        root[a] = root[root[a]]
        a = root[a]
    return a


@njit(cache=True, nogil=True)
def _unite(root, a, b):
    a, b = _find(root, a), _find(root, b)
    root[max(a, b)] = min(a, b)


@njit(cache=True, nogil=True)
def _hang(sparse, dense, distance, nearest, hangs_on):
    """Remember the nearest dense stay, the earliest of equals."""
    if distance < nearest[sparse] or (distance == nearest[sparse] and dense < hangs_on[sparse]):
        nearest[sparse], hangs_on[sparse] = distance, dense
