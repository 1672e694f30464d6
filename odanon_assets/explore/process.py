"""Questions are worked on in processes of their own: each may be stopped, and has its own limits of time and memory.

One process stands ready with everything imported, and a copy of it answers each question.
"""

import json
import os
import select
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from odanon.reading.pseudonym import KEY_VARIABLE
from odanon.system.standby import Standby
from odanon_assets.explore import limits

_MODULE = "odanon_assets.explore.answers"


@dataclass(frozen=True)
class Answer:
    """What goes back to whoever asked: a status and JSON, packed by gzip."""

    status: int
    packed: bytes
    failed: str | None = None  # the type of an error that nobody foresaw, and where it was


class StoppedError(Exception):
    """Whoever asked has gone, or the time is up."""


@dataclass(eq=False)
class Stop:
    """Ends a question that nobody waits for any more."""

    _ends: tuple[socket.socket, socket.socket] = field(default_factory=socket.socketpair)

    def now(self) -> None:
        self._ends[0].send(b".")

    @property
    def watched(self) -> socket.socket:
        return self._ends[1]

    def close(self) -> None:
        for end in self._ends:
            end.close()


def _environment() -> dict[str, str]:
    """Ours without the key; one thread in a library that would else take all processors for small tables."""
    known = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    return known | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "PYDANTIC_DISABLE_PLUGINS": "__all__"}


_READY = Standby(_MODULE, _environment)


def warm() -> None:
    """Start the process that stands ready, so that the first reader need not wait for it."""
    _READY.standing_ready()


def asked(question: Mapping[str, Any], body: bytes, stop: Stop) -> Answer | None:
    """The answer to a question; None where its process ended without one, for want of memory."""
    request = {**question, "memory": limits.MEMORY_BYTES, "seconds": limits.ANSWER_SECONDS}
    with tempfile.TemporaryFile() as sent:
        sent.write(body)
        sent.flush()
        with _READY.asked(json.dumps(request).encode(), sent.fileno()) as way_back:
            found = _read(way_back, stop, time.monotonic() + limits.ANSWER_SECONDS)
    head, newline, packed = found.partition(b"\n")
    if not newline:
        return None
    told = json.loads(head)
    return Answer(told["status"], packed, told["failed"]) if len(packed) == told["bytes"] else None


def _read(way_back: IO[bytes], stop: Stop, until: float) -> bytes:
    """All that comes until a moment, unless it is stopped before."""
    found, waiting = bytearray(), select.poll()
    for each in (way_back, stop.watched):
        waiting.register(each, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in waiting.poll(max(until - time.monotonic(), 0.0) * 1000)]
        if way_back.fileno() not in ready:
            raise StoppedError
        part = way_back.read1(1 << 16)  # type: ignore[attr-defined]
        if not part:
            return bytes(found)
        found += part
