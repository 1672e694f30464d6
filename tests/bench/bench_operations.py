"""What a partition costs beside its work: our wall time over the work's CPU time, and Dagster's own part.

The same days of a small simulated town run three ways: the stages and checks alone; many days in one Dagster run, as
`odanon run` and backfills do; one Dagster run a day. Run it with `python tests/bench/bench_operations.py`; `--days 30`
takes more days. CPU time counts all threads of the process and of those it starts. Use a quiet machine for the wall time.
Then what it costs a day that a fresh process publishes it: the same publication there and in this process.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import yaml

from odanon.product import Product, load_product
from odanon_assets.chain.day import Stopped, run_day
from odanon_assets.chain.stages import STAGES
from odanon_assets.checks.catalogue import CHECKS
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.launch import days_between, run_days
from odanon_assets.publisher import process
from odanon_assets.publisher.act import publish_day
from odanon_assets.publisher.process import publish_fresh
from odanon_assets.stores.choice import open_store

HERE = Path(__file__).parents[2]
FIRST = date(2025, 1, 1)
TOWN = {
    "product": "bench",
    "title": "A small town",
    "owner": "bench",
    "status": "live",
    "start": FIRST.isoformat(),
    "timezone": "Europe/Paris",
    "source": {"plugin": "simulated", "people": 400, "seed": 3, "radius_km": 4},
    "staypoints": {"plugin": "dwell", "radius_m": 150},
    "zoning": {"plugin": "h3", "resolution": 8},
    "od": {"bin": "12h"},
    "hierarchy": {"plugin": "h3"},
    "anonymize": {"plugin": "atg-joint", "k": 5},
    "engine": {"plugin": "local", "buckets": 3},
}


def fresh_product() -> Product:
    """The town in a data root and Dagster home of its own, with the repository's dagster.yaml."""
    root = Path(tempfile.mkdtemp(prefix="odanon-bench-"))
    for name, part in (("ODANON_ROOT", "data"), ("DAGSTER_HOME", "dagster"), ("ODANON_PRODUCTS", "pipelines")):
        (root / part).mkdir()
        os.environ[name] = str(root / part)
    (root / "dagster" / "dagster.yaml").symlink_to(HERE / "dagster.yaml")
    path = root / "pipelines" / "bench.yaml"
    path.write_text(yaml.safe_dump(TOWN))
    return load_product(path)


def work_alone(product: Product, days: list[date]) -> None:
    stages, checks = {stage.name for stage in STAGES}, {(check.stage, check.name) for check in CHECKS}
    plugins = {name: getattr(product, name).instance for stage in STAGES for name in stage.plugins}
    for day in days:
        assert not [event for event in run_day(product, day, stages, checks, plugins) if isinstance(event, Stopped)]


def one_run(product: Product, days: list[date]) -> None:
    assert not [result for result in run_days(product, days, resume=False) if result.error]


def a_run_each(product: Product, days: list[date]) -> None:
    for day in days:
        one_run(product, [day])


def cost(way: Callable[[Product, list[date]], None], days: list[date]) -> tuple[float, float]:
    """(wall, CPU) seconds a day, after one day that warms up imports, kernels and the instance."""
    product = fresh_product()
    way(product, [days[0] - timedelta(days=1)])
    wall, cpu = seconds(lambda: way(product, days))
    return wall / len(days), cpu / len(days)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """(wall, CPU) of a piece of work, with that of the processes that it starts."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    work()
    return time.perf_counter() - wall, sum(os.times()[:4]) - cpu


def fresh_process(day: date) -> tuple[float, float, float]:
    """Wall seconds to start the process that publishes; then (wall, CPU) seconds that publishing a day takes there above what it
    takes in this process, medians of five."""
    product = fresh_product()
    work_alone(product, [day])
    lake, store = Lake(default_root()), open_store(product)
    process._PUBLISHER._ready.clear()
    first, _ = seconds(lambda: publish_fresh(product, lake, day))
    cpu: list[float] = []
    there = [seconds(lambda: cpu.append(publish_fresh(product, lake, day)["cpu_seconds"]))[0] for _ in range(5)]
    here = [seconds(lambda: publish_day(product, lake, day, store)) for _ in range(5)]
    wall_here, cpu_here = (median(each) for each in zip(*here, strict=True))
    return first - median(there), median(there) - wall_here, median(cpu) - cpu_here


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=12)
    n_days = parser.parse_args().days
    days = days_between(FIRST + timedelta(days=1), FIRST + timedelta(days=n_days))
    _, work = cost(work_alone, days)
    print(f"{n_days} days of 400 people, seconds a day; {len(STAGES)} stages and {len(CHECKS)} checks recorded a day")
    print(f"  {'':28}{'wall':>7}{'CPU':>7}{'wall / CPU of the work':>25}{'CPU of Dagster':>16}")
    print(f"  {'work alone (stages, checks)':28}{'':>7}{work:7.2f}")
    for name, way in (("one run of all days", one_run), ("a run a day", a_run_each)):
        wall, cpu = cost(way, days)
        print(f"  {name:28}{wall:7.2f}{cpu:7.2f}{wall / work:25.2f}{cpu - work:16.2f}", flush=True)
    start, wall, cpu = fresh_process(FIRST)
    print(
        f"  the process that publishes: {start:.2f} wall to start it once a run, then {wall:.2f} wall and {cpu:.2f} CPU more a day"
    )


if __name__ == "__main__":
    main()
