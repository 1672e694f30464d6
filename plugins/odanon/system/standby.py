"""A process that stands ready and copies itself for every request, so that a fresh one costs a fork and not a start.

The owner talks to it over a socket of whole messages. With each goes a socket for the way back and whatever files the work needs;
the copy first tells who it is, and its end of the way back closes when it ends, however it ends.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

LARGEST_REQUEST = 1 << 17  # bytes


@dataclass(frozen=True, eq=False)
class _Ready:
    """A process that stands ready, and that ends with the one that owns it."""

    owner: int
    process: subprocess.Popen[bytes]
    control: socket.socket

    @classmethod
    def start(cls, python: str, module: str, environment: Mapping[str, str]) -> "_Ready":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [python, "-P", "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # what anything prints there goes nowhere
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=dict(environment),
            )
        return cls(os.getpid(), process, ours)

    @property
    def alive(self) -> bool:
        """Whether it is ours, and not that of the process that we are a copy of, and still runs."""
        return self.owner == os.getpid() and self.process.poll() is None


@dataclass(eq=False)
class Standby:
    """`python -m MODULE` in an environment of its own, started when it is first asked and again if it ended."""

    module: str
    environment: Callable[[], Mapping[str, str]]
    python: str = sys.executable
    _ready: list[_Ready] = field(default_factory=list)
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def standing_ready(self) -> _Ready:
        with self._starting:
            if not (self._ready and self._ready[0].alive):
                self._ready[:] = [_Ready.start(self.python, self.module, self.environment())]
            return self._ready[0]

    @contextmanager
    def asked(self, request: bytes, *descriptors: int) -> Iterator[IO[bytes]]:
        """What a fresh copy sends back while it works on a request; one that is left before its end is killed.

        The way back is empty where no copy lived to tell who it is.
        """
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("rb") as way_back:
            with theirs, suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(self.standing_ready().control, [request], [theirs.fileno(), *descriptors])
            worker = way_back.readline()
            try:
                yield way_back
                way_back.read()
            except BaseException:
                if worker.endswith(b"\n"):
                    with suppress(ProcessLookupError):
                        os.kill(int(worker), signal.SIGKILL)
                    way_back.read()  # until it is gone
                raise


def serve(control: socket.socket, n_descriptors: int, work: Callable[[bytes, IO[bytes], Sequence[int]], None]) -> None:
    """Have a copy of this process do the work of every request, until whoever asks has gone; one that has begun goes on.

    `work` gets the request, the way back and the descriptors that came along.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that have ended need no burial
    while True:
        request, descriptors, *_ = socket.recv_fds(control, LARGEST_REQUEST, 1 + n_descriptors)
        if not request:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            with os.fdopen(descriptors[0], "wb") as way_back:
                way_back.write(b"%d\n" % os.getpid())
                way_back.flush()
                work(request, way_back, descriptors[1:])
            return
        for descriptor in descriptors:
            os.close(descriptor)
