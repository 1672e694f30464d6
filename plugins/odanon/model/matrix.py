"""The matrix that anonymisers take: sparse OD rows of one segment and one time bin, or of a window that is told by times."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.window import Times

WEIGHT_UNIT = (
    2**20
)  # weights count in such parts, rounded down: sums are exact in any order and promise nothing too much
MOST_TRIPS = 2**31  # of one row
_MOST_VOLUME = 2**53  # of all rows together: whole numbers that every reader counts exactly
_ONE_KEY_BITS, _INT32_BITS = 62, 32
_MOST_WEIGHT = 2.0**42  # of all rows together; sums of units fit in 64 bits


@dataclass(frozen=True, eq=False)
class ODMatrix:
    """Rows sorted by (origin, destination, person), one row per combination.

    `origin` and `destination` are tile ranks of their hierarchies. `person` holds dense codes of people (or
    vehicles) and is None when the input has no ids; then only trips can be counted. `ground` tells metrics where
    the tiles lie. The matrix of a whole window has a `time` as well, the number of its bin on every row, and in `times` the
    tree over these bins (ALGORITHMS, Time as a third tree); a pair is then two tiles and a bin, and rows are sorted by
    (origin, destination, time, person).
    """

    origin: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int32]
    trips: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64] | None = None
    weight: npt.NDArray[np.float64] | None = None
    ground: Ground | None = None
    time: npt.NDArray[np.int32] | None = None
    times: Times | None = None

    @classmethod
    def from_frame(
        cls,
        rows: pd.DataFrame,
        origins: Hierarchy,
        destinations: Hierarchy,
        *,
        origin: str = "origin",
        destination: str = "destination",
        trips: str | None = "trips",
        person: str | None = "person",
        weight: str | None = None,
        time: str | None = None,
        times: Times | None = None,
    ) -> "ODMatrix":
        """Read a frame of tile labels, in any row order; rows of one (pair, person) are summed.

        A missing `trips` or `person` column name (None) means one trip a row, or no ids. `time` names the column with the number
        of each row's bin among `times`.
        """
        ids = None if person is None else _sorted_codes(rows[person])
        if ids is not None and (ids < 0).any():
            raise OdanonError(f"{int((ids < 0).sum())} OD rows have no person id; drop or repair them first")
        counts = np.ones(len(rows), np.int64) if trips is None else rows[trips].to_numpy()
        if not np.issubdtype(counts.dtype, np.integer) and not np.array_equal(counts, np.floor(counts)):
            raise OdanonError(f"column {trips!r} holds fractions; trips are whole numbers (weights go in weight)")
        if len(counts) and counts.min() < 0:
            raise OdanonError(f"column {trips!r} holds negative counts; remove or repair those rows")
        if len(counts) and (counts.max() >= MOST_TRIPS or counts.sum(dtype=np.float64) >= _MOST_VOLUME):
            raise OdanonError(
                f"column {trips!r} holds more than two thousand million trips on a row; repair those rows"
            )
        weights = None if weight is None else rows[weight].to_numpy(np.float64)
        if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
            raise OdanonError(f"column {weight!r} holds weights that are negative or no numbers; repair those rows")
        if weights is not None and weights.sum() >= _MOST_WEIGHT:
            raise OdanonError(f"column {weight!r} adds up to more than 4 million million; give weights in larger units")
        matrix = cls.from_arrays(
            _ranks(rows[origin], origins),
            _ranks(rows[destination], destinations),
            counts.astype(np.int64, copy=False),
            ids,
            weights,
            None if time is None else rows[time].to_numpy(np.int32),
            times,
        )
        return replace(matrix, ground=Ground.of(origins, destinations))

    @classmethod
    def from_arrays(
        cls,
        origin: npt.NDArray[np.integer],
        destination: npt.NDArray[np.integer],
        trips: npt.NDArray[np.integer],
        person: npt.NDArray[np.integer] | None = None,
        weight: npt.NDArray[np.floating] | None = None,
        time: npt.NDArray[np.integer] | None = None,
        times: Times | None = None,
    ) -> "ODMatrix":
        """Sort, sum duplicates and drop empty rows."""
        trips = np.asarray(trips)
        keep = slice(None) if (trips > 0).all() else trips > 0
        keys = [np.asarray(a)[keep] for a in (person, time, destination, origin) if a is not None]
        found, totals, weights = _summed(keys, trips[keep], None if weight is None else np.asarray(weight)[keep])
        return cls(
            origin=found[-1].astype(np.int32, copy=False),
            destination=found[-2].astype(np.int32, copy=False),
            trips=totals.astype(np.int64, copy=False),
            person=None if person is None else found[0].astype(np.int64, copy=False),
            weight=None if weights is None else weights.astype(np.float64, copy=False),
            time=None if time is None else found[-3].astype(np.int32, copy=False),
            times=times,
        )

    @cached_property
    def pair_start(self) -> npt.NDArray[np.int64]:
        """The first row of each distinct pair: two tiles and, in the matrix of a window, a bin."""
        fresh = np.ones(len(self.trips), dtype=bool)
        fresh[1:] = (np.diff(self.origin) != 0) | (np.diff(self.destination) != 0)
        if self.time is not None:
            fresh[1:] |= np.diff(self.time) != 0
        return np.flatnonzero(fresh)

    @cached_property
    def visited(self) -> tuple[int, int]:
        """In how many different tiles trips start, and end."""
        return len(np.unique(self.origin)), len(np.unique(self.destination))

    @cached_property
    def pairs(self) -> "ODMatrix":
        """The matrix with people summed away: one row per pair."""
        if self.person is None:
            return self
        starts = self.pair_start
        return ODMatrix(
            origin=self.origin[starts],
            destination=self.destination[starts],
            trips=np.add.reduceat(self.trips, starts) if len(starts) else self.trips,
            weight=None
            if self.weight is None
            else (np.add.reduceat(self.weight, starts) if len(starts) else self.weight),
            time=None if self.time is None else self.time[starts],
            times=self.times,
        )

    @cached_property
    def row_pair(self) -> npt.NDArray[np.int64]:
        """The pair number of every row."""
        lengths = np.diff(np.append(self.pair_start, len(self.trips)))
        return np.repeat(np.arange(len(self.pair_start)), lengths)

    @cached_property
    def weight_units(self) -> npt.NDArray[np.int64]:
        """The weight of every row in whole units; empty without weights."""
        return np.floor((self.weight if self.weight is not None else np.empty(0)) * WEIGHT_UNIT).astype(np.int64)

    @cached_property
    def n_people(self) -> int | None:
        """Distinct people in the matrix, None without ids."""
        return None if self.person is None else len(pd.unique(self.person))

    def during(self, first: int, end: int) -> "ODMatrix":
        """The rows of the bins first:end, without their times."""
        assert self.time is not None
        mine = np.flatnonzero((self.time >= first) & (self.time < end))
        person = None if self.person is None else self.person[mine]
        weight = None if self.weight is None else self.weight[mine]
        return ODMatrix.from_arrays(self.origin[mine], self.destination[mine], self.trips[mine], person, weight)

    @property
    def volume(self) -> int:
        """V, all trips of the matrix."""
        return int(self.trips.sum())


def _summed(
    keys: list[npt.NDArray], trips: npt.NDArray, weights: npt.NDArray | None
) -> tuple[list[npt.NDArray], npt.NDArray, npt.NDArray | None]:
    """The distinct rows of keys in order, the last key first, with the sums of what goes with them."""
    bits = [int(key.max(initial=0)).bit_length() for key in keys]
    joined = _joined(keys, bits)
    if joined is None:
        order = np.lexsort(keys)
        keys = [key[order] for key in keys]
        starts = _starts(keys)
        found = [key[starts] for key in keys]
    elif weights is None and (trips == 1).all():  # a row a trip: nothing has to follow the keys
        joined.sort()
        starts = _starts([joined])
        return _apart(joined[starts], bits), np.diff(np.append(starts, len(joined))), None
    else:  # weights add up in the order of the rows, whatever lies between them
        order = np.argsort(joined, kind=None if weights is None else "stable")
        joined = joined[order]
        starts = _starts([joined])
        found = _apart(joined[starts], bits)
    return found, _totals(trips[order], starts), None if weights is None else _totals(weights[order], starts)


def _joined(keys: list[npt.NDArray], bits: list[int]) -> npt.NDArray[np.int64] | None:
    """One number a row that sorts as the keys do, the last first; None where it does not fit."""
    if sum(bits) > _ONE_KEY_BITS or any(key.min(initial=0) < 0 for key in keys):
        return None
    joined = np.zeros(len(keys[0]), np.int64)
    for key, width in zip(reversed(keys), reversed(bits), strict=True):
        joined <<= width
        np.bitwise_or(joined, key, out=joined, dtype=np.int64, casting="unsafe")
    return joined


def _apart(joined: npt.NDArray[np.int64], bits: list[int]) -> list[npt.NDArray]:
    """The keys of joined numbers, which are used up: memory that is touched for the first time costs more than all else here."""
    keys, part = [], np.empty_like(joined)
    for width in bits:
        np.bitwise_and(joined, (1 << width) - 1, out=part)
        keys.append(part.astype(np.int32 if width < _INT32_BITS else np.int64))
        joined >>= width
    return keys


def _starts(keys: list[npt.NDArray]) -> npt.NDArray[np.int64]:
    """Where a row differs from the one before."""
    fresh = np.ones(len(keys[0]), dtype=bool)
    fresh[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.flatnonzero(fresh)


def _totals(values: npt.NDArray, starts: npt.NDArray[np.int64]) -> npt.NDArray:
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def _sorted_codes(ids: pd.Series) -> npt.NDArray[np.int64]:
    """A number for every distinct value, in their order; -1 where there is none."""
    if isinstance(ids.dtype, pd.CategoricalDtype):
        return _of_categories(ids, lambda names: pd.factorize(pd.Series(names), sort=True)[0])
    return pd.factorize(ids, sort=True)[0].astype(np.int64)


def _ranks(labels: pd.Series, tree: Hierarchy) -> npt.NDArray[np.integer]:
    if isinstance(labels.dtype, pd.CategoricalDtype) and not labels.hasnans:
        return _of_categories(labels, tree.ranks)
    return tree.ranks(labels.to_numpy())  # which tells missing ones


def _of_categories(column: pd.Series, number: Callable[[npt.NDArray], npt.NDArray]) -> npt.NDArray[np.int64]:
    """The number of every row's category, each asked for once and only if a row has it; -1 where there is none."""
    codes, names = column.cat.codes.to_numpy(), column.cat.categories.to_numpy(object)
    there = np.zeros(len(names) + 1, dtype=bool)
    there[codes] = True  # of -1 the last
    there[-1] = False
    numbers = np.full(len(there), -1, np.int64)
    numbers[there] = number(names[there[:-1]])
    return numbers[codes]
