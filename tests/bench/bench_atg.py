"""CPU time of the ATG family in units of `numpy.lexsort((destination, origin))` of the same flows in the same run.

Flows are generated (heavy tails, hot spots, distance decay) and come in random order; each measurement is a fresh process
with compiled kernels in the cache, whole `anonymize` call included, release assembled. Targets are printed beside. The growth
from 50 k to 5 M flows is drawn as text and as SVG under odanon_data/bench. Run it with
`python tests/bench/bench_atg.py`; it fails if a target is missed.
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from generate import City, flows, person_rows

from odanon.anonymizers.atg import joint
from odanon.anonymizers.atg.dual import AtgDual
from odanon.anonymizers.atg.homogeneous import AtgHomogeneous
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.anonymizers.atg.soft import AtgSoft
from odanon.anonymizers.trees.problem import Problem
from odanon.model.matrix import ODMatrix

PLUGINS = {"joint": AtgJoint, "dual": AtgDual, "soft": AtgSoft, "homogeneous": AtgHomogeneous}
TARGETS = {("joint", "trips"): 10, ("joint", "persons"): 25, ("dual", "trips"): 3, ("soft", "trips"): 2}
TARGETS |= {("homogeneous", "trips"): 100}
MEMORY_TARGET_MB = 1500
QUICK_S, REPEATS = 8, 5  # short runs are repeated, in turn with lexsort, and the least times count
SETS = {"500k": (18_000, 500_000), "5M": (50_000, 5_000_000)}
GROWTH = (50_000, 160_000, 500_000, 1_600_000, 5_000_000)
CHART = Path(__file__).parents[2] / "odanon_data" / "bench" / "atg_growth.svg"


def measure(algorithm: str, unit: str, n_tiles: int, rows_file: str) -> dict[str, Any]:
    """Run in a child: times, peak memory and figures of one algorithm on one matrix."""
    tree = City.make(n_tiles, np.random.default_rng(n_tiles)).tree
    rows = [np.load(f"{rows_file}.{i}.npy") for i in range(4 if unit == "persons" else 3)]
    plugin = PLUGINS[algorithm](unit=unit)
    part = [column[:20_000] for column in rows]
    plugin.anonymize(ODMatrix.from_arrays(*part), tree, tree)  # loads the compiled kernels
    od = ODMatrix.from_arrays(*rows)
    o, d = rows[:2]
    del rows, part
    lexsort, solving, memory = [], [], 0.0
    while not solving or (sum(solving) < QUICK_S and len(solving) < REPEATS):
        lexsort.append(cpu(lambda: np.lexsort((d, o))))
        started = time.process_time()
        release = plugin.anonymize(od, tree, tree)
        solving.append(time.process_time() - started)
        memory = memory or peak_mb()  # of the first run
        figures = {"Gbar": release.metrics["Gbar"], "S": release.metrics["S_share"]}
        del release
    return {"cpu": min(solving), "lexsort": min(lexsort), "peak_mb": memory, **figures}


def cores(n_tiles: int, rows_file: str) -> dict[str, float]:
    """Run in a child: CPU time of both directions one after the other, and of the longer one when both run at once.

    The latter is the wall time that two free cores need; wall time itself would also measure what else runs.
    """
    tree = City.make(n_tiles, np.random.default_rng(n_tiles)).tree
    od = ODMatrix.from_arrays(*(np.load(f"{rows_file}.{i}.npy") for i in range(3)))
    problem = Problem(od, tree, tree, AtgJoint(unit="trips"))
    sides = problem, problem.transposed

    def timed(side: Problem) -> float:
        started = time.thread_time()
        joint.solve(side)
        return time.thread_time() - started

    timed(problem)
    one = min(sum(map(timed, sides)) for _ in range(3))
    with ThreadPoolExecutor(2) as threads:
        two = min(max(threads.map(timed, sides)) for _ in range(3))
    return {"one": one, "two": two}


def cpu(call: Any) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def child(*arguments: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def write_rows(folder: str, name: str, columns: tuple[np.ndarray, ...]) -> str:
    for i, column in enumerate(columns):
        np.save(f"{folder}/{name}.{i}.npy", column)
    return f"{folder}/{name}"


def report(name: str, algorithm: str, unit: str, result: dict[str, Any]) -> bool:
    """Print one line; whether the target holds."""
    ratio, target = result["cpu"] / result["lexsort"], TARGETS.get((algorithm, unit))
    good = target is None or ratio <= target
    memory_matters = name == "5M" and unit == "trips"
    good &= not memory_matters or result["peak_mb"] <= MEMORY_TARGET_MB
    print(
        f"{name:>5} {unit:8} {algorithm:12} {result['cpu']:7.2f} s {ratio:6.1f} x (target {target or '-':>3})"
        f" {result['peak_mb']:6.0f} MB  Gbar {result['Gbar']:7.2f}  S {result['S']:.4f}  {'' if good else 'MISSED'}",
        flush=True,
    )
    return good


def growth(folder: str) -> list[tuple[int, float]]:
    """(flows, CPU seconds) of ATG-Joint on one city of 50 k tiles."""
    n_tiles, points = SETS["5M"][0], []
    city = City.make(n_tiles, np.random.default_rng(n_tiles))
    for n_flows in GROWTH:
        rows = write_rows(folder, f"growth{n_flows}", flows(city, n_flows, np.random.default_rng(n_flows)))
        points.append((n_flows, child("measure", "joint", "trips", n_tiles, rows)["cpu"]))
    return points


def draw(name: str, points: list[tuple[int, float]], chart: Path) -> None:
    """Microseconds a flow as bars, and CPU time over flows on log-log axes as SVG."""
    print(f"\ngrowth of {name}, CPU microseconds a flow:")
    for n_flows, cpu in points:
        each = cpu / n_flows * 1e6
        print(f"{n_flows:>9,} flows {cpu:7.2f} s {each:6.2f} us {'#' * round(10 * each)}")
    (x0, y0), (x1, _) = points[0], points[-1]
    slope = np.polyfit(*np.log10(np.array(points)).T, 1)[0]
    print(f"slope on log-log axes: {slope:.2f} (1 = linear)")

    def at(n_flows: float, cpu: float) -> str:
        return f"{60 + 200 * (np.log10(n_flows / x0)):.0f},{320 - 100 * np.log10(cpu / y0 * 4):.0f}"

    line, linear = " ".join(at(*point) for point in points), f"{at(x0, y0)} {at(x1, y0 * x1 / x0)}"
    dots = "".join(
        f'<circle cx="{xy[0]}" cy="{xy[1]}" r="4"/><text x="{xy[0]}" y="{int(xy[1]) - 10}">{cpu:.2f} s</text>'
        for (n, cpu) in points
        for xy in [at(n, cpu).split(",")]
    )
    chart.parent.mkdir(parents=True, exist_ok=True)
    chart.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="560" height="360" font-family="sans-serif" font-size="12">'
        f'<text x="60" y="20">{name}, CPU time over flows (log-log; dashed: linear; slope {slope:.2f})</text>'
        f'<polyline points="{linear}" fill="none" stroke="gray" stroke-dasharray="4"/>'
        f'<polyline points="{line}" fill="none" stroke="black"/>{dots}'
        f'<text x="60" y="350">{x0:,} flows</text><text x="440" y="350">{x1:,} flows</text></svg>'
    )
    print(f"drawn to {chart}")


def main() -> int:
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (n_tiles, n_flows) in SETS.items():
            city, rng = City.make(n_tiles, np.random.default_rng(n_tiles)), np.random.default_rng(n_flows)
            trips = write_rows(folder, f"{name}trips", flows(city, n_flows, rng))
            people = write_rows(folder, f"{name}persons", person_rows(city, n_flows, rng))
            for algorithm in PLUGINS:
                good &= report(name, algorithm, "trips", child("measure", algorithm, "trips", n_tiles, trips))
            good &= report(name, "joint", "persons", child("measure", "joint", "persons", n_tiles, people))
            both = child("cores", n_tiles, trips)
            gain = both["one"] / both["two"]
            print(f"      both directions: {both['one']:.2f} s on one core, {both['two']:.2f} s on two ({gain:.2f} x)")
        draw("ATG-Joint (both directions)", growth(folder), CHART)
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])))
    elif sys.argv[1:2] == ["cores"]:
        print(json.dumps(cores(int(sys.argv[2]), sys.argv[3])))
    else:
        sys.exit(main())
