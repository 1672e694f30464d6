"""The process that opens foreign files: `python -m odanon.reading.child` stands ready, and a copy does each job.

A copy reads its job from standard input and writes Arrow batches to standard output. On standard error it tells which file it is
at and, if it refuses one, why: file numbers, codes and names of columns, nothing else; and at last that it is done.
"""

import json
import os
import resource
import socket
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any, BinaryIO

import pandas  # noqa: F401  PyArrow loads it for most conversions: once here, and not in every copy
import pyarrow as pa

from odanon.reading.child.columns import Converter, schema_of
from odanon.reading.child.dialect import Dialect
from odanon.reading.child.formats import raw_batches
from odanon.reading.child.layers import layer_batches
from odanon.reading.child.unpack import Part, RefusedError
from odanon.reading.ids import Spelling
from odanon.system.standby import serve

# A library that is loaded when it is needed and does not fit cannot be imported.
_OUT_OF_MEMORY = (MemoryError, pa.ArrowMemoryError, RecursionError, ImportError)


def main(limit: int) -> int:
    job = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    dialect = Dialect(**job["dialect"])
    converter = Converter(job["columns"], job["zone"], job["time_format"], Spelling(**job["spelling"]), dialect)
    with pa.ipc.new_stream(sys.stdout.buffer, schema_of(job["columns"])) as writer:
        for number in range(len(job["files"])):
            _report(file=number)
            try:
                for batch in _file_batches(job, number, converter, dialect):
                    writer.write_batch(batch)
            except RefusedError as refused:
                _report(file=number, code=refused.code, column=refused.column, names=refused.names)
                return 1
            except BrokenPipeError:
                return 0  # nobody reads on
            except _OUT_OF_MEMORY:
                _report(file=number, code="memory")
                return 1
            except Exception:
                _report(file=number, code="damaged")
                return 1
    return 0


def _file_batches(job: dict[str, Any], number: int, converter: Converter, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    path = job["files"][number]
    person = job["persons"][number] if job["persons"] else None
    if any(column["kind"] == "shape" for column in job["columns"]):
        for raw, lost in layer_batches(path, os.path.getsize(path), job["columns"], job["layer"]):
            yield converter.convert(raw, lost, person)
        return
    with _open(path, job["protocol"]) as (file, size):
        if job["span"] is not None:
            start, end = job["span"]
            file.seek(start)
            file, size = Part(file, end - start), end - start
        lines = job["span"] is not None  # a file is cut only if no line is part of a row
        for raw, lost in raw_batches(file, size, path, job["columns"], dialect, job["time_format"], lines=lines):
            yield converter.convert(raw, lost, person)


class _open:  # noqa: N801 - reads like the builtin
    """A file and its size; whatever goes wrong at opening makes the file unreadable."""

    def __init__(self, path: str, protocol: str) -> None:
        try:
            if protocol == "file":
                # Opening a pipe that lies among the files must not wait for its writer.
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                self._file: BinaryIO = os.fdopen(descriptor, "rb")
                status = os.fstat(descriptor)
                self._size = status.st_size
                if not stat.S_ISREG(status.st_mode):
                    raise OSError
            else:
                import fsspec  # slow to import, and most files are local

                filesystem = fsspec.filesystem(protocol)
                self._file = filesystem.open(path, "rb")
                self._size = int(filesystem.size(path))
        except Exception:
            raise RefusedError("unreadable") from None

    def __enter__(self) -> tuple[BinaryIO, int]:
        return self._file, self._size

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _report(**facts: Any) -> None:
    sys.stderr.write(json.dumps(facts) + "\n")
    sys.stderr.flush()


def _work(limit: bytes, _: IO[bytes], streams: Sequence[int]) -> None:
    """Do one job, given the three standard streams, and end."""
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
    try:
        code = main(int(limit))
        sys.stdout.flush()
        if code == 0:
            _report(done=True)
    finally:  # a traceback could carry what was in the file
        os._exit(0)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked, 3, _work)
