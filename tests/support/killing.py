"""Work that is killed with `kill -9` at a chosen moment, in a process of its own."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

_FORK = multiprocessing.get_context("fork")


def die(*_: Any, **__: Any) -> None:
    """Put in the place of a function: the process that calls it is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], Any]) -> None:
    """Do work in a child that must be killed before it ends."""
    child = _FORK.Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
