"""Reading files that nobody vouches for (PRIVACY rule 12).

A child process with little memory and without the pseudonym key opens and parses them (`odanon.reading.child`) and
sends plain columns back. Whatever a file does to its reader, this process only learns which file and why. The
sentence it raises tells the file by its number and digest, since a name may be a person's, and the remedy; never what
was in the file.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import IO, Any, Literal

import pyarrow as pa

from odanon.errors import OdanonError
from odanon.reading.child.columns import schema_of
from odanon.reading.child.dialect import Dialect
from odanon.reading.files import shown
from odanon.reading.frames import UNREADABLE
from odanon.reading.ids import AS_WRITTEN, REASONS, Spelling
from odanon.reading.pseudonym import KEY_VARIABLE
from odanon.system.standby import Standby

Kind = Literal["text", "id", "number", "time", "texts", "shape"]

MEMORY_LIMIT = 2 << 30  # bytes of address space of the child
_PIPE_BYTES = 1 << 20
_USUAL = Dialect()

_REASONS = {
    "unreadable": "cannot be opened; check that it exists and may be read",
    "damaged": "is truncated, damaged or not of the format that its name says; replace it",
    "no_column": "has no column {column} (for {name}); name the column that holds it",
    "bad_type": "has a column {column} of a type that does not fit; name another column or convert the file",
    "time_unit": "has plain numbers in {column}; add time_format: epoch_s or epoch_ms to the product file's source",
    "bomb": "unpacks to far more than its size can honestly hold; replace it",
    "row_group": "has a row group that is too large to read safely; write it again with smaller row groups",
    "long_row": "has a row longer than a megabyte, or a quote that never closes; repair it",
    "no_layer": "cannot be read as a polygon layer, or has no layer of that name; correct the path or the layer",
    "no_shapes": "has no geometry with a CRS; save it again with its EPSG code",
    "encoding": "has letters that its encoding does not have; save it as UTF-8",
    "memory": "cannot be read within the memory limit; split it, or write it again with smaller row groups",
    **REASONS,
}


class NoColumnError(OdanonError):
    """A file without a column that was asked for."""


@dataclass(frozen=True)
class Column:
    """A column to read: our name, the name in the file, and what it holds.

    `text` comes back as a dictionary of strings, `id` as canonical ids (`odanon.reading.ids`) with a second column
    `NAME_number` that marks those that were numbers, `number` as float, `time` as UTC with a second column
    `NAME_unzoned` that marks wall-clock times which no zone places, `texts` as a list of strings, `shape` as WKB.
    """

    name: str
    source: str
    kind: Kind


@dataclass(frozen=True)
class Job:
    """What the child is to read. `persons` names the person of each file where no column does; with a column of shapes
    the files are vector layers, and `layer` is the one that is read of files that hold several. Of a large CSV file `span` are the bytes
    that are read, whole lines."""

    files: list[str]
    protocol: str
    columns: list[Column]
    zone: str | None = None
    time_format: str = "auto"
    dialect: Dialect = _USUAL
    persons: list[str] | None = None
    spelling: Spelling = AS_WRITTEN
    layer: str | None = None
    span: tuple[int, int] | None = None


def read(job: Job, *, own: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of all files, in batches. The columns of an `own` file, a map or a reference table, may be told."""
    refused = yield from _rows_until_refusal(job)
    if refused is not None:
        names = ", ".join(map(shown, refused.get("names", ()))) if own else ""
        kind = NoColumnError if refused.get("code") == "no_column" else OdanonError
        raise kind(_sentence(refused, job) + (f"; it has {names}" if names else ""))


def read_what_can_be(job: Job) -> Iterator[pa.RecordBatch]:
    """The rows of all files that can be read; an empty batch whose schema says so stands for each of the others.

    Rows that came out of a file before it proved unreadable stay.
    """
    schema = schema_of([asdict(column) for column in job.columns]).with_metadata({UNREADABLE: "1"})
    while (refused := (yield from _rows_until_refusal(job))) is not None:
        yield pa.RecordBatch.from_pylist([], schema)
        rest = refused["file"] + 1
        job = replace(job, files=job.files[rest:], persons=job.persons and job.persons[rest:])


def _rows_until_refusal(job: Job) -> Generator[pa.RecordBatch, None, dict[str, Any] | None]:
    """The rows of the files up to the first one that the child refuses, and what it reported of that one."""
    if not job.files:
        return None
    (job_in, job_out), (rows_in, rows_out) = os.pipe(), os.pipe()
    with tempfile.TemporaryFile() as report, open(rows_in, "rb") as rows:
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # fewer switches between the two processes
            fcntl.fcntl(rows, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        with _READER.asked(str(MEMORY_LIMIT).encode(), job_in, rows_out, report.fileno()):
            os.close(job_in)
            os.close(rows_out)
            told = {**asdict(job), "environment": _environment(), "folder": os.getcwd()}
            with suppress(BrokenPipeError), open(job_out, "wb") as way_there:
                way_there.write(json.dumps(told).encode("utf-8", "surrogatepass"))
            yield from _batches(rows)
        return _refusal(report)


def _environment() -> dict[str, str]:
    """What the child may know of ours: not the key, that it should ask the system for memory, which limits it, and keep what it has."""
    known = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    memory = {
        "MALLOC_ARENA_MAX": "2",
        "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    }
    return known | {"ARROW_DEFAULT_MEMORY_POOL": "system"} | memory


_READER = Standby("odanon.reading.child", _environment)


def stand_ready() -> None:
    """Start the process that reads, which takes it half a second, while something else is done first."""
    _READER.standing_ready()


def _batches(stream: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """All whole batches; a stream that breaks off ends here, and the child's last report says that it did."""
    try:
        yield from pa.ipc.open_stream(stream)
    except (pa.ArrowInvalid, OSError):
        return


def _refusal(report: IO[bytes]) -> dict[str, Any] | None:
    """The file that the child was at when it ended before its work was done, and why unless it died without a word."""
    report.seek(0)
    told = [json.loads(line) for line in report.read().splitlines() if line.startswith(b"{")] or [{"file": 0}]
    return None if "done" in told[-1] else told[-1]


def _sentence(refused: dict[str, Any], job: Job) -> str:
    """Which file was refused and what to do; a child that died without a word ran out of memory."""
    column = str(refused.get("column", ""))
    names = [each.name for each in job.columns if each.source == column]
    reason = _REASONS[refused.get("code", "memory")].format(column=repr(shown(column)), name=" and ".join(names))
    return f"{_label(job, refused['file'])} {reason}"


def _label(job: Job, number: int) -> str:
    """A file told by its place among the files that were read, in the order of their names, and by what it holds."""
    place, path = f"file {number + 1} of {len(job.files)}", job.files[number]
    if job.protocol != "file" or not os.path.isfile(path) or not os.access(path, os.R_OK):
        return place
    with open(path, "rb") as file:
        return f"{place} (sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:12]})"
