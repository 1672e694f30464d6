"""Compiled test of speeds; imported only by the function that runs it.

Times are microseconds, positions degrees. `starts` holds the row at which each person begins and the total at the end.
"""

import math

import numpy as np
from numba import njit

# What no traveller does: be more than 50 km away, sooner than an airliner in a tail wind would. Shorter jumps are
# stray fixes or clocks that disagree, which stay detectors deal with.
_FAR_M = 50_000.0
_TOO_FAST_M_PER_US = 1500 / 3.6 / 1e6
_SURELY_NEAR_DEGREES = 0.4  # 0.4 degrees are at most 44.5 km
_EARTH_M = 6371008.8


@njit(cache=True, nogil=True)
def _impossible(a, b, time, lat, lon):
    """Whether nobody gets from fix `a` to the later fix `b`."""
    north, east = lat[b] - lat[a], lon[b] - lon[a]
    if north * north + east * east < _SURELY_NEAR_DEGREES * _SURELY_NEAR_DEGREES:
        return False
    half = math.pi / 360
    h = math.sin(north * half) ** 2 + (
        math.cos(lat[a] * 2 * half) * math.cos(lat[b] * 2 * half) * math.sin(east * half) ** 2
    )
    metres = 2 * _EARTH_M * math.asin(math.sqrt(min(1.0, h)))
    return metres > _FAR_M and metres > _TOO_FAST_M_PER_US * (time[b] - time[a])


@njit(cache=True, nogil=True)
def teleports(starts, time, lat, lon):
    """Which fixes their person cannot have reached from the fix before, nor gone on from to the next one.

    A fix that contradicts the one before is a teleport as well if it is the last, or if the next one agrees with
    the one before. The first fix is one if the next two agree with each other and neither with it. Two fixes that
    agree with each other are kept even if they contradict all before: nobody knows which are right.
    """
    found = np.zeros(len(time), np.bool_)
    for p in range(len(starts) - 1):
        begin, end = starts[p], starts[p + 1]
        before = begin
        for row in range(begin + 1, end):
            if not _impossible(before, row, time, lat, lon):
                before = row
                continue
            after = row + 1
            if (
                before == begin
                and not found[begin]
                and after < end
                and row == begin + 1
                and not _impossible(row, after, time, lat, lon)
                and _impossible(begin, after, time, lat, lon)
            ):
                found[begin] = True
                before = row
            elif (
                after == end
                or _impossible(row, after, time, lat, lon)
                or not _impossible(before, after, time, lat, lon)
            ):
                found[row] = True
            else:
                before = row
    return found
