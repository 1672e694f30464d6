"""What plugins print stays out of the logs: it may quote data (PRIVACY rule 9)."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
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
    """From now on, an error in a destructor is told by its type alone; Python would print its message whenever it comes."""
    sys.unraisablehook = _told_by_type


def _told_by_type(unraisable: Any) -> None:
    _log.warning("%s while an object was being removed; it changes nothing", unraisable.exc_type.__name__)
