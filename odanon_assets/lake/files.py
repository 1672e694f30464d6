"""Files and folders that appear whole or not at all: temporary name, fsync, rename (PRIVACY rule 8)."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.system.scratch import scratch


@contextmanager
def new_folder(target: Path, home: Path | None = None) -> Iterator[Path]:
    """A scratch folder that replaces `target` when the block ends well and vanishes otherwise.

    It lies under `home`, on the same file system and where somebody sweeps; by default beside `target`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch(home or target.parent) as place:
        draft = place / "draft"
        draft.mkdir()
        yield draft
        for path in sorted(draft.rglob("*")):
            if path.is_file():
                _fsync(path)
        _fsync(draft)
        draft.chmod(0o755)
        if target.exists():
            os.replace(target, place / "old")
        os.replace(draft, target)
        _fsync(target.parent)


def move_folder(source: Path, target: Path) -> None:
    """Give a folder another place on the same file system in one step; one that somebody else moved is left alone."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        os.replace(source, target)
    _fsync(target.parent)
    _fsync(source.parent)


def remove_folder(target: Path, home: Path) -> None:
    """Take a folder away in one step and delete it; nothing of it is left when this returns."""
    with scratch(home) as place:
        os.replace(target, place / "old")
        _fsync(target.parent)


def remove_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Delete the named files of a folder that still have these digests, and the folder if nothing else is in it."""
    for name, digest in digests.items():
        if (folder / name).is_file() and sha256(folder / name) == digest:
            (folder / name).unlink()
    if folder.is_dir():
        _fsync(folder)
        if not any(folder.iterdir()):
            folder.rmdir()


class _Held(threading.local):
    """The locks that this thread holds, by the descriptor that holds each."""

    def __init__(self) -> None:
        self.paths: dict[Path, int] = {}


_held = _Held()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One holder at a time, across processes; the lock ends with its holder, however it ends.

    Whoever holds a lock may ask for it again: a day is held from its first stage on, and so is its publication.
    """
    if path in _held.paths:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle, _holding(path, handle.fileno()):
        yield


@contextmanager
def _holding(path: Path, descriptor: int) -> Iterator[None]:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    _held.paths[path] = descriptor
    try:
        yield
    finally:
        del _held.paths[path]


def held_by(path: Path) -> int:
    """The descriptor with which this thread holds a lock; a process that inherits it holds the lock too, even alone."""
    return _held.paths[path]


def inherited(path: Path, descriptor: int) -> AbstractContextManager[None]:
    """Go on holding a lock that the process before us holds; a descriptor of anything else is refused."""
    if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
        raise OdanonError(f"the lock {path.name} was replaced while it was held; leave the folder locks alone")
    return _holding(path, descriptor)


def link(source: Path, target: Path) -> None:
    """The same file under a second name, or a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def write_text(target: Path, text: str) -> None:
    """Replace a small file in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    finally:
        Path(draft).unlink(missing_ok=True)
    _fsync(target.parent)


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as plain Parquet: no index, no pandas metadata, the same bytes for the same rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, path, compression="zstd")


def read_frame(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """A Parquet file as it was written; a `date=` in its path adds no column."""
    return pq.ParquetFile(path).read(columns).to_pandas()


def to_json(value: Any) -> str:
    """Stable text: sorted keys, one final newline."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def sha256(path: Path) -> str:
    """Hash of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
