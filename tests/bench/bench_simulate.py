"""How fast the simulator makes points, in CPU time, and that its memory does not grow with the population.

Run it with `python tests/bench/bench_simulate.py`; the target is one million points per CPU-second.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city

DAY = date(2026, 3, 2)
START = datetime(2026, 3, 1, 23, tzinfo=UTC)  # midnight in Paris


def frames(people: int) -> int:
    """Points of one day as frames."""
    return sum(map(len, Simulated(people=people).batches(START, START + timedelta(days=1))))


def files(people: int, mode: Mode = Mode.gps) -> int:
    """Rows of one day written as Parquet, truth included."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = write_city(Simulated(people=people), mode, DAY, 1, Path(folder) / "city", lambda _: None)
    return manifest["rows"]["points" if mode is Mode.gps else "events"]


def measure(title: str, make: Callable[[], int]) -> None:
    """Print rows, CPU seconds, the rate, and the highest memory of the process so far."""
    began = time.process_time()
    rows = make()
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{title:<36} {rows:>12,} rows {seconds:>7.2f} CPU-s {rows / seconds / 1e6:>6.2f} M/CPU-s {peak:>6.0f} MB peak"
    )


if __name__ == "__main__":
    frames(500)  # imports and first allocations
    measure("frames, 2,000 people", lambda: frames(2_000))
    measure("frames, 20,000 people", lambda: frames(20_000))
    measure("Parquet, 2,000 people", lambda: files(2_000))
    measure("Parquet, 20,000 people", lambda: files(20_000))
    measure("Parquet of NSD events, 5,000 people", lambda: files(5_000, Mode.nsd))
