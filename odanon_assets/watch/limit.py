"""A limit on how long a part of a stage may take."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from odanon.errors import OdanonError


@contextmanager
def time_limit(limit: timedelta, what: str) -> Iterator[None]:
    """Stop the block when it takes longer, or refuse its result.

    An alarm stops Python code at once and a compiled kernel when it returns. Outside a process's main thread there are
    no alarms; the block then ends by itself and what it made is refused. A child process would be easier to kill and
    costs seconds of imports every day, more than most days take.
    """
    too_long = OdanonError(f"{what} took longer than checks.max_anonymize; raise the limit or make the task smaller")

    def stop(signum: int, frame: Any) -> None:
        raise too_long

    began = time.monotonic()
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, limit.total_seconds())
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    else:
        yield
    if time.monotonic() - began > limit.total_seconds():
        raise too_long
