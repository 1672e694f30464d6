"""Telling whoever listens which stage of which day starts, what a check warned of, and how a day ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Listener(Protocol):
    """What a listener hears; all of it happens in the thread of the run."""

    def stage(self, product: str, stage: str, day: str) -> None: ...

    def warning(self, product: str, day: str, check: str, sentence: str) -> None: ...

    def day(self, product: str, day: str, error: str, note: str) -> None: ...


_listeners: list[Listener] = []


L = TypeVar("L", bound=Listener)


@contextmanager
def listening(listener: L) -> Iterator[L]:
    """Tell `listener` of every stage and day that runs in this process."""
    _listeners.append(listener)
    try:
        yield listener
    finally:
        _listeners.remove(listener)


def announce(product: str, stage: str, day: str) -> None:
    """A stage starts."""
    for listener in _listeners:
        listener.stage(product, stage, day)


def announce_warning(product: str, day: str, check: str, sentence: str) -> None:
    """A check that stops no day found something odd."""
    for listener in _listeners:
        listener.warning(product, day, check, sentence)


def announce_end(product: str, day: str, error: str, note: str) -> None:
    """A day ended; the error is empty when it went well, and the note says how."""
    for listener in _listeners:
        listener.day(product, day, error, note)
