"""The peak memory of a piece of work in this process."""

import resource
from pathlib import Path

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def watch_peak() -> None:
    """Forget the peak so far, where the system can (Linux)."""
    try:
        _RESET.write_text("5")
    except OSError:
        return


def peak_megabytes() -> int:
    """The largest resident memory since `watch_peak`; elsewhere than on Linux, since the process began."""
    try:
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
