"""What plugins print stays out of the logs: it may quote data (PRIVACY rule 9)."""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

_log = logging.getLogger("odanon")


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what is printed meanwhile; what is logged still comes through."""
    before = logging.lastResort
    logging.lastResort = logging.StreamHandler(sys.stderr)
    logging.lastResort.setLevel(logging.WARNING)
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            yield
    finally:
        logging.lastResort = before


def hush_destructors() -> None:
    """From now on, what destructors print is dropped, whenever they run, and their errors are told by their type alone."""
    sys.unraisablehook = _told_by_type
    for name in (
        "stdout",
        "stderr",
        "__stdout__",
        "__stderr__",
    ):  # the last two are put in place of the others at the end
        if not isinstance(stream := getattr(sys, name), _Hushed):
            setattr(sys, name, _Hushed(stream))


class _Hushed:
    """A standard stream that does not hear destructors."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return len(text) if _in_destructor(sys._getframe(1)) else self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


def _in_destructor(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def _told_by_type(unraisable: Any) -> None:
    _log.warning("%s while an object was being removed; it changes nothing", unraisable.exc_type.__name__)
