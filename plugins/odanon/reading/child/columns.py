"""Raw columns of a file turned into text, numbers and times, row by row where a row is bad; runs in the child process."""

import re
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odanon.reading.child.dialect import Dialect, plain_numbers
from odanon.reading.child.unpack import RefusedError
from odanon.reading.ids import AS_WRITTEN, Spelling, UnclearIdError, canonical
from odanon.reading.texts import is_number, is_text, utf8

TEXT = pa.dictionary(pa.int32(), pa.large_string())
TIME = pa.timestamp("us", "UTC")
_WALL = pa.timestamp("us")
_TYPES = {
    "text": TEXT,
    "id": TEXT,
    "number": pa.float64(),
    "time": TIME,
    "texts": pa.list_(pa.large_string()),
    "shape": pa.large_binary(),
}
MARKS = {"time": "_unzoned", "id": "_number"}  # whether a time lacks a zone, and whether ids were numbers
_EPOCH_US = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1}
_EXACT = float(1 << 53)
_FEW = 64  # values that tell how a column writes its numbers
_HOUR = 3_600_000_000  # microseconds
_YEAR = 366 * 24 * _HOUR
_USUAL = Dialect()


def schema_of(columns: list[dict[str, Any]]) -> pa.Schema:
    """What the child sends: each column by our name, and the mark of its kind (`MARKS`) beside it."""
    fields = [pa.field(column["name"], _TYPES[column["kind"]]) for column in columns]
    marks = [
        pa.field(column["name"] + MARKS[column["kind"]], pa.bool_()) for column in columns if column["kind"] in MARKS
    ]
    return pa.schema([*fields, *marks])


class Converter:
    """Turns raw batches into batches of one schema."""

    def __init__(
        self,
        columns: list[dict[str, Any]],
        zone: str | None,
        time_format: str,
        spelling: Spelling = AS_WRITTEN,
        dialect: Dialect = _USUAL,
    ) -> None:
        self._columns = columns
        self._spelling = spelling
        self._dialect = dialect
        self._zone = zone
        self._time_format = time_format
        self._schema = schema_of(columns)

    def convert(self, raw: pa.RecordBatch, lost: int, person: str | None) -> pa.RecordBatch:
        """The rows of a batch, then one empty row for each that was lost; `person` fills a column of that name."""
        arrays: dict[str, pa.Array] = {}
        for column in self._columns:
            name = column["name"]
            if person is not None and name == "person":
                self._put(arrays, column, pa.repeat(person, raw.num_rows))
            else:
                self._put(arrays, column, raw.column(column["source"]))
        rows = [arrays[name] if name in arrays else _all_false(raw.num_rows) for name in self._schema.names]
        if lost:
            rows = [_longer(array, lost) for array in rows]
        return pa.RecordBatch.from_arrays(rows, schema=self._schema)

    def _put(self, arrays: dict[str, pa.Array], column: dict[str, Any], values: pa.Array) -> None:
        name, kind = column["name"], column["kind"]
        try:
            if kind == "time":
                arrays[name], arrays[f"{name}_unzoned"] = self._times(values, column["source"])
            elif kind == "id":
                ids = canonical(values, self._spelling)
                arrays[name], arrays[f"{name}_number"] = ids.names, pa.repeat(ids.numbers, len(values))
            elif kind == "number":
                arrays[name] = _coordinates(values, self._dialect)
            else:
                arrays[name] = _CONVERSIONS[kind](values)
        except (pa.ArrowNotImplementedError, TypeError):
            raise RefusedError("bad_type", column["source"]) from None
        except UnclearIdError as unclear:
            raise RefusedError(unclear.code, column["source"]) from None

    def _times(self, values: pa.Array, source: str) -> tuple[pa.Array, pa.Array]:
        """(times in UTC, which of them are wall-clock times that no zone places)."""
        values = _plain(values)
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(values.type):
            stamps, aware = values, values.type.tz is not None
        elif self._time_format in _EPOCH_US:
            stamps, aware = _from_epoch(_numbers(values, self._dialect), _EPOCH_US[self._time_format]), True
        elif not is_text(values.type):
            raise RefusedError("time_unit" if is_number(values.type) else "bad_type", source)
        elif self._time_format != "auto":
            stamps = pc.strptime(utf8(values), format=self._time_format, unit="us", error_is_null=True)
            aware = False
        else:
            return self._iso(utf8(values))
        if aware:
            return stamps.cast(TIME, safe=False), _all_false(len(stamps))
        return self._placed(stamps.cast(pa.timestamp("us"), safe=False))

    def _iso(self, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """ISO 8601 with or without offset; what is neither becomes null.

        The first text tells what to try first: a cast that fails looks at every row all the same, and slowly.
        """
        for kind in (TIME, _WALL) if _has_offset(texts) else (_WALL, TIME):
            try:
                stamps = texts.cast(kind)
            except pa.ArrowInvalid:
                continue
            return self._placed(stamps) if kind == _WALL else (stamps, _all_false(len(texts)))
        read = [_iso_time(text) for text in texts.to_pylist()]
        wall = pa.array([t if t is not None and t.tzinfo is None else None for t in read], _WALL)
        zoned = pa.array([t if t is not None and t.tzinfo is not None else None for t in read], TIME)
        placed, unzoned = self._placed(wall)
        return pc.coalesce(zoned, placed), unzoned

    def _placed(self, wall: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Wall-clock times in the declared zone; those it has twice or never stay unplaced, all without a zone."""
        there = wall.is_valid()
        if self._zone is None:
            return wall.cast(pa.int64()).cast(TIME), there
        offset = _one_offset(wall, self._zone)
        if offset is not None:
            return pc.subtract(wall, offset).cast(pa.int64()).cast(TIME), _all_false(len(wall))
        early, late = (
            pc.assume_timezone(wall, self._zone, ambiguous=side, nonexistent=side).cast(TIME)
            for side in ("earliest", "latest")
        )
        return early, pc.and_(there, pc.fill_null(pc.not_equal(early, late), False))


def _one_offset(wall: pa.Array, zone: str) -> pa.Scalar | None:
    """How far a zone is ahead of UTC at all of these times, None where that changes or a clock shows an hour twice or never.

    The hours from the first to the last are asked instead of every time: no zone has changed twice within an hour.
    """
    first, last = (pc.min_max(wall)[end].cast(pa.int64()).as_py() for end in ("min", "max"))
    if first is None or last - first > _YEAR:
        return None
    hours = pa.array([*range(first, last, _HOUR), last], pa.int64()).cast(_WALL)
    with suppress(pa.ArrowInvalid):
        ahead = pc.subtract(hours, pc.assume_timezone(hours, zone).cast(pa.int64()).cast(_WALL)).unique()
        return ahead[0] if len(ahead) == 1 else None
    return None


def _has_offset(texts: pa.Array) -> bool:
    """Whether the first text that is there ends in Z or an offset."""
    first = pc.first(texts).as_py() or ""
    return re.search(r"(Z|[+-]\d\d(:?\d\d)?)$", first[10:].strip()) is not None


def _iso_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip()) if text else None
    except (ValueError, OverflowError):
        return None


def _from_epoch(numbers: pa.Array, microseconds: int) -> pa.Array:
    scaled = pc.multiply(numbers, float(microseconds))
    usable = pc.fill_null(pc.less(pc.abs(scaled), _EXACT), False)
    return pc.round(pc.if_else(usable, scaled, None)).cast(pa.int64()).cast(TIME)


def _numbers(values: pa.Array, dialect: Dialect) -> pa.Array:
    """Floats; null where a text is no number."""
    values = _plain(values)
    if not is_text(values.type):
        if not is_number(values.type):
            raise TypeError
        return values.cast(pa.float64(), safe=False)
    texts = utf8(values)
    if (
        dialect.decimal == "."
    ):  # most columns are numbers as they stand; a cast that fails looks at every row all the same
        with suppress(pa.ArrowInvalid):
            texts[:_FEW].cast(pa.float64())
            return texts.cast(pa.float64())
    texts = plain_numbers(pc.utf8_trim_whitespace(texts), dialect)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return pa.array([_float(text) for text in texts.to_pylist()], pa.float64())


def _coordinates(values: pa.Array, dialect: Dialect) -> pa.Array:
    """Floats in which -0.0 is 0.0, so that equal places are the same bytes."""
    return pc.add(_numbers(values, dialect), 0.0)


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _texts(values: pa.Array) -> pa.Array:
    """A dictionary of distinct texts; numbers are written out, bytes that are no text are escaped."""
    if pa.types.is_dictionary(values.type):
        names = values.dictionary
        if names.null_count or len(names.unique()) < len(names):
            return _texts(_plain(values))
        return pa.DictionaryArray.from_arrays(values.indices.cast(pa.int32()), _written(names))
    if pa.types.is_nested(values.type):
        raise TypeError
    if is_text(values.type) and not pa.types.is_large_string(values.type):
        values = utf8(values)
    encoded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, _written(encoded.dictionary))


def _written(names: pa.Array) -> pa.Array:
    return (utf8(names) if is_text(names.type) else names).cast(pa.large_string())


def _lists(values: pa.Array) -> pa.Array:
    if not pa.types.is_list(values.type) and not pa.types.is_large_list(values.type):
        raise TypeError
    return values.cast(_TYPES["texts"])


def _shapes(values: pa.Array) -> pa.Array:
    return _plain(values).cast(_TYPES["shape"])


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _all_false(rows: int) -> pa.Array:
    return pa.repeat(False, rows)


def _longer(array: pa.Array, rows: int) -> pa.Array:
    """The array and so many nulls (False in marks)."""
    if pa.types.is_boolean(array.type):
        return pa.concat_arrays([array, _all_false(rows)])
    if pa.types.is_dictionary(array.type):
        indices = pa.concat_arrays([array.indices, pa.nulls(rows, array.type.index_type)])
        return pa.DictionaryArray.from_arrays(indices, array.dictionary)
    return pa.concat_arrays([array, pa.nulls(rows, array.type)])


_CONVERSIONS = {"text": _texts, "texts": _lists, "shape": _shapes}
