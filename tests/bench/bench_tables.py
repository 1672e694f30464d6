"""Reading one's own table: a CSV of trips as `odanon anonymize` reads it, beside the plain way of doing so.

The plain way reads as `TableInput` did at first: pandas parses every column of the file, labels and ids are texts on every row, and
H3 is asked for the cell of every point; then it makes its matrix with today's code, which is faster than the first. Both make the
same matrix, which is compared. One table is as people have them, nineteen columns, five of them wanted; in the other, places are
coordinates.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import h3
import numpy as np
import pandas as pd

from odanon.hierarchies.h3 import H3Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.reading.batches import MEMORY_LIMIT
from odanon.reading.persons import persons
from odanon.tables.read import TableInput
from odanon.tables.times import cut, parse_bins
from odanon.zoning.h3 import H3Zoning

ROWS = int(os.environ.get("ODANON_BENCH_ROWS", "10_000_000"))
PEOPLE, CHUNK, ROUNDS = 300_000, 500_000, 3


def write_coordinates(path: Path) -> None:
    """Trips of a week by where they start and end, to a tenth of a metre."""
    rng = np.random.default_rng(2)
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 20))
    middles, busy = np.array([h3.cell_to_latlng(cell) for cell in cells]), rng.zipf(1.6, len(cells)).clip(max=50)
    for first in range(0, ROWS, CHUNK):
        n = min(CHUNK, ROWS - first)
        o, d = (middles[rng.choice(len(cells), n, p=busy / busy.sum())] + rng.normal(0, 1e-3, (n, 2)) for _ in range(2))
        at = pd.Timestamp("2026-03-02") + pd.to_timedelta(rng.integers(0, 7 * 86_400, n), unit="s")
        user = np.char.add("u", rng.integers(10**8, 10**8 + PEOPLE, n).astype(str))
        ends = {
            f"{side}_{axis}": each[:, i].round(6)
            for side, each in (("o", o), ("d", d))
            for i, axis in enumerate(("lat", "lon"))
        }
        pd.DataFrame({"user": user, "start": at, **ends}).to_csv(path, index=False, mode="a", header=first == 0)


def write_labels(path: Path) -> None:
    """Trips of a week with all that a system exports beside what is wanted."""
    rng = np.random.default_rng(1)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 20)), dtype=object)
    busy = rng.zipf(1.6, len(cells)).clip(max=50).astype(float)
    for first in range(0, ROWS, CHUNK):
        n = min(CHUNK, ROWS - first)
        at = pd.Timestamp("2026-03-02") + pd.to_timedelta(rng.integers(0, 7 * 86_400, n), unit="s")
        money = {name: rng.integers(0, 5000, n) / 100 for name in ("fare", "tip", "tolls", "tax", "total")}
        table = pd.DataFrame(
            {
                "trip_id": np.arange(first, first + n),
                "user": np.char.add("u", rng.integers(10**8, 10**8 + PEOPLE, n).astype(str)),
                "start": at,
                "end": at + pd.Timedelta(minutes=17),
                "o": rng.choice(cells, n, p=busy / busy.sum()),
                "d": rng.choice(cells, n, p=busy / busy.sum()),
                "passengers": rng.integers(1, 5, n),
                "distance_km": rng.integers(0, 50_000, n) / 1000,
                **money,
                "mode": rng.choice(["car", "bus", "walk"], n),
                "vendor": "a vendor of trips",
                "payment": rng.choice(["card", "cash"], n),
                "flag": rng.choice(["Y", "N"], n),
                "quality": rng.integers(0, 1000, n) / 1000,
                "note": "exported by the system",
            }
        )
        table.to_csv(path, index=False, mode="a", header=first == 0)


def plain_way(path: Path) -> ODMatrix:
    """All columns by pandas, texts on every row."""
    table = pd.read_csv(path, dtype=dict.fromkeys(("o", "d", "user"), str))
    for side in ("o", "d"):
        if side not in table:
            points = table[f"{side}_lat"].tolist(), table[f"{side}_lon"].tolist()
            table[side] = [h3.latlng_to_cell(lat, lon, 8) for lat, lon in zip(*points, strict=True)]
    ids, kinds = persons(table["user"])
    kinds.refuse_mixed()
    labels = {ours: table[name].where(table[name].isna(), table[name].astype("str")) for ours, name in ends.items()}
    rows = pd.DataFrame({**labels, "person": ids.astype("str"), "time": table["start"]})
    assert not rows.isna().any(axis="columns").any()
    instants = pd.to_datetime(rows["time"]).dt.tz_localize("Europe/Paris")
    found = cut(instants, table_input(path).zone, parse_bins("--bin", "3h"), str(path))
    tree = H3Hierarchy(steps="fine").build(
        H3Zoning(resolution=8).tiles(np.union1d(rows["origin"].unique(), rows["destination"].unique()))
    )
    rows = rows.assign(time=found.number)
    return ODMatrix.from_frame(rows, tree, tree, trips=None, time="time", times=found.times)


ends = {"origin": "o", "destination": "d"}


def table_input(path: Path) -> TableInput:
    steps = {"steps": "fine"}
    named = ends if path.stem == "labels" else {ours: f"{name}_lat,{name}_lon" for ours, name in ends.items()}
    return TableInput(
        path=path, **named, resolution=8, person="user", time="start", bin="3h", timezone="Europe/Paris", adaptive=True, hierarchy_parameters=steps
    )  # fmt: skip


def new_way(path: Path) -> ODMatrix:
    """As `odanon anonymize` does."""
    return table_input(path).load().matrices[None]


def apart(way: str, path: Path) -> dict[str, Any]:
    """What a way says of itself in a process of its own."""
    done = subprocess.run([sys.executable, __file__, way, str(path)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def tell(way: Callable[[Path], ODMatrix], path: Path) -> None:
    """Seconds and peak megabytes, and what was made."""
    started = time.perf_counter()
    od = way(path)
    passed = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sums = [int(np.dot(part.astype(np.int64) % 9973, np.arange(len(part)) % 9973)) for part in _parts(od)]
    print(json.dumps({"seconds": passed, "peak_mb": peak, "matrix": [len(od.trips), *sums]}))


def _parts(od: ODMatrix) -> list[np.ndarray]:
    return [part for part in (od.origin, od.destination, od.time, od.person, od.trips) if part is not None]


def main() -> int:
    return max(map(compared, TABLES))


def compared(name: str) -> int:
    """Both ways of reading a table; 0 if they make the same matrix."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        TABLES[name](path)
        print(
            f"{name}: {ROWS:,} rows, {path.stat().st_size >> 20:,} MiB; the reading child may take {MEMORY_LIMIT >> 20:,} MiB"
        )
        rounds = [{way: apart(way, path) for way in WAYS} for _ in range(ROUNDS)]
    for way, name in WAYS_TOLD.items():
        seconds = ", ".join(f"{each[way]['seconds']:.1f}" for each in rounds)
        peak = max(each[way]["peak_mb"] for each in rounds)
        print(f"{name:10} {seconds} s, by turns; {peak:,.0f} MiB in the process that asks")
    same = len({json.dumps(told["matrix"]) for each in rounds for told in each.values()}) == 1
    ratio = median(each["plain"]["seconds"] / each["new"]["seconds"] for each in rounds)
    print(f"{ratio:.1f} times faster, the middle of {ROUNDS} rounds; the same matrix: {same}")
    return 0 if same else 1


TABLES = {"labels": write_labels, "coordinates": write_coordinates}
WAYS = {"new": new_way, "plain": plain_way}
WAYS_TOLD = {"plain": "plain way", "new": "odanon"}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        tell(WAYS[sys.argv[1]], Path(sys.argv[2]))
    else:
        sys.exit(main())
