"""What all sources that read tables from files share: where the files are and how their times are written."""

import csv
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import field_validator

from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column, Job, read, read_what_can_be
from odanon.reading.child.columns import schema_of
from odanon.reading.child.dialect import Dialect
from odanon.reading.delivery import Delivery
from odanon.reading.files import Files, ZoneName, shown
from odanon.reading.ids import AS_WRITTEN, Spelling
from odanon.reading.persons import SpelledIds

SMALL_BYTES = 1 << 30  # of a reference table in memory
_HEADER = 1 << 16  # letters of the first line of a CSV file
_PACKED = ("", ".gz", ".bz2", ".zst", ".lz4")
SUFFIXES = (
    ".parquet",
    ".pq",
    *(f"{s}{p}" for s in (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json") for p in _PACKED),
)


@plugin
class FileTable(SpelledIds):
    """Tables in Parquet, CSV or JSON-lines files, also packed, under a path or an object-store URL."""

    path: str = parameter(
        ..., "file, folder, glob or fsspec URL; {date} or {date:%Y%m%d} in it lists only the days that are read"
    )
    timezone: ZoneName | None = parameter(None, "zone of times that are written without one; none quarantines them")
    time_format: str = parameter(
        "auto", "auto (timestamps or ISO 8601), epoch_s, epoch_ms, epoch_us, or a strptime pattern without zone"
    )
    date_zone: ZoneName = parameter("UTC", "zone whose days the dates in paths are")
    delimiter: str = parameter(",", "what separates the fields of a CSV file", min_length=1, max_length=1)

    @field_validator("time_format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if value not in ("auto", "epoch_s", "epoch_ms", "epoch_us") and ("%" not in value or "%z" in value.lower()):
            raise ValueError(
                "use auto, epoch_s, epoch_ms, epoch_us or a strptime pattern without %z, such as %d/%m/%Y %H:%M:%S"
            )
        return value

    def available(self, day: date) -> bool:
        """Whether a file is named for this day, or has no date in its name; nothing is opened."""
        return self._files.available(day)

    def reads(self, start: datetime, end: datetime) -> list[str]:
        """The real names of the files of [start, end)."""
        return self._files.reads(start, end, self.date_zone)

    def state(self, days: list[date]) -> str:
        """What changes when the files of these days do, told without opening them."""
        return self._files.state(days)

    def delivered(self, day: date) -> list[Delivery]:
        """What is there of a day, told without opening its files."""
        return self._files.delivered(day)

    @property
    def _files(self) -> Files:
        return Files(self.path, SUFFIXES)

    def _rows(
        self, columns: list[Column], start: datetime, end: datetime, around: timedelta = timedelta(0)
    ) -> Iterator[pa.RecordBatch]:
        """The wanted columns of all rows in the files of [start, end), and of `around` before and after."""
        own, neighbours = self._files.around(start, end, (around, around), self.date_zone)
        yield from read(self._job(own, columns))
        yield from read_what_can_be(self._job(neighbours, columns))

    def _job(self, files: list[str], columns: list[Column]) -> Job:
        return Job(
            files,
            self._files.protocol,
            columns,
            self.timezone,
            self.time_format,
            Dialect(self.delimiter),
            spelling=self.spelling,
        )


def column_names(path: Path) -> list[str]:
    """The columns of a Parquet or CSV file, from its footer or its first line; OSError or ValueError if there are none."""
    if path.suffix == ".parquet":
        return pq.read_schema(path).names
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader([file.readline(_HEADER)]))


def read_small(path: str, columns: list[Column], spelling: Spelling = AS_WRITTEN) -> pa.Table:
    """A whole reference table, such as the places of antennas or the attributes of people."""
    files = Files(path, SUFFIXES)
    found = files.on([])
    if not found:
        raise OdanonError(f"{shown(path)} holds no Parquet, CSV or JSON-lines file; correct the path")
    return read_whole(path, Job(found, files.protocol, columns, spelling=spelling))


def read_whole(path: str, job: Job, most_rows: int | None = None) -> pa.Table:
    """All that a job reads, in memory.

    The child that reads it has little memory; what it sends adds up here, and is counted as it comes (PRIVACY rule 26).
    """
    batches, size, rows = [], 0, 0
    try:
        for batch in read(job, own=True):
            batches.append(batch)
            size, rows = size + batch.nbytes, rows + batch.num_rows
            if size > SMALL_BYTES:
                raise OdanonError(f"it takes more than {SMALL_BYTES >> 20:,} MiB of memory; give a row only once")
            if most_rows is not None and rows > most_rows:
                raise OdanonError(f"it has more than {most_rows:,} rows; give fewer")
    except OdanonError as error:  # the product's file names it, unlike the files of people
        raise OdanonError(f"{shown(path)}: {error}") from None
    table = pa.Table.from_batches(batches, schema_of([asdict(column) for column in job.columns]))
    return table.unify_dictionaries().combine_chunks()
