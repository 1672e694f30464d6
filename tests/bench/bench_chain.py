"""Parquet points to OD rows, end to end on this machine: points per second, peak memory, and growth with size.

`make bench ONLY=chain` takes 10, 30 and 100 million points (about 8 GB of disk, a few minutes with the simulation);
`python tests/bench/bench_chain.py 5000000 20000000` takes sizes of your own. The run fails when a target is missed at the
largest size: two million points per second on two cores, less than 4 GB, and time linear in points. CPU time
counts the process that reads the files too; on a machine that does other work as well, look at points per CPU-second
and at how many cores were busy.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from odanon.product import Product
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city
from odanon_assets.chain.od import od
from odanon_assets.chain.staypoints import staypoints
from odanon_assets.chain.traces import traces
from odanon_assets.chain.trips import trips
from odanon_assets.lake.lake import Lake

DAY = date(2026, 3, 2)
POINTS_PER_PERSON = 370
SIZES = (10_000_000, 30_000_000, 100_000_000)
MIN_RATE, MAX_MB, MAX_GROWTH = 2e6, 4096, 1.25


@dataclass(frozen=True)
class Run:
    """What one size took."""

    points: int
    wall: float
    cpu: float
    peak_mb: float

    def __str__(self) -> str:
        return (
            f"{self.points:>12,} points {self.wall:>7.2f} s {self.points / self.wall / 1e6:>6.2f} M/s"
            f" {self.cpu:>8.2f} CPU-s {self.points / self.cpu / 1e6:>6.2f} M/CPU-s"
            f" {self.cpu / self.wall:>5.2f} cores busy {self.peak_mb:>6.0f} MB peak"
        )


def product(points: Path) -> Product:
    return Product.model_validate(
        {
            "product": "bench",
            "title": "Benchmark",
            "owner": "bench",
            "status": "live",
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
        "traces": lambda: traces(chosen, lake, DAY, source=chosen.source.instance, engine=engine),
        "staypoints": lambda: staypoints(chosen, lake, DAY, staypoints=chosen.staypoints.instance, engine=engine),
        "trips": lambda: trips(chosen, lake, DAY, engine=engine),
        "od": lambda: od(chosen, lake, DAY, zoning=chosen.zoning.instance),
    }
    walls, cpus, seen = 0.0, 0.0, 0
    for name, run in stages.items():
        wall, cpu, figures = timed(run)
        walls, cpus, seen = walls + wall, cpus + cpu, figures.get("points_read", seen)
        print(f"  {name:<12} {wall:>8.2f} s {cpu:>8.2f} CPU-s", flush=True)
    return walls, cpus, seen


def measure(points: int, folder: Path) -> Run:
    """Simulate, run and print one size."""
    city, root = folder / f"city-{points}", folder / f"root-{points}"
    write_city(Simulated(people=points // POINTS_PER_PERSON), Mode.gps, DAY, 1, city, lambda _: None)
    wall, cpu, seen = chain(city / "points", root)
    shutil.rmtree(city)
    shutil.rmtree(root)
    run = Run(seen, wall, cpu, peak_mb())
    print(run, flush=True)
    return run


def judge(runs: list[Run]) -> int:
    """Print which targets are reached; returns 1 when one is missed."""
    first, last = runs[0], runs[-1]
    growth = {
        what: getattr(last, what) / last.points / (getattr(first, what) / first.points) for what in ("wall", "cpu")
    }
    targets = {
        f"at least 2 M points per second: {last.points / last.wall / 1e6:.2f}": last.points / last.wall >= MIN_RATE,
        f"peak memory below 4 GB: {last.peak_mb / 1024:.2f} GB": last.peak_mb < MAX_MB,
        f"linear: a point of the largest size takes {growth['cpu']:.2f} x the CPU time and {growth['wall']:.2f} x the"
        " time of one of the smallest": growth["cpu"] <= MAX_GROWTH,
    }
    for sentence, reached in targets.items():
        print(f"  {'reached' if reached else 'MISSED '}  {sentence}")
    return 0 if all(targets.values()) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=int, nargs="*", default=SIZES, help="sizes, smallest first")
    sizes = parser.parse_args().points
    os.environ.setdefault("ODANON_PSEUDONYM_KEY", "benchmark key for simulated people")
    with tempfile.TemporaryDirectory(prefix="odanon-bench-") as scratch:
        measure(200_000, Path(scratch))  # imports and compiled kernels
        runs = [measure(points, Path(scratch)) for points in sizes]
    sys.exit(judge(runs))
