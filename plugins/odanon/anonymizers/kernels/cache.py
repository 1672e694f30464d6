"""A word to whoever waits: the first call on a machine compiles the kernels."""

import logging
from pathlib import Path

from odanon.anonymizers.kernels.rows import sweep

_log = logging.getLogger("odanon")


def announce_compilation() -> None:
    """Say once that compiled kernels are not yet cached (`NUMBA_CACHE_DIR` moves the cache)."""
    folder = sweep.stats.cache_path
    if not sweep.signatures and not (folder and any(Path(folder).glob("rows.sweep-*.nbi"))):
        _log.warning("compiling the ATG kernels: once per machine and unit, less than a minute")
