"""A first look at a table: how it is written, its columns, and what its first rows hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from itertools import pairwise
from math import isfinite
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.reading.child.dialect import Dialect, plain_numbers
from odanon.reading.files import listed
from odanon.tables.dialects import Told, csv_text, told_dialect

PARQUET = (".parquet", ".pq")
_SAMPLE_ROWS = 1000
_PART_BYTES = 32 << 20  # the least that is worth a process
_MISTAKEN = (".xlsx", ".xls", ".ods", ".json", ".geojson", ".gpkg", ".shp", ".zip", ".dbf", ".sav", ".jsonl", ".ndjson")
_SPANS = {"epoch_s": (6e8, 4.2e9), "epoch_ms": (6e11, 4.2e12), "epoch_us": (6e14, 4.2e15)}  # from 1989 to 2103
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s?(Z|[+-]\d\d(:?\d\d)?)?)?")
_ZONED = re.compile(r".*\d\d:\d\d.*(Z|[+-]\d\d(:?\d\d)?)")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_CLOCKS = (" %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", "")
_NO_VALUE = frozenset(pyarrow.csv.ConvertOptions().null_values)  # texts that the reader takes for a missing value


@dataclass(frozen=True)
class Seen:
    """What the first rows of a table show: `sample` has the texts of every column, missing ones left out."""

    path: Path
    names: tuple[str, ...]
    sample: dict[str, list[str]]
    rows: int  # about so many in all
    dialect: Dialect
    unclear: bool = False  # whether 1.234 may be 1234 as well, for all that the sample shows
    notes: tuple[str, ...] = ()  # what somebody should know who did not write the file
    splits: bool = False  # whether a CSV file can be read in parts

    def find(self, name: str, option: str = "") -> str:
        """A column by its name; a stranger gets the nearest one, and a name that two columns have is refused."""
        if self.names.count(name) == 1:
            return name
        if name in self.names:
            raise OdanonError(f"{self.path} has {self.names.count(name)} columns {name!r}; give each its own name")
        near = get_close_matches(name.casefold(), [each.casefold() for each in self.names], 1)
        meant = next((f" (did you mean {each!r}?)" for each in self.names if near and each.casefold() == near[0]), "")
        raise OdanonError(
            f"{self.path} has no column {name!r}{meant}; it has {self.listed}"
            + (f"; name one with {option}" if option else "")
        )

    def parts(self, most: int) -> list[tuple[int, int]]:
        """The bytes of so many parts of about equal size, whole lines each; one part if the file is small or cannot be split."""
        size = self.path.stat().st_size
        edges = [0]
        if self.splits:
            with self.path.open("rb") as file:
                parts = min(most, size // _PART_BYTES)
                for at in range(1, parts):
                    file.seek(size * at // parts)
                    file.readline()
                    edges.append(max(edges[-1], file.tell()))
        return list(pairwise([*edges, size]))

    @property
    def is_text(self) -> bool:
        """Whether this is a CSV file, in which everything is text."""
        return self.dialect.names is not None

    @property
    def listed(self) -> str:
        """The columns for a sentence."""
        return listed(self.names)

    def numbers(self, name: str) -> list[float] | None:
        """The sample of a column, if all of it are numbers; those that are none, such as NAN, are left out."""
        texts = plain_numbers(pa.array([text.strip() for text in self.sample[name]], pa.string()), self.dialect)
        try:
            found = texts.cast(pa.float64()).to_pylist()
        except pa.ArrowInvalid:
            return None
        if not found or None in found:
            return None
        return [number for number in found if isfinite(number)] or None

    def time_formats(self, name: str) -> list[str]:
        """How a column may write instants, as sources name it; nothing if it has none."""
        texts = [text.strip() for text in self.sample[name]]
        if not texts:
            return []
        if all(_ISO.fullmatch(text) for text in texts):
            return ["auto"]
        if (numbers := self.numbers(name)) is not None:
            return [kind for kind, (low, high) in _SPANS.items() if all(low < n < high for n in numbers)]
        return [day + clock for clock in _CLOCKS for day in _DAYS if all(_fits(text, day + clock) for text in texts)]

    def time_format(self, name: str) -> str | None:
        """How a column writes instants; None if it has none. Days before months must be told from months before days."""
        fitting = self.time_formats(name)
        if len(fitting) > 1:
            raise OdanonError(
                f"{self.path}: the dates in {name!r} may begin with the day or with the month; say which with"
                f" --csv-set 'time={fitting[0]}' or --csv-set 'time={fitting[1]}'"
            )
        return fitting[0] if fitting else None

    def has_clock(self, name: str) -> bool:
        """Whether times have more than a day."""
        return self.numbers(name) is not None or any(":" in text for text in self.sample[name])

    def zoned(self, name: str) -> bool:
        """Whether all times say their offset."""
        return self.numbers(name) is not None or all(_ZONED.fullmatch(text.strip()) for text in self.sample[name])


def look(path: Path, told: Told | None = None) -> Seen:
    """The first rows of a Parquet or CSV table, and how it is written unless that was told."""
    if not path.exists():
        raise OdanonError(f"{path} does not exist; give the path of a Parquet or CSV table")
    if path.is_dir():
        raise OdanonError(f"{path} is a folder; give one Parquet or CSV table")
    if path.suffix.lower() in _MISTAKEN:
        raise OdanonError(f"{path} is no table that can be read here; save it as CSV or Parquet first")
    if path.stat().st_size == 0:
        raise OdanonError(f"{path} is empty; give a table of trips or flows")
    seen = _parquet(path) if path.suffix.lower() in PARQUET else _csv(path, told or Told())
    if not seen.rows:
        raise OdanonError(f"{path} has no rows; give a table of trips or flows")
    return seen


def _parquet(path: Path) -> Seen:
    try:
        file = pq.ParquetFile(path)
        names = tuple(file.schema_arrow.names)
        head = next(file.iter_batches(_SAMPLE_ROWS), None)
    except (OSError, pa.ArrowException):
        raise OdanonError(f"{path} cannot be read as a table; give a Parquet or CSV file") from None
    columns = [] if head is None else head.columns
    sample = {name: _texts(column) for name, column in zip(names, columns, strict=False)}
    return Seen(path, names, sample, file.metadata.num_rows, Dialect())


def _texts(column: pa.Array) -> list[str]:
    return [_text(value) for value in column.to_pylist() if value is not None and value == value]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def _csv(path: Path, told: Told) -> Seen:
    text = csv_text(path, told.encoding)
    found = told_dialect(path, text, told)
    body = found.rows[:_SAMPLE_ROWS]
    names: Sequence[str] = found.dialect.names or ()
    sample = {
        name: [row[at] for row in body if at < len(row) and row[at].strip() not in _NO_VALUE]
        for at, name in enumerate(names)
    }
    rows = len(found.rows) if text.whole else int(text.total_bytes / max(1, text.read_bytes) * len(found.rows))
    return Seen(path, tuple(names), sample, rows, found.dialect, found.unclear, found.notes, text.splits)


def _fits(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text, pattern)
    except ValueError:
        return False
    return True
