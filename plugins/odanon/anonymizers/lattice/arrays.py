"""The flat arrays that the kernels of ATG-Lattice read and write. Nothing here is compiled."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PUBLISH, SPLIT_ORIGIN, SPLIT_DESTINATION, SPLIT_TIME = 0, 1, 2, 3  # what a product node may do

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]


class Row(NamedTuple):
    """Entries of origin nodes: key = tile rank, or rank << PERSON_BITS | person; columns that nobody asks for are empty.

    Entries of different origins are added up, unless visited tiles are counted.
    """

    key: npt.NDArray[np.integer]
    volume: npt.NDArray[np.integer]
    cells: Small  # non-empty tile pairs, as in Products
    weight: Ints
    origin: Small


class Products(NamedTuple):
    """Product nodes with enough units, slice by slice and row by row, all children first.

    A slice is an interval of time, of which a matrix without times has one; a row is an origin in it. `above_origin` is the same
    destination in the row of the next origin above, `above_destination` the next destination above in the same row; -1
    where there is none.
    """

    origin: Small
    destination: Small
    volume: npt.NDArray[np.integer]  # 0: may only be split or suppressed
    cells: Small  # non-empty tile pairs, times the length of the bins that they are in
    above_origin: Small
    above_destination: Small


class Cells(NamedTuple):
    """The trips of every tile pair, and of every bin where there are times; pairs of origin rank o are start[o]:start[o + 1]."""

    start: Ints
    destination: Small
    time: Small
    trips: Ints
    length: Ints  # by bin


class Axis(NamedTuple):
    """A tree as the kernels of costs and walks need it: the size of every node, and its first and end rank."""

    size: Ints
    first: Small
    end: Small


class Rows(NamedTuple):
    """Where to find a product node: rows of slice s are start[s]:start[s + 1], by origin, and row r is first[r]:end[r]."""

    start: Ints
    origin: Small
    first: Ints
    end: Ints
    above: Ints  # by slice: the one directly above it, itself at the top
    slice: Small  # by row
