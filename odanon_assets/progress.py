"""Telling whoever listens which stage of which day starts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, str, str], None]

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(product, stage, day)` at the start of every stage that runs in this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(product: str, stage: str, day: str) -> None:
    for listener in _listeners:
        listener(product, stage, day)
