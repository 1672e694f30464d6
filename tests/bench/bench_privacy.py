"""How long the gate takes: the verifier on five million person-level rows, the auditor on a year and on a week, the ledger.

Run it with `python tests/bench/bench_privacy.py`; CPU time of one core.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from generate import City, person_rows

from odanon.anonymizers.atg.joint import AtgJoint
from odanon.gate.audit.auditor import audit
from odanon.gate.audit.published import Content, PublishedMatrix
from odanon.gate.release import area_tiles
from odanon.gate.verifier import verify
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon_assets.stores.embedded import EmbeddedStore

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from bundles import accept, bundle

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def table(city: City, n_rows: int, seed: int) -> pd.DataFrame:
    """Person-level rows with labels as a Parquet reader with dictionaries gives them."""
    origin, destination, trips, person = person_rows(city, n_rows, np.random.default_rng(seed))
    labels = pd.Index(city.tree.label[city.tree.tiles], dtype="str")
    rows = pd.DataFrame({"o": origin, "d": destination, "person": person, "trips": trips})
    rows = rows.groupby(["o", "d", "person"], as_index=False)["trips"].sum()
    sides = {"origin": rows["o"], "destination": rows["d"]}
    return rows[["person", "trips"]].assign(**{s: pd.Categorical.from_codes(c, labels) for s, c in sides.items()})


def released(city: City, rows: pd.DataFrame) -> Release:
    od = ODMatrix.from_arrays(
        rows["origin"].cat.codes.to_numpy(),
        rows["destination"].cat.codes.to_numpy(),
        rows["trips"].to_numpy(),
        rows["person"].to_numpy(),
    )
    return AtgJoint(k=10).anonymize(od, city.tree, city.tree)


def measure(title: str, run: Callable[[], Any]) -> None:
    began = time.process_time()
    result = run()
    print(f"{title:<64} {time.process_time() - began:>7.2f} CPU-s   findings: {len(result)}")


def verifier(n_rows: int, n_tiles: int) -> None:
    city = City.make(n_tiles, np.random.default_rng(1))
    rows = table(city, n_rows, 2)
    release = released(city, rows)
    areas = [area_tiles(part, city.tree) for part in (release.origins, release.destinations)]
    lost = int(release.assignment.loc[release.assignment["flow"] < 0, "trips"].sum())
    title = f"verifier, {len(rows):,} rows, {len(release.flows):,} flows, {n_tiles:,} tiles"
    measure(title, lambda: verify(rows, release.flows, *areas, Promise(k=10), suppressed_trips=lost))


def matrix(city: City, rows: pd.DataFrame, name: str, start: datetime, end: datetime) -> PublishedMatrix:
    inside = rows[(rows["time"] >= start) & (rows["time"] < end)]
    summed = inside.groupby(["origin", "destination", "person"], as_index=False, observed=True)["trips"].sum()
    release = released(city, summed)
    areas = [area_tiles(part, city.tree) for part in (release.origins, release.destinations)]
    content = Content(release.flows, areas[0], areas[1], inside)
    return PublishedMatrix(name, str(end - start), "phones", start, end, 10, "persons", lambda: content)


def auditor(n_rows: int) -> None:
    city = City.make(2_000, np.random.default_rng(1))
    days = [table(city, n_rows, seed).assign(time=pd.Timestamp(START + seed * DAY)) for seed in range(7)]
    rows = pd.concat(days, ignore_index=True)
    published = [matrix(city, rows, f"day{n}", START + n * DAY, START + (n + 1) * DAY) for n in range(7)]
    load = published[0].load
    year = [
        PublishedMatrix(f"day{day}", "hourly", "phones", at, at + HOUR, 10, "persons", load)
        for day in range(365)
        for at in (START + day * DAY + hour * HOUR for hour in range(24))
    ]
    measure("auditor, one day of 24 hours after a year of 8,736", lambda: audit(year[-24:], year[:-24]))
    again = matrix(city, rows, "again", START, START + DAY)
    measure(f"auditor, the same day again, {len(days[0]):,} rows", lambda: audit([again], published))
    week = matrix(city, rows, "week", START, START + 7 * DAY)
    measure(f"auditor, a week after its days, {len(rows):,} rows", lambda: audit([week], published))


def ledger(n_products: int) -> None:
    """Which of a year of daily releases of several products share input with a day, from the embedded store's files."""
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore(Path(folder))
        for number in range(n_products):
            for day in range(365):
                store.publish(bundle(day=START.date() + day * DAY, product=f"p{number}", data_sha256="phones"), accept)
        title = f"ledger, a day's companions among {n_products * 365:,} releases"
        measure(title, lambda: store.sharing("p0", "phones", START + 300 * DAY, START + 301 * DAY))


if __name__ == "__main__":
    verifier(50_000, 500)  # imports and first allocations
    verifier(6_700_000, 20_000)  # five million after adding up
    auditor(100_000)
    ledger(3)
