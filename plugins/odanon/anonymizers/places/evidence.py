"""What the kernels over tile pairs read: the rows behind every pair, and when a set of pairs may be one flow."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.trees.arrays import Entries, Test


class Evidence(NamedTuple):
    """Rows by tile pair, those of pair p are `start[p]:start[p + 1]`, the tiles (ranks) of every pair, and the test."""

    start: npt.NDArray[np.int64]
    rows: Entries
    by_person: bool
    origin: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int32]
    test: Test
    visited: int  # different tiles in use on either side
