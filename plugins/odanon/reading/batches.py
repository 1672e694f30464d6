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
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from typing import IO, Any, Literal

import pyarrow as pa

from odanon.errors import OdanonError
from odanon.reading.child.columns import schema_of
from odanon.reading.files import shown
from odanon.reading.frames import UNREADABLE
from odanon.reading.ids import AS_WRITTEN, REASONS, Spelling
from odanon.reading.pseudonym import KEY_VARIABLE

Kind = Literal["text", "id", "number", "time", "texts"]

MEMORY_LIMIT = 2 << 30  # bytes of address space of the child
_PIPE_BYTES = 1 << 20

_REASONS = {
    "unreadable": "cannot be opened; check that it exists and may be read",
    "damaged": "is truncated, damaged or not of the format that its name says; replace it",
    "no_column": "has no column {column}; name the column that holds it in the product file's source",
    "bad_type": "has a column {column} of a type that does not fit; name another column or convert the file",
    "time_unit": "has plain numbers in {column}; add time_format: epoch_s or epoch_ms to the product file's source",
    "bomb": "unpacks to far more than its size can honestly hold; replace it",
    "row_group": "has a row group that is too large to read safely; write it again with smaller row groups",
    "long_row": "has a row longer than a megabyte, or a quote that never closes; repair it",
    "memory": "cannot be read within the memory limit; split it, or write it again with smaller row groups",
    **REASONS,
}


@dataclass(frozen=True)
class Column:
    """A column to read: our name, the name in the file, and what it holds.

    `text` comes back as a dictionary of strings, `id` as canonical ids (`odanon.reading.ids`) with a second column
    `NAME_number` that marks those that were numbers, `number` as float, `time` as UTC with a second column
    `NAME_unzoned` that marks wall-clock times which no zone places, `texts` as a list of strings.
    """

    name: str
    source: str
    kind: Kind


@dataclass(frozen=True)
class Job:
    """What the child is to read. `persons` names the person of each file where no column does."""

    files: list[str]
    protocol: str
    columns: list[Column]
    zone: str | None = None
    time_format: str = "auto"
    delimiter: str = ","
    persons: list[str] | None = None
    spelling: Spelling = AS_WRITTEN


def read(job: Job) -> Iterator[pa.RecordBatch]:
    """The rows of all files, in batches."""
    refused = yield from _rows_until_refusal(job)
    if refused is not None:
        raise OdanonError(_sentence(refused, job))


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
    environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
    with tempfile.TemporaryFile() as report:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "odanon.reading.child", str(MEMORY_LIMIT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=report,
            env=environment,
        )
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            if hasattr(fcntl, "F_SETPIPE_SZ"):  # fewer switches between the two processes
                fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            child.stdin.write(json.dumps(asdict(job)).encode("utf-8", "surrogatepass"))
            child.stdin.close()
            yield from _batches(child.stdout)
            return _last_report(report) if child.wait() != 0 else None
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def _batches(stream: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """All whole batches; a stream that breaks off ends here, and the child's exit code says that it did."""
    try:
        yield from pa.ipc.open_stream(stream)
    except (pa.ArrowInvalid, OSError):
        return


def _last_report(report: IO[bytes]) -> dict[str, Any]:
    """The last thing that the child said: the file it was at and, unless it died without a word, why it refused it."""
    report.seek(0)
    lines = [line for line in report.read().splitlines() if line.startswith(b"{")]
    return json.loads(lines[-1]) if lines else {"file": 0}


def _sentence(refused: dict[str, Any], job: Job) -> str:
    """Which file was refused and what to do; a child that died without a word ran out of memory."""
    reason = _REASONS[refused.get("code", "memory")].format(column=repr(shown(str(refused.get("column", "")))))
    return f"{_label(job, refused['file'])} {reason}"


def _label(job: Job, number: int) -> str:
    """A file told by its place among the files that were read, in the order of their names, and by what it holds."""
    place, path = f"file {number + 1} of {len(job.files)}", job.files[number]
    if job.protocol != "file" or not os.path.isfile(path) or not os.access(path, os.R_OK):
        return place
    with open(path, "rb") as file:
        return f"{place} (sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:12]})"
