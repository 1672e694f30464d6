"""Compiled stay-point kernels; imported only by the method that runs them."""

import math

import numpy as np
from numba import njit

_METRES_PER_DEGREE = 6371008.8 * math.pi / 180


@njit(cache=True, nogil=True, inline="always")
def _squared_metres(lat_a, lon_a, lat_b, lon_b, cos_lat):
    """Squared distance on the plane tangent at `a`: within a metre of the sphere's up to several kilometres."""
    dx = (lon_b - lon_a) * cos_lat
    dy = lat_b - lat_a
    return (dx * dx + dy * dy) * _METRES_PER_DEGREE * _METRES_PER_DEGREE


@njit(cache=True, nogil=True)
def dwell_stays(starts, time_us, lat, lon, radius_m, min_stay_us, max_gap_us):
    """Row numbers of the first and last fix of every stay and its mean position, person by person."""
    capacity = len(time_us)
    first = np.empty(capacity, np.int64)
    last = np.empty(capacity, np.int64)
    mean_lat = np.empty(capacity, np.float64)
    mean_lon = np.empty(capacity, np.float64)
    found = 0
    limit = radius_m * radius_m
    for p in range(len(starts) - 1):
        anchor, end = starts[p], starts[p + 1]
        while anchor < end:
            cos_lat = math.cos(lat[anchor] * math.pi / 180)
            sum_lat, sum_lon = lat[anchor], lon[anchor]
            reach = anchor + 1
            while (
                reach < end
                and time_us[reach] - time_us[reach - 1] <= max_gap_us
                and _squared_metres(lat[anchor], lon[anchor], lat[reach], lon[reach], cos_lat) <= limit
            ):
                sum_lat += lat[reach]
                sum_lon += lon[reach]
                reach += 1
            if time_us[reach - 1] - time_us[anchor] >= min_stay_us:
                first[found], last[found] = anchor, reach - 1
                mean_lat[found] = sum_lat / (reach - anchor)
                mean_lon[found] = sum_lon / (reach - anchor)
                found += 1
                anchor = reach
            else:
                anchor += 1
    return first[:found], last[:found], mean_lat[:found], mean_lon[:found]
