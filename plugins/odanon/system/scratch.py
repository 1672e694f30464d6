"""Scratch folders: gone when their work ends, and swept by whoever comes next when their process was killed.

Beside a folder `.odanon-<random>` lies its lock file, which the process holds while it lives. The system lets go of a
lock however its holder ends, so a process id that is used again deceives nobody.
"""

import atexit
import fcntl
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

_PREFIX, _LOCK = ".odanon-", ".lock"


@contextmanager
def scratch(home: Path) -> Iterator[Path]:
    """A new folder under `home` that its owner alone can enter; it vanishes when the block ends."""
    home.mkdir(parents=True, exist_ok=True)
    lock, handle = _claim(home)
    with handle:
        try:
            _folder(lock).mkdir(mode=0o700)
            yield _folder(lock)
        finally:
            _remove(lock)


def process_scratch(home: Path) -> Path:
    """A scratch folder until this process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch(home))


def sweep(home: Path) -> None:
    """Remove the scratch folders under `home` whose processes are gone; those of other users are theirs to sweep."""
    for lock in sorted(home.glob(f"{_PREFIX}*{_LOCK}")):
        try:
            handle = lock.open("r+")
        except (FileNotFoundError, PermissionError):
            continue
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _remove(lock)


def _claim(home: Path) -> tuple[Path, IO[str]]:
    """A lock of our own, held before its folder exists, so that no sweeper finds the one without the other."""
    while True:
        lock = home / f"{_PREFIX}{secrets.token_hex(8)}{_LOCK}"
        handle = lock.open("x")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if lock.exists():
            return lock, handle
        handle.close()  # a sweeper came between the two lines


def _folder(lock: Path) -> Path:
    return lock.with_name(lock.name.removesuffix(_LOCK))


def _remove(lock: Path) -> None:
    """The lock goes last: what a kill leaves of the folder is still found."""
    if _folder(lock).exists():
        shutil.rmtree(_folder(lock))
    lock.unlink(missing_ok=True)
