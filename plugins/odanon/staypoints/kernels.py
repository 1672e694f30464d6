"""Compiled kernels for GPS fixes; imported only by the method that runs them.

All work on the fixes of many people at once: `starts` holds the row at which each person begins and the total at
the end; within a person rows are in time order. Times are microseconds, positions degrees.
"""

import math

import numpy as np
from numba import njit

METRES_PER_DEGREE = 6371008.8 * math.pi / 180


@njit(cache=True, nogil=True, inline="always")
def squared_metres(lat_a, lon_a, lat_b, lon_b, cos_lat):
    """Squared distance on the plane tangent near `a`: within a metre of the sphere's up to several kilometres."""
    dx = (lon_b - lon_a) * cos_lat
    dy = lat_b - lat_a
    return (dx * dx + dy * dy) * (METRES_PER_DEGREE * METRES_PER_DEGREE)


@njit(cache=True, nogil=True, inline="always")
def cosine_at(lat):
    """Cosine of a latitude, in degrees."""
    return math.cos(lat * math.pi / 180)


@njit(cache=True, nogil=True, inline="always")
def _all_outside(lat, lon, row, until, anchor, cos_lat, limit):
    """Whether the fixes [row, until) all lie further from the anchor than the square root of `limit`."""
    while row < until and squared_metres(lat[anchor], lon[anchor], lat[row], lon[row], cos_lat) > limit:
        row += 1
    return row == until


@njit(cache=True, nogil=True)
def _walk(anchor, end, time_us, lat, lon, cos_lat, limit, max_gap_us, max_outliers):
    """Follow the window of an anchor: (last inside fix, first fix beyond, inside fixes, sums, fixes outside at its end)."""
    a_lat, a_lon = lat[anchor], lon[anchor]
    inside, n, sum_lat, sum_lon = anchor, 1, a_lat, a_lon
    outside, reach = 0, anchor + 1
    while reach < end and time_us[reach] - time_us[reach - 1] <= max_gap_us:
        if squared_metres(a_lat, a_lon, lat[reach], lon[reach], cos_lat) <= limit:
            if time_us[reach] - time_us[inside] > max_gap_us:
                break
            inside, outside, n = reach, 0, n + 1
            sum_lat += lat[reach]
            sum_lon += lon[reach]
        else:
            outside += 1
            if outside > max_outliers:
                break
        reach += 1
    return inside, reach, n, sum_lat, sum_lon, outside


@njit(cache=True, nogil=True)
def dwell_stays(starts, time_us, lat, lon, radius_m, min_stay_us, max_gap_us, max_outliers, merge_gap_us):
    """(first row, last row, mean lat, mean lon, fixes) of every stay, as `Dwell` describes it."""
    capacity = len(time_us)
    first, last, fixes = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    mean_lat, mean_lon = np.empty(capacity, np.float64), np.empty(capacity, np.float64)
    found = 0
    limit = radius_m * radius_m
    run = max_outliers + 1
    for p in range(len(starts) - 1):
        anchor, end = starts[p], starts[p + 1]
        of_person = found
        # A cosine is dear: one for each hundredth of a degree is exact to 2 cm in 100 m.
        hundredth, cos_lat = np.nan, 1.0
        # Two runs of max_outliers + 1 fixes tell a vain anchor without walking its window, for when a run lies outside
        # the stay ends before it: the run that ended the last failed window, and the one just before the fix
        # `full` that would complete `min_stay`.
        broken_from = broken_to = full = anchor
        while anchor < end:
            while full < end and time_us[full] - time_us[anchor] < min_stay_us:
                full += 1
            if full == end:
                break
            if math.floor(lat[anchor] * 100) != hundredth:
                hundredth = math.floor(lat[anchor] * 100)
                cos_lat = cosine_at((hundredth + 0.5) / 100)
            if (full - run > anchor and _all_outside(lat, lon, full - run, full, anchor, cos_lat, limit)) or (
                broken_from > anchor and _all_outside(lat, lon, broken_from, broken_to, anchor, cos_lat, limit)
            ):
                anchor += 1
                continue
            inside, reach, n, sum_lat, sum_lon, outside = _walk(
                anchor, end, time_us, lat, lon, cos_lat, limit, max_gap_us, max_outliers
            )
            if time_us[inside] - time_us[anchor] < min_stay_us:
                if outside > max_outliers:
                    broken_from, broken_to = inside + 1, reach + 1
                elif (
                    reach < end
                    and time_us[reach] - time_us[reach - 1] > max_gap_us
                    and time_us[reach - 1] - time_us[anchor] < min_stay_us
                ):
                    anchor = reach - 1  # nobody can dwell between here and the silence
                anchor += 1
                continue
            lat_of_stay, lon_of_stay = sum_lat / n, sum_lon / n
            k = found - 1
            if (
                found > of_person
                and time_us[anchor] - time_us[last[k]] < merge_gap_us
                and squared_metres(mean_lat[k], mean_lon[k], lat_of_stay, lon_of_stay, cos_lat) <= limit
            ):
                last[k] = inside
                fixes[k] += n
                mean_lat[k] += (lat_of_stay - mean_lat[k]) * n / fixes[k]
                mean_lon[k] += (lon_of_stay - mean_lon[k]) * n / fixes[k]
            else:
                first[found], last[found], fixes[found] = anchor, inside, n
                mean_lat[found], mean_lon[found] = lat_of_stay, lon_of_stay
                found += 1
            anchor = inside + 1
            broken_from = broken_to = anchor
    # Copies, so that a few stays do not keep arrays as long as the points alive.
    return (
        first[:found].copy(),
        last[:found].copy(),
        mean_lat[:found].copy(),
        mean_lon[:found].copy(),
        fixes[:found].copy(),
    )


@njit(cache=True, nogil=True)
def gap_stays(starts, time_us, silence_us):
    """(first row, last row) of every stay, as `Gap` describes it."""
    capacity = len(time_us) + 1  # a recording has two fixes or more, and a person one stay more than recordings
    first, last = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    found = 0
    for p in range(len(starts) - 1):
        row, end = starts[p], starts[p + 1]
        of_person = found
        while row < end:
            final = row
            while final + 1 < end and time_us[final + 1] - time_us[final] <= silence_us:
                final += 1
            if final > row:
                if found == of_person:
                    first[found] = row
                    found += 1
                last[found - 1] = row
                first[found] = last[found] = final
                found += 1
            row = final + 1
    return first[:found].copy(), last[:found].copy()
