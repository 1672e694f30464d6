"""The flat arrays that the kernels of ATG-Lattice read and write. Nothing here is compiled."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PUBLISH, SPLIT_ORIGIN, SPLIT_DESTINATION = 0, 1, 2  # what a product node may do

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]


class Row(NamedTuple):
    """Entries of origin nodes: key = tile rank, or rank << PERSON_BITS | person; columns that nobody asks for are empty.

    Entries of different origins are added up, unless visited tiles are counted.
    """

    key: npt.NDArray[np.integer]
    volume: npt.NDArray[np.integer]
    cells: Small  # non-empty tile pairs
    weight: Ints
    origin: Small


class Products(NamedTuple):
    """Product nodes with enough units, row by row: origins children first and, in a row, destinations children first.

    `above_origin` is the same destination in the row of the next origin above, `above_destination` the next
    destination above in the same row; -1 where there is none.
    """

    origin: Small
    destination: Small
    volume: npt.NDArray[np.integer]  # 0: may only be split or suppressed
    cells: Small
    above_origin: Small
    above_destination: Small
