"""Compiled kernels of the shuffle by person; imported only by the functions that run them."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def deal(person, buckets):
    """Row numbers dealt to `person % buckets`, in reading order within a bucket, and where each bucket starts."""
    start = np.zeros(buckets + 1, np.int64)
    for i in range(len(person)):
        start[person[i] % buckets + 1] += 1
    for b in range(buckets):
        start[b + 1] += start[b]
    at = start[:-1].copy()
    rows = np.empty(len(person), np.int64)
    for i in range(len(person)):
        b = person[i] % buckets
        rows[at[b]] = i
        at[b] += 1
    return rows, start


@njit(cache=True, nogil=True)
def runs_of(person):
    """Where runs of one person start, with the number of rows at the end."""
    count = 1 if len(person) else 0
    for i in range(1, len(person)):
        count += person[i] != person[i - 1]
    runs = np.empty(count + 1, np.int64)
    runs[0], runs[count] = 0, len(person)
    at = 1
    for i in range(1, len(person)):
        if person[i] != person[i - 1]:
            runs[at] = i
            at += 1
    return runs


@njit(cache=True, nogil=True, inline="always")
def _follows(time, lat, lon, antenna, i, j):
    """Does row i come strictly after row j of the same person?"""
    if time[i] != time[j]:
        return time[i] > time[j]
    if lat[i] != lat[j]:
        return lat[i] > lat[j]
    if lon[i] != lon[j]:
        return lon[i] > lon[j]
    return antenna[i] > antenna[j]


@njit(cache=True, nogil=True)
def _sort_person(rows, first, last, time, lat, lon, antenna):
    """Sort rows[first:last], all of one person, by time, place and antenna, in place."""
    ordered = True
    for i in range(first + 1, last):
        if _follows(time, lat, lon, antenna, rows[i - 1], rows[i]):
            ordered = False
            break
    if ordered:
        return
    mine = rows[first:last].copy()
    rows[first:last] = mine[np.argsort(time[mine], kind="mergesort")]
    for i in range(first + 1, last):  # rows of one instant are few: insertion sort
        j = i
        while (
            j > first and time[rows[j - 1]] == time[rows[j]] and _follows(time, lat, lon, antenna, rows[j - 1], rows[j])
        ):
            rows[j - 1], rows[j] = rows[j], rows[j - 1]
            j -= 1


@njit(cache=True, nogil=True)
def collect(runs, order, person, time, lat, lon, antenna):
    """Row numbers by person, time, place and antenna, without repeated rows, and where each person starts in them.

    `order` puts runs of rows so that each person's come together.
    """
    rows = np.empty(len(person), np.int64)
    at = 0
    for r in order:
        for i in range(runs[r], runs[r + 1]):
            rows[at] = i
            at += 1
    starts = np.empty(len(order) + 1, np.int64)
    kept = people = first = 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and person[rows[last]] == person[rows[first]]:
            last += 1
        _sort_person(rows, first, last, time, lat, lon, antenna)
        starts[people] = kept
        people += 1
        for i in range(first, last):
            # Sorted, so a row that does not follow the one before it repeats it.
            if i == first or _follows(time, lat, lon, antenna, rows[i], rows[kept - 1]):
                rows[kept] = rows[i]
                kept += 1
        first = last
    starts[people] = kept
    return rows[:kept], starts[: people + 1]
