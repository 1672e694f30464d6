"""Whether groups of tile pairs keep a promise, counted from the rows."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection


def publishable(
    od: ODMatrix, group: npt.NDArray[np.int64], n_groups: int, promise: Protection
) -> npt.NDArray[np.bool_]:
    """For every group, whether its people, weight and shares suffice; `group` numbers the pairs (-1 = in none)."""
    if promise.unit == "trips":
        inside = group >= 0
        return np.bincount(group[inside], od.pairs.trips[inside], n_groups) >= promise.k
    assert od.person is not None  # other units are refused without ids
    row_group = group[od.row_pair]
    inside = row_group >= 0
    row_group = row_group[inside]
    n_people = int(od.person.max(initial=0)) + 1
    code, seen = pd.factorize(row_group * n_people + od.person[inside])
    good = np.bincount(seen // n_people, minlength=n_groups) >= promise.k
    if promise.k_population is not None and od.weight is not None:
        good &= np.bincount(row_group, od.weight[inside], n_groups) >= promise.k_population
    if promise.max_dominance is not None:
        trips = np.bincount(code, od.trips[inside], len(seen))
        trips = np.minimum(trips, promise.contribution_cap or np.inf)
        largest = np.zeros(n_groups)
        np.maximum.at(largest, seen // n_people, trips)
        good &= largest <= promise.max_dominance * np.bincount(seen // n_people, trips, n_groups)
    return good
