"""A word to whoever waits: the first call on a machine compiles the kernels."""

import logging
from pathlib import Path
from typing import Any

_log = logging.getLogger("odanon")


def announce_compilation(kernel: Any) -> None:
    """Say once that a compiled kernel is not yet cached (`NUMBA_CACHE_DIR` moves the cache)."""
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}"
    folder = kernel.stats.cache_path
    if not kernel.signatures and not (folder and any(Path(folder).glob(f"{name}-*.nbi"))):
        _log.warning("compiling kernels: once per machine, algorithm and unit, less than a minute")
