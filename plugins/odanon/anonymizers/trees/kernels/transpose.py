"""Counting sort: the matrix by destination without comparing keys."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def stable_order(keys, n_keys):
    """Positions that sort small non-negative integers, equal keys in input order."""
    start = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        start[key + 1] += 1
    for key in range(n_keys):
        start[key + 1] += start[key]
    order = np.empty(len(keys), np.int32)
    for position in range(len(keys)):
        key = keys[position]
        order[start[key]] = position
        start[key] += 1
    return order
