"""Whether groups of tile pairs keep a promise, counted from the rows."""

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.trees import kernels
from odanon.anonymizers.trees.arrays import (
    PERSON_BITS,
    Entries,
    Marks,
    Test,
    fixed_weights,
    number_of_people,
    origins_of,
)
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise


def publishable(od: ODMatrix, group: npt.NDArray[np.int64], n_groups: int, promise: Promise) -> npt.NDArray[np.bool_]:
    """For every group, whether its people, weight and shares suffice; `group` numbers the pairs (-1 = in none)."""
    by_person = promise.unit != "trips"
    rows, of_row = (od, group[od.row_pair]) if by_person else (od.pairs, group)
    key, shift = rows.destination.astype(np.int64), 0
    if by_person and rows.person is not None:
        key, shift = key << PERSON_BITS | rows.person, PERSON_BITS
    entries = Entries(key, rows.trips, fixed_weights(rows, promise), origins_of(rows, promise))
    tiles = (int(side.max(initial=-1)) + 1 for side in (rows.origin, rows.destination))
    marks = Marks.of(number_of_people(rows) if by_person else 0, *tiles)
    return kernels.groups_kept(entries, of_row, n_groups, shift, Test.of(promise), marks)
