"""How fast traces come through the door: read, validated, pseudonymised and searched for impossible rows, in CPU time.

Run it with `python tests/bench/bench_sources.py`. Reading happens in a child process; its CPU time is shown apart.
The goal is that all of this together stays well below one CPU-microsecond a point.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from odanon.reading.plausible import implausible
from odanon.reading.pseudonym import pseudonyms
from odanon.reading.validate import Tally, validate
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city
from odanon.staypoints.frame import person_starts
from odanon.traces.antennas import Antennas
from odanon.traces.points import Points

DAY = date(2026, 3, 2)
START = datetime(2026, 3, 1, 23, tzinfo=UTC)  # midnight in Paris
END = START + timedelta(days=1)
KEY = b"a key of the benchmark, 32 bytes"


def measure(title: str, work: Callable[[], int]) -> None:
    """Print rows, CPU seconds of this process and of its children, and the rate over both."""
    before, children = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = time.process_time() - before
    child = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    rate = rows / (own + child) / 1e6
    print(f"{title:<44} {rows:>11,} rows {own:>6.2f} + {child:>5.2f} CPU-s {rate:>7.2f} M/CPU-s")


def read(source: Points | Antennas) -> int:
    return sum(map(len, source.batches(START, END)))


def validated(batches: list[pd.DataFrame]) -> int:
    tally = Tally()
    for batch in batches:
        validate(batch, START, END, tally)
    return tally.read


def hashed(batches: list[pd.DataFrame]) -> int:
    return sum(len(pseudonyms(batch["person"], KEY)) for batch in batches)


def searched(points: pd.DataFrame) -> int:
    starts = person_starts(points["person"].cat.codes.to_numpy())
    time_us = points["time"].astype("int64").to_numpy()
    implausible(starts, time_us, points["lat"].to_numpy(), points["lon"].to_numpy())
    return len(points)


def main(people: int) -> None:
    ids = pd.Series([f"person-{n:09d}" for n in range(1_000_000)], dtype="str")
    pseudonyms(ids[:10], KEY)  # loads the kernel
    measure("pseudonyms, all ids distinct", lambda: len(pseudonyms(ids, KEY)))
    with tempfile.TemporaryDirectory() as folder:
        city = Simulated(people=people)
        write_city(city, Mode.gps, DAY, 1, Path(folder) / "gps", lambda _: None)
        source = Points(path=f"{folder}/gps/points", date_zone="Europe/Paris")
        measure("read Parquet", lambda: read(source))
        batches = list(source.batches(START, END))
        measure("validate", lambda: validated(batches))
        measure("pseudonyms, as they come", lambda: hashed(batches))
        whole = pd.concat([b.astype({"person": "str"}) for b in batches], ignore_index=True).astype(
            {"person": "category"}
        )
        searched(whole[:10])
        measure("swapped coordinates and teleports", lambda: searched(whole))
        part = whole[: 1 << 20].assign(time=lambda rows: rows["time"].map(pd.Timestamp.isoformat))
        part.to_csv(f"{folder}/points.csv", index=False)
        measure("read CSV", lambda: read(Points(path=f"{folder}/points.csv")))
        part.to_json(f"{folder}/points.jsonl", orient="records", lines=True)
        measure("read JSON lines", lambda: read(Points(path=f"{folder}/points.jsonl")))
        write_city(city, Mode.nsd, DAY, 1, Path(folder) / "nsd", lambda _: None)
        events = Antennas(
            path=f"{folder}/nsd/events", antennas=f"{folder}/nsd/antennas.parquet", date_zone="Europe/Paris"
        )
        measure("read antenna events, Parquet", lambda: read(events))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest process, reading children included: {np.ceil(peak):,.0f} MB")


if __name__ == "__main__":
    main(people=20_000)
