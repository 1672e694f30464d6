"""The wanted columns of a table and nothing else, read by the process with little memory: labels as categories, numbers, instants."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.reading.batches import Column, Job, read
from odanon.reading.child.columns import MARKS, schema_of
from odanon.tables.look import Seen

IntArray = npt.NDArray[np.int32]
Progress = Callable[[int, int], None]  # rows so far, and about how many there are
_MOST_PARTS = 8  # processes that read one file
_FLOATS = r"^-?\d+\.0$"
_MORE_ROWS = 1.25  # than the beginning of a file lets expect
_NONE = np.array([-1], np.int32)


@dataclass(frozen=True)
class Clock:
    """How instants are written, and whose clock shows those without an offset."""

    format: str = "auto"
    zone: str = "UTC"


def read_columns(seen: Seen, wanted: Sequence[Column], clock: Clock, progress: Progress | None = None) -> pd.DataFrame:
    """The columns under our names, in the order of the rows; missing where there is no usable value.

    The marks beside ids and times (`odanon.reading.batches.Column`) come with them.
    """
    names, firsts = list(seen.names), dict[str, int]()
    for at, name in enumerate(names):  # a name that two columns have is none of the wanted ones
        names[at] = name if firsts.setdefault(name, at) == at else f"{name}\0{at}"
    told = replace(seen.dialect, names=None if seen.dialect.names is None else names)
    job = Job([str(seen.path)], "file", list(wanted), clock.zone, clock.format, told)
    try:
        columns = _read_parts(seen, job, progress)
    except OdanonError as error:
        raise OdanonError(f"{seen.path}: {error}") from None
    if not next(iter(columns.values())).rows:
        raise OdanonError(f"{seen.path} has no rows; give a table of trips or flows")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        series = pool.map(_Growing.series, columns.values())
        return pd.DataFrame(dict(zip(columns, series, strict=True)), copy=False)


def _read_parts(seen: Seen, job: Job, progress: Progress | None) -> dict[str, "_Growing"]:
    """All rows in their order; large files are read in parts at the same time."""
    spans = seen.parts(min(os.cpu_count() or 1, _MOST_PARTS))
    expected = max(0, min(seen.rows, seen.path.stat().st_size))  # a file may say what it likes
    room = int(expected / len(spans) * _MORE_ROWS) + 1
    columns = {kind.name: _Growing(kind.type, len(spans), room) for kind in schema_of([*map(asdict, job.columns)])}
    done, counting = 0, threading.Lock()

    def told(rows: int) -> None:
        nonlocal done
        with counting:
            done += rows
            if progress is not None:
                progress(done, max(done, seen.rows))

    def read_part(part: int) -> None:
        span = spans[part] if len(spans) > 1 else None
        skip = 0 if part else job.dialect.skip  # the header is in the first part
        for batch in read(replace(job, span=span, dialect=replace(job.dialect, skip=skip)), own=True):
            for name, column in columns.items():
                column.add(part, batch.column(name))
            told(batch.num_rows)
        for column in columns.values():
            column.join(part)

    with ThreadPoolExecutor(len(spans)) as pool:
        list(pool.map(read_part, range(len(spans))))
    return columns


class _Growing:
    """A column while it is read, part by part: numbers, instants, or texts as places in the dictionaries of batches.

    It is written where it stays: memory that is touched for the first time costs more than all that is done there, and what is
    only asked for, as the room of a part is, costs nothing.
    """

    def __init__(self, kind: pa.DataType, parts: int, room: int) -> None:
        self._kind, self._room = kind, room
        self._values = np.empty(parts * room, _numbers(kind))
        self._written = [0] * parts
        self._beyond: list[list[npt.NDArray]] = [[] for _ in range(parts)]  # what a part has more than was expected
        self._lengths: list[list[int]] = [[] for _ in range(parts)]  # of batches of texts
        self._dictionaries: list[list[pa.Array]] = [[] for _ in range(parts)]
        self._joined: list[tuple[pa.Array, list[IntArray]]] = [(pa.nulls(0, pa.large_string()), [])] * parts

    @property
    def rows(self) -> int:
        return sum(self._written) + sum(len(values) for more in self._beyond for values in more)

    def add(self, part: int, column: pa.Array) -> None:
        """The next rows of a part."""
        if pa.types.is_dictionary(self._kind):
            self._lengths[part].append(len(column))
            self._dictionaries[part].append(column.dictionary)
            column = _places(column.indices)
        elif pa.types.is_timestamp(self._kind):
            column = column.view(pa.int64())
            column = column.fill_null(pd.NaT.value) if column.null_count else column
        start = self._written[part]
        if start + len(column) > self._room or self._beyond[part]:
            self._beyond[part].append(column.to_numpy(zero_copy_only=False))
        else:
            self._values[part * self._room + start :][: len(column)] = column.to_numpy(zero_copy_only=False)
            self._written[part] += len(column)

    def join(self, part: int) -> None:
        """Make one of the dictionaries of a part, now that it has all its rows."""
        self._joined[part] = _together(self._dictionaries[part])
        self._dictionaries[part].clear()

    def series(self) -> pd.Series:
        values = self._whole()
        if pa.types.is_dictionary(self._kind):
            return self._labels(values)
        if pa.types.is_timestamp(self._kind):
            utc = pd.DatetimeTZDtype("us", "UTC")
            return pd.Series(pd.DatetimeIndex(values, dtype=utc, copy=False), copy=False)
        return pd.Series(values, copy=False)

    def _whole(self) -> npt.NDArray:
        """The rows of all parts, one part behind the other."""
        written = [self._values[part * self._room :][:rows] for part, rows in enumerate(self._written)]
        if any(self._beyond):
            return np.concatenate(
                [each for first, more in zip(written, self._beyond, strict=True) for each in (first, *more)]
            )
        end = 0
        for each in written:
            start, end = end, end + len(each)
            self._values[start:end] = each
        return self._values[:end]

    def _labels(self, places: IntArray) -> pd.Series:
        """Texts as categories, given the place of every row in the dictionary of its batch."""
        names, of_part = _together([names for names, _ in self._joined])
        end = 0
        for lengths, (_, of_batch), number in zip(self._lengths, self._joined, of_part, strict=True):
            for rows, own in zip(lengths, of_batch, strict=True):
                start, end = end, end + rows
                places[start:end] = np.append(number[own], _NONE)[places[start:end]]
        return pd.Series(pd.Categorical.from_codes(places, pd.Index(names.to_pandas()), validate=False), copy=False)


def _numbers(kind: pa.DataType) -> npt.DTypeLike:
    """What a column is written as while it grows."""
    if pa.types.is_dictionary(kind):
        return np.int32
    return np.int64 if pa.types.is_timestamp(kind) else kind.to_pandas_dtype()


def _places(indices: pa.Array) -> pa.Array:
    """Places in a dictionary, -1 where there is no value."""
    return indices.fill_null(-1) if indices.null_count else indices


def _together(dictionaries: list[pa.Array]) -> tuple[pa.Array, list[IntArray]]:
    """The distinct entries of some dictionaries, and for every entry of each its place among them."""
    if not dictionaries:
        return pa.nulls(0, pa.large_string()), []
    encoded = pa.chunked_array(dictionaries, pa.large_string()).dictionary_encode()  # without empty ones
    names = encoded.chunk(0).dictionary if encoded.num_chunks else pa.nulls(0, pa.large_string())
    places = [_NONE[:0], *(_places(chunk.indices).to_numpy() for chunk in encoded.chunks)]
    return names, np.split(np.concatenate(places), np.cumsum([len(own) for own in dictionaries])[:-1])


def mark(column: Column) -> str:
    """The name of the mark beside a column of ids or times."""
    return column.name + MARKS[column.kind]


def whole_labels(labels: pd.Series) -> pd.Series:
    """Labels without blanks around them; those that a program wrote as floats, since some were missing, as the whole numbers that they are."""
    written = pa.array(labels.cat.categories.array, pa.large_string())
    names = pc.utf8_trim_whitespace(written)
    if len(names) and pc.all(pc.match_substring_regex(names, _FLOATS)).as_py():
        names = pc.replace_substring_regex(names, r"\.0$", "")
    return labels if names.equals(written) else called(labels, names.to_pandas().replace("", None))


def called(labels: pd.Series, names: Sequence[str] | pd.Series) -> pd.Series:
    """Categories under other names, of which several may have the same."""
    number, distinct = pd.factorize(pd.Series(names))
    codes = np.append(number, -1)[labels.cat.codes.to_numpy()]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(distinct)), labels.index)


def share_of(rows: pd.DataFrame, chosen: pd.Series) -> str:
    """How many rows some are, and how many trips if a row is several."""
    told = f"{int(chosen.sum()):,} of {len(rows):,} rows"
    if "count" not in rows:
        return told
    return f"{told} with {rows['count'][chosen].sum():,.0f} of {rows['count'].sum():,.0f} trips"


def categories(labels: ObjectArray) -> pd.Series:
    """An array of labels, None where there is none, as categories."""
    codes, names = pd.factorize(labels)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names, dtype="str")))
