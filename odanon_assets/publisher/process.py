"""The fresh process that publishes, as those see it who ran the plugins of a day (PRIVACY rule 17)."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from odanon import registry
from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon_assets.lake.files import held_by
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.interface import Act

SETTINGS = ("ODANON_", "TMPDIR")  # variables that count as they are when a day is published
LARGEST_REQUEST = 1 << 17  # bytes
# Taken before any plugin is loaded: one could name a library here that the next process would load first.
_ENVIRONMENT, _PYTHON = dict(os.environ), sys.executable
_CHOICES = ("source", "staypoints", "zoning", "hierarchy", "anonymize")


class PublisherError(Exception):
    """An error of the fresh process that nobody foresaw: its type and where it was; its message may quote data."""

    def __init__(self, kind: str, where: str, transient: bool) -> None:
        super().__init__(f"{kind} in the process that publishes\n{where}")
        self.kind, self.where, self.transient = kind, where, transient


@dataclass(frozen=True, eq=False)
class _Ready:
    """A process that stands ready to publish, and that ends with this one."""

    owner: int
    process: subprocess.Popen[bytes]
    control: socket.socket

    @classmethod
    def start(cls) -> "_Ready":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [_PYTHON, "-P", "-m", "odanon_assets.publisher", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # what anything prints there goes nowhere
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # Packages that ask to be loaded by pydantic are not.
                env={**_ENVIRONMENT, "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            )
        return cls(os.getpid(), process, ours)

    @property
    def alive(self) -> bool:
        """Whether it is ours, and not that of the process that we are a copy of, and still runs."""
        return self.owner == os.getpid() and self.process.poll() is None


_ready: list[_Ready] = []
_starting = threading.Lock()


def publish_fresh(product: Product, lake: Lake, day: date, act: Act | None = None) -> dict[str, Any]:
    """Publish a day in a process that has run nothing yet, while this one waits; the figures of its release.

    The lock of the day goes along and is held until both processes have ended, however they end. One that ends without an
    answer may have published or not; another try finds out.
    """
    with lake.holding(product.product, day):
        request = {
            "product": product.product,
            "day": day.isoformat(),
            "trial": lake.trial,
            "act": None if act is None else asdict(act),
            "strangers": _strangers(product),
            "settings": {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)},
            "folder": os.getcwd(),
        }
        answer = _asked(json.dumps(request).encode(), held_by(lake.day_lock(product.product, day)))
    if not answer.endswith(b"\n"):
        raise OutageError(
            f"{product.product} {day}: the process that publishes ended without an answer; if memory was short give it"
            " more, and run the day again"
        )
    return _figures(json.loads(answer))


def _asked(request: bytes, lock: int) -> bytes:
    """The answer of a fresh copy of the process that stands ready, a line unless it did not live to give one."""
    ours, theirs = socket.socketpair()
    with ours, ours.makefile("rb") as way_back:
        with theirs:
            try:
                socket.send_fds(_standing_ready().control, [request], [theirs.fileno(), lock])
            except (BrokenPipeError, ConnectionResetError):
                return b""
        worker = way_back.readline()
        try:
            return way_back.read()
        except BaseException:  # somebody stops the run: nothing is published after that
            os.kill(int(worker), signal.SIGKILL)
            raise


def _standing_ready() -> _Ready:
    with _starting:
        if not (_ready and _ready[0].alive):
            _ready[:] = [_Ready.start()]
        return _ready[0]


def _strangers(product: Product) -> dict[str, dict[str, Any]]:
    """What plugins of other packages were set up with: the fresh process cannot ask them."""
    choices = {name: getattr(product, name) for name in _CHOICES}
    return {
        name: choice.model_dump(mode="json")
        for name, choice in choices.items()
        if not registry.is_ours(name, choice.plugin)
    }


def _figures(answer: dict[str, Any]) -> dict[str, Any]:
    if "figures" in answer:
        return answer["figures"]
    if "refused" in answer:
        raise (OutageError if answer["transient"] else OdanonError)(answer["refused"])
    raise PublisherError(answer["failed"], answer["where"], answer["transient"])
