"""The matrix that anonymisers take: sparse OD rows of one segment and one time bin, or of a window that is told by times."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
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
_CHUNK = 1 << 18  # rows that are looked at together
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
        lacking = 0 if person is None else int(rows[person].isna().sum())
        if lacking:
            raise OdanonError(f"{lacking} OD rows have no person id; drop or repair them first")
        counts = np.broadcast_to(np.int64(1), len(rows)) if trips is None else _counts(rows[trips])
        if why := not_counts(counts):
            raise OdanonError(f"column {trips!r} {why}")
        if len(counts) and (counts.max() >= MOST_TRIPS or counts.sum(dtype=np.float64) >= _MOST_VOLUME):
            raise OdanonError(
                f"column {trips!r} holds more than two thousand million trips on a row; repair those rows"
            )
        weights = None if weight is None else rows[weight].to_numpy(np.float64)
        if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
            raise OdanonError(f"column {weight!r} holds weights that are negative or no numbers; repair those rows")
        if weights is not None and weights.sum() >= _MOST_WEIGHT:
            raise OdanonError(f"column {weight!r} adds up to more than 4 million million; give weights in larger units")
        matrix = cls._of_keys(
            _ranks(rows[origin], origins),
            _ranks(rows[destination], destinations),
            None if person is None else _sorted_codes(rows[person]),
            None if time is None else _Key(rows[time].to_numpy(np.int32)),
            counts.astype(np.int64, copy=False),
            weights,
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
        return cls._of_keys(
            _Key(np.asarray(origin)),
            _Key(np.asarray(destination)),
            None if person is None else _Key(np.asarray(person)),
            None if time is None else _Key(np.asarray(time)),
            np.asarray(trips),
            None if weight is None else np.asarray(weight),
            times,
        )

    @classmethod
    def _of_keys(
        cls,
        origin: "_Key",
        destination: "_Key",
        person: "_Key | None",
        time: "_Key | None",
        trips: npt.NDArray[np.integer],
        weight: npt.NDArray[np.floating] | None,
        times: Times | None,
    ) -> "ODMatrix":
        keys = [key for key in (person, time, destination, origin) if key is not None]
        if not (keep := trips > 0).all():
            keys = [replace(key, codes=key.codes[keep]) for key in keys]
            trips, weight = trips[keep], None if weight is None else weight[keep]
        found, totals, weights = _summed(keys, trips, weight)
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


def not_counts(numbers: npt.NDArray) -> str:
    """Why numbers cannot say how many trips rows stand for; nothing if they can."""
    if len(numbers) and numbers.min() < 0:
        return "holds negative counts; remove or repair those rows"
    if not np.issubdtype(numbers.dtype, np.integer) and not np.array_equal(numbers, np.floor(numbers)):
        return "holds fractions and trips are whole numbers; round them, or give weights of people as weights, for unit population"
    return ""


def _counts(column: pd.Series) -> npt.NDArray:
    if missing := int(column.isna().sum()):
        raise OdanonError(f"column {column.name!r} lacks {missing} counts; drop or repair those rows")
    if not pd.api.types.is_numeric_dtype(column):  # numbers of any kind, as databases give them
        values = column.astype(object).tolist()
        if not all(isinstance(value, numbers.Real | Decimal) for value in values):
            raise OdanonError(f"column {column.name!r} holds texts; make numbers of them, as with pandas.to_numeric")
        return np.array(values, np.float64)
    return column.to_numpy(column.dtype.type if hasattr(column.dtype, "numpy_dtype") else None)


@dataclass(frozen=True, eq=False)
class _Key:
    """A number on every row: its code or, of categories, what that stands for.

    They are looked up some rows at a time, where they are needed: memory that is touched for the first time costs more than all else here.
    """

    codes: npt.NDArray[np.integer]
    numbers: npt.NDArray[np.integer] | None = None

    def of(self, rows: slice) -> npt.NDArray[np.integer]:
        """The numbers of some rows."""
        return self.codes[rows] if self.numbers is None else self.numbers[self.codes[rows]]

    @property
    def range(self) -> tuple[int, int]:
        """No number is below or above these."""
        every = self.codes if self.numbers is None else self.numbers
        return int(every.min(initial=0)), int(every.max(initial=0))


def _summed(
    keys: list[_Key], trips: npt.NDArray, weights: npt.NDArray | None
) -> tuple[list[npt.NDArray], npt.NDArray, npt.NDArray | None]:
    """The distinct rows of keys in order, the last key first, with the sums of what goes with them."""
    ranges = [key.range for key in keys]
    bits = [most.bit_length() for _, most in ranges]
    if sum(bits) > _ONE_KEY_BITS or min(ranges)[0] < 0:
        found = [key.of(slice(None)) for key in keys]
        order = np.lexsort(found)
        found = [key[order] for key in found]
        starts = np.flatnonzero(_fresh(found))
        found = [key[starts] for key in found]
    elif weights is None and (trips == 1).all():  # a row a trip: nothing has to follow the keys
        joined = _joined(keys, bits)
        joined.sort()
        fresh = _fresh([joined])
        return _apart(joined, fresh, bits), _lengths(fresh), None
    else:  # weights add up in the order of the rows, whatever lies between them
        joined = _joined(keys, bits)
        order = np.argsort(joined, kind=None if weights is None else "stable")
        joined = joined[order]
        fresh = _fresh([joined])
        found, starts = _apart(joined, fresh, bits), np.flatnonzero(fresh)
    return found, _totals(trips[order], starts), None if weights is None else _totals(weights[order], starts)


def _chunks(rows: int) -> list[slice]:
    return [slice(at, at + _CHUNK) for at in range(0, rows, _CHUNK)]


def _joined(keys: list[_Key], bits: list[int]) -> npt.NDArray[np.int64]:
    """One number a row that sorts as the keys do, the last first."""
    joined = np.empty(len(keys[0].codes), np.int64)
    for rows in _chunks(len(joined)):
        part = joined[rows]
        part[:] = keys[-1].of(rows)
        for key, width in zip(keys[-2::-1], bits[-2::-1], strict=True):
            part <<= width
            np.bitwise_or(part, key.of(rows), out=part, dtype=np.int64, casting="unsafe")
    return joined


def _apart(joined: npt.NDArray[np.int64], fresh: npt.NDArray[np.bool_], bits: list[int]) -> list[npt.NDArray]:
    """The keys of those of the joined numbers that are fresh; the first lies where the numbers were, if most of them are."""
    rows, end = int(np.count_nonzero(fresh)), 0
    keys = [np.empty(rows, np.int32 if width < _INT32_BITS else np.int64) for width in bits[1:]]
    keys.insert(0, joined[:rows] if 2 * rows > len(joined) else np.empty(rows, np.int64))
    for chunk in _chunks(len(joined)):
        part = joined[chunk][fresh[chunk]]
        start, end = end, end + len(part)
        for key, width in zip(keys, bits, strict=True):
            key[start:end] = part & ((1 << width) - 1)
            part >>= width
    return keys


def _fresh(keys: list[npt.NDArray]) -> npt.NDArray[np.bool_]:
    """Whether a row differs from the one before."""
    fresh = np.ones(len(keys[0]), dtype=bool)
    fresh[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return fresh


def _lengths(fresh: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """How many rows each fresh one begins."""
    starts = np.flatnonzero(fresh)
    for chunk in _chunks(len(starts)):
        starts[chunk] = np.diff(starts[chunk.start : chunk.stop + 1], append=len(fresh))[: chunk.stop - chunk.start]
    return starts


def _totals(values: npt.NDArray, starts: npt.NDArray[np.int64]) -> npt.NDArray:
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def _sorted_codes(ids: pd.Series) -> _Key:
    """A number for every distinct value, in their order."""
    if isinstance(ids.dtype, pd.CategoricalDtype):
        return _of_categories(ids.array, lambda names: pd.factorize(names, sort=True)[0])
    return _Key(pd.factorize(ids, sort=True)[0])


def _ranks(labels: pd.Series, tree: Hierarchy) -> _Key:
    if isinstance(labels.dtype, pd.CategoricalDtype) and not labels.hasnans:
        return _of_categories(labels.array, lambda names: tree.ranks(names.to_numpy(object)))
    return _Key(tree.ranks(labels.to_numpy()))  # which tells missing ones


def _of_categories(column: pd.Categorical, number: Callable[[pd.Index], npt.NDArray]) -> _Key:
    """The number of every row's category, each asked for once and only if a row has it."""
    names = column.categories
    there = np.zeros(len(names), dtype=bool)
    there[column.codes] = True
    numbers = np.zeros(len(names), np.int64)
    numbers[there] = number(names[there])
    return _Key(column.codes, numbers)
