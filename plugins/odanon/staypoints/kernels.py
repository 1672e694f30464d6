"""Compiled kernels for GPS fixes; imported only by the method that runs them.

All work on the fixes of many people at once: `starts` holds the row at which each person begins and the total at
the end; within a person rows are in time order. Times are microseconds, positions degrees.
"""

import math

import numpy as np
from numba import njit

_METRES_PER_DEGREE = 6371008.8 * math.pi / 180


@njit(cache=True, nogil=True, inline="always")
def squared_metres(lat_a, lon_a, lat_b, lon_b, cos_lat):
    """Squared distance on the plane tangent near `a`: within a metre of the sphere's up to several kilometres."""
    dx = (lon_b - lon_a) * cos_lat
    dy = lat_b - lat_a
    return (dx * dx + dy * dy) * (_METRES_PER_DEGREE * _METRES_PER_DEGREE)


@njit(cache=True, nogil=True)
def dwell_stays(starts, time_us, lat, lon, radius_m, min_stay_us, max_gap_us, max_outliers, merge_gap_us):
    """(first row, last row, mean lat, mean lon, fixes) of every stay, as `Dwell` describes it."""
    capacity = len(time_us)
    first, last, fixes = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    sum_lat, sum_lon = np.empty(capacity, np.float64), np.empty(capacity, np.float64)
    found = 0
    limit = radius_m * radius_m
    for p in range(len(starts) - 1):
        anchor, end = starts[p], starts[p + 1]
        of_person = found
        step = np.nan  # latitude of `cos_lat` in hundredths of a degree: a cosine is dear and this is exact to 2 cm
        cos_lat = 1.0
        # The fixes that ended the last failed window: an anchor that finds them outside as well fails likewise,
        # so it need not walk the window again.
        broken_from = broken_to = anchor
        while anchor < end:
            a_lat, a_lon = lat[anchor], lon[anchor]
            if math.floor(a_lat * 100) != step:
                step = math.floor(a_lat * 100)
                cos_lat = math.cos((step + 0.5) / 100 * math.pi / 180)
            if anchor < broken_from:
                row = broken_from
                while row < broken_to and squared_metres(a_lat, a_lon, lat[row], lon[row], cos_lat) > limit:
                    row += 1
                if row == broken_to:
                    anchor += 1
                    continue
            inside, n, s_lat, s_lon = anchor, 1, a_lat, a_lon
            outside, reach = 0, anchor + 1
            while reach < end and time_us[reach] - time_us[reach - 1] <= max_gap_us:
                if squared_metres(a_lat, a_lon, lat[reach], lon[reach], cos_lat) <= limit:
                    if time_us[reach] - time_us[inside] > max_gap_us:
                        break
                    inside, outside, n = reach, 0, n + 1
                    s_lat += lat[reach]
                    s_lon += lon[reach]
                else:
                    outside += 1
                    if outside > max_outliers:
                        break
                reach += 1
            if time_us[inside] - time_us[anchor] < min_stay_us:
                if outside > max_outliers:
                    broken_from, broken_to = inside + 1, reach + 1
                # Ended by silence or by the last fix: nobody can dwell between here and there.
                elif time_us[reach - 1] - time_us[anchor] < min_stay_us:
                    anchor = reach - 1
                anchor += 1
                continue
            previous = found - 1
            if (
                found > of_person
                and time_us[anchor] - time_us[last[previous]] <= merge_gap_us
                and squared_metres(
                    sum_lat[previous] / fixes[previous], sum_lon[previous] / fixes[previous], s_lat / n, s_lon / n, cos_lat
                )
                <= limit
            ):
                last[previous] = inside
                fixes[previous] += n
                sum_lat[previous] += s_lat
                sum_lon[previous] += s_lon
            else:
                first[found], last[found], fixes[found] = anchor, inside, n
                sum_lat[found], sum_lon[found] = s_lat, s_lon
                found += 1
            anchor = inside + 1
            broken_from = broken_to = anchor
    fixes = fixes[:found].copy()
    return first[:found].copy(), last[:found].copy(), sum_lat[:found] / fixes, sum_lon[:found] / fixes, fixes
