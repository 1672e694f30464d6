"""Parquet points to OD rows, end to end on this machine: points per second, peak memory, and growth with size.

`python tests/bench/bench_chain.py` takes 2.5, 5 and 10 million points; `--full` adds 100 million (about 8 GB of disk,
ten minutes with the simulation); `--points 20000000` takes one size of your own. The targets are two million points per second on
two cores, less than 4 GB, and time linear in points. CPU time counts the process that reads the files too.
"""

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from odanon.product import Product
from odanon.simulate.mode import Mode
from odanon.simulate.write import write_city
from odanon.traces.simulated import Simulated
from odanon_assets.lake import Lake
from odanon_assets.stages import matrix, movement

DAY = date(2026, 3, 2)
POINTS_PER_PERSON = 370
SIZES = (2_500_000, 5_000_000, 10_000_000)
FULL = 100_000_000


def product(points: Path) -> Product:
    return Product.model_validate(
        {
            "product": "bench",
            "title": "Benchmark",
            "owner": "bench",
            "start": DAY,
            "timezone": "Europe/Paris",
            "source": {"plugin": "points", "path": str(points)},
            "staypoints": {"plugin": "dwell", "radius_m": 150},
            "trips": {"min_distance_m": 200},
            "zoning": {"plugin": "h3", "resolution": 8},
            "od": {"bin": "1h"},
            "hierarchy": "h3",
            "anonymize": "atg-joint",
            "engine": "local",
        }
    )


def cpu_seconds() -> float:
    """User and system time of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_mb() -> float:
    """Highest memory of this process plus that of its largest child."""
    return sum(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def timed(run: Callable[[], dict[str, Any]]) -> tuple[float, float, dict[str, Any]]:
    wall, cpu = time.perf_counter(), cpu_seconds()
    figures = run()
    return time.perf_counter() - wall, cpu_seconds() - cpu, figures


def chain(points: Path, root: Path) -> tuple[float, float, int]:
    """Run the four stages; returns wall seconds, CPU seconds and points."""
    chosen, lake = product(points), Lake(root)
    engine = chosen.engine.instance
    stages = {
        "traces": lambda: movement.traces(chosen, lake, DAY, source=chosen.source.instance, engine=engine),
        "staypoints": lambda: movement.staypoints(
            chosen, lake, DAY, staypoints=chosen.staypoints.instance, engine=engine
        ),
        "trips": lambda: movement.trips(chosen, lake, DAY, engine=engine),
        "od": lambda: matrix.od(chosen, lake, DAY, zoning=chosen.zoning.instance),
    }
    walls, cpus, seen = 0.0, 0.0, 0
    for name, run in stages.items():
        wall, cpu, figures = timed(run)
        walls, cpus, seen = walls + wall, cpus + cpu, figures.get("points_read", seen)
        print(f"  {name:<12} {wall:>8.2f} s {cpu:>8.2f} CPU-s", flush=True)
    return walls, cpus, seen


def measure(points: int, folder: Path) -> float:
    """Simulate, run and print one size; returns CPU seconds per million points."""
    city, root = folder / f"city-{points}", folder / f"root-{points}"
    write_city(Simulated(people=points // POINTS_PER_PERSON), Mode.gps, DAY, 1, city, lambda _: None)
    wall, cpu, seen = chain(city / "points", root)
    shutil.rmtree(city)
    shutil.rmtree(root)
    print(
        f"{seen:>12,} points {wall:>8.2f} s {seen / wall / 1e6:>6.2f} M/s"
        f" {cpu:>8.2f} CPU-s {seen / cpu / 1e6:>6.2f} M/CPU-s {peak_mb():>7.0f} MB peak",
        flush=True,
    )
    return cpu / seen * 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="100 million points too")
    parser.add_argument("--points", type=int, help="one size instead")
    options = parser.parse_args()
    os.environ.setdefault("ODANON_PSEUDONYM_KEY", "benchmark key for simulated people")
    sizes = [options.points] if options.points else [*SIZES, *([FULL] if options.full else [])]
    with tempfile.TemporaryDirectory(prefix="odanon-bench-") as scratch:
        measure(200_000, Path(scratch))  # imports and compiled kernels
        costs = [measure(points, Path(scratch)) for points in sizes]
    print(f"CPU per point, largest over smallest size: {costs[-1] / costs[0]:.2f} (1 is linear)")
