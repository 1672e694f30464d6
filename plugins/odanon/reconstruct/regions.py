"""Regions of about equal traffic, by cutting the map in two again and again."""

import heapq

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def bisected(x: Floats, y: Floats, traffic: Floats, n_regions: int) -> npt.NDArray[np.int64]:
    """The region of every point: the one with most traffic is cut until there are `n_regions`, if places allow.

    A cut goes across the longer side of the region's box around its points with traffic, where traffic on both sides is
    closest to equal; points at the same place stay together. Points without traffic follow the cuts.
    """
    region = np.zeros(len(x), dtype=np.int64)
    heap = [(-float(traffic.sum()), 0)]
    n_found = 1
    while heap and n_found < n_regions:
        _, here = heapq.heappop(heap)
        inside = np.flatnonzero(region == here)
        beyond = _beyond(x[inside], y[inside], traffic[inside])
        if beyond is None:
            continue
        region[inside[beyond]] = n_found
        for part in (here, n_found):
            heapq.heappush(heap, (-float(traffic[region == part].sum()), part))
        n_found += 1
    return region


def _beyond(x: Floats, y: Floats, traffic: Floats) -> npt.NDArray[np.bool_] | None:
    """Which points lie beyond the best cut; None when all traffic is at one place."""
    busy = traffic > 0
    if not busy.any():
        return None
    axis = x if np.ptp(x[busy]) >= np.ptp(y[busy]) else y
    places, at = np.unique(axis[busy], return_inverse=True)
    if len(places) == 1:
        return None
    up_to = np.cumsum(np.bincount(at, traffic[busy]))
    last = int(np.argmin(np.abs(2 * up_to[:-1] - up_to[-1])))
    return axis > (places[last] + places[last + 1]) / 2
