"""Compiled kernels for antenna events; imported only by the method that runs them.

`starts` holds the row at which each person begins and the total at the end, as in `odanon.staypoints.kernels`.
"""

import numpy as np
from numba import njit

from odanon.staypoints.kernels import cosine_at, squared_metres


@njit(cache=True, nogil=True)
def plausible_events(starts, time_us, lat, lon, antenna, oscillation_us, max_speed):
    """Which events are neither within an oscillation nor jumps; `max_speed` is in metres per microsecond."""
    kept = np.ones(len(antenna), np.bool_)
    for p in range(len(starts) - 1):
        before, end = starts[p], starts[p + 1]  # `before` is the last kept event
        row = before + 1
        while row < end:
            back = row
            while back < end and antenna[back] != antenna[before] and time_us[back] - time_us[before] <= oscillation_us:
                back += 1
            returns = back < end and antenna[back] == antenna[before]
            if returns and (back == row or time_us[back] - time_us[before] <= oscillation_us):
                kept[row:back] = False
                row = back
            elif row + 1 < end and _jumps(time_us, lat, lon, before, row, row + 1, max_speed):
                kept[row] = False
                row += 1
                continue
            before = row
            row += 1
    return kept


@njit(cache=True, nogil=True)
def _jumps(time_us, lat, lon, before, row, after, max_speed):
    """Whether the way over `row` cannot be travelled while the direct way from `before` to `after` can."""
    return (
        _faster(time_us, lat, lon, before, row, max_speed) or _faster(time_us, lat, lon, row, after, max_speed)
    ) and not _faster(time_us, lat, lon, before, after, max_speed)


@njit(cache=True, nogil=True)
def _faster(time_us, lat, lon, a, b, max_speed):
    reach = (time_us[b] - time_us[a]) * max_speed
    return squared_metres(lat[a], lon[a], lat[b], lon[b], cosine_at(lat[a])) > reach * reach


@njit(cache=True, nogil=True)
def antenna_visits(starts, time_us, antenna, max_gap_us):
    """(first row, last row, fresh) of every visit: a run of events on one antenna without a long silence.

    A visit is fresh when a long silence precedes it or it is the first of a person.
    """
    first, last = np.empty(len(time_us), np.int64), np.empty(len(time_us), np.int64)
    fresh = np.empty(len(time_us), np.bool_)
    n = 0
    for p in range(len(starts) - 1):
        for row in range(starts[p], starts[p + 1]):
            silent = row == starts[p] or time_us[row] - time_us[row - 1] > max_gap_us
            if silent or antenna[row] != antenna[row - 1]:
                first[n], fresh[n] = row, silent
                n += 1
            last[n - 1] = row
    return first[:n].copy(), last[:n].copy(), fresh[:n].copy()


@njit(cache=True, nogil=True)
def connections(first, last, fresh, time_us):
    """(since, until) when each visit's phone was connected: it changes antennas halfway between two events."""
    since, until = time_us[first], time_us[last]
    for v in range(1, len(first)):
        if not fresh[v]:
            # Halfway is the guess with the smallest largest error; sparse call records would else lose most of their stays.
            since[v] = until[v - 1] = (time_us[last[v - 1]] + time_us[first[v]]) // 2
    return since, until


@njit(cache=True, nogil=True)
def static_sessions(first, since, until, fresh, lat, lon, static_us, radius_m):
    """(first visit, last visit) of every session: static visits in a row on antennas near each other."""
    begin, final = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    n = 0
    for v in range(len(first)):
        if until[v] - since[v] < static_us:
            continue
        if n and final[n - 1] == v - 1 and not fresh[v]:
            a, b = first[v - 1], first[v]
            if squared_metres(lat[a], lon[a], lat[b], lon[b], cosine_at(lat[a])) <= radius_m * radius_m:
                final[n - 1] = v
                continue
        begin[n] = final[n] = v
        n += 1
    return begin[:n].copy(), final[:n].copy()


@njit(cache=True, nogil=True)
def merged_sessions(begin, final, fresh, antenna_of, max_foreign):
    """For every session the number of the stay it belongs to, from 0 on: merging across few foreign antennas."""
    stay = np.empty(len(begin), np.int64)
    members = np.empty(len(antenna_of), np.int64)  # antennas of the stay so far
    m, n = 0, -1
    for s in range(len(begin)):
        joins = m > 0
        foreign = 0
        v = final[s - 1] + 1
        while joins and v <= begin[s]:
            foreign += v < begin[s] and not _among(antenna_of[v], members, m)
            joins = not fresh[v] and foreign <= max_foreign
            v += 1
        shared = False
        for v in range(begin[s], final[s] + 1):
            shared |= _among(antenna_of[v], members, m)
        if not (joins and shared):
            n, m = n + 1, 0
        for v in range(begin[s], final[s] + 1):
            if not _among(antenna_of[v], members, m):
                members[m] = antenna_of[v]
                m += 1
        stay[s] = n
    return stay


@njit(cache=True, nogil=True)
def _among(antenna, members, m):
    i = 0
    while i < m and members[i] != antenna:
        i += 1
    return i < m


@njit(cache=True, nogil=True)
def long_stays(begin, final, stay, first, last, since, until, antenna_of, min_stay_us):
    """(start, end, row of the main antenna, events) of the stays that last long enough.

    The main antenna is the one with the longest connection in all, the earliest of equals; events are those of the sessions.
    """
    n = stay[-1] + 1 if len(stay) else 0
    out = np.empty((4, n), np.int64)
    found = s = 0
    members, connected = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    for k in range(n):
        s0, m, events = s, 0, 0
        while s < len(stay) and stay[s] == k:
            for v in range(begin[s], final[s] + 1):
                i = 0
                while i < m and antenna_of[members[i]] != antenna_of[v]:
                    i += 1
                if i == m:
                    members[m], connected[m] = v, 0
                    m += 1
                connected[i] += until[v] - since[v]
                events += last[v] - first[v] + 1
            s += 1
        start, end = since[begin[s0]], until[final[s - 1]]
        if end - start >= min_stay_us:
            out[0, found], out[1, found], out[3, found] = start, end, events
            out[2, found] = first[members[np.argmax(connected[:m])]]
            found += 1
    return out[:, :found].copy()


@njit(cache=True, nogil=True)
def transit_stays(starts, time_us, lat, lon, antenna, static_us, max_gap_us, max_foreign, radius_m, min_stay_us):
    """(start, end, row of the main antenna, events) of every stay of plausible events, as `Transit` has it."""
    first, last, fresh = antenna_visits(starts, time_us, antenna, max_gap_us)
    since, until = connections(first, last, fresh, time_us)
    antenna_of = antenna[first]
    begin, final = static_sessions(first, since, until, fresh, lat, lon, static_us, radius_m)
    stay = merged_sessions(begin, final, fresh, antenna_of, max_foreign)
    return long_stays(begin, final, stay, first, last, since, until, antenna_of, min_stay_us)
