"""Time as a third tree through the whole pipeline and both stores: recounted row by row, read by the hour, and checked."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import h3
import pandas as pd
import pytest
from gate_town import DAY, people, publish, published, town, visible
from shapely.geometry import box

from odanon.errors import OdanonError
from odanon.model.release import REST
from odanon.model.when import When
from odanon.product import Product
from odanon_assets.derived.export import Format, export
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

EVERYWHERE = box(-180, -90, 180, 90)
HOURS = (6, 7, 8, 9, 17, 18)
LATTICE = {"plugin": "atg-lattice", "k": 10, "suppression": 0.1}
ADAPTIVE = {"bin": "1h", "time": "adaptive"}
TOLD = {"in-time": ADAPTIVE, "by-bins": {"bin": "1h"}}
START = pd.Timestamp(DAY, tz="UTC").to_pydatetime()


def commuters() -> pd.DataFrame:
    """Most of them travel in the morning."""
    rows = people(500, hours=HOURS)
    late = rows["time_bin"].dt.hour > 8
    return rows[~late | (rows.index % 5 == 0)].reset_index(drop=True)


@pytest.fixture
def commuting(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, commuters())
    return workspace


@pytest.fixture
def product(commuting: Path, publish: dict[str, str]) -> Product:
    made = town(commuting, "commuters", anonymize=LATTICE, od=ADAPTIVE, publish=publish)
    published(made)
    return made


def test_rows_tell_their_times_and_hold_k_people_in_three_dimensions(product: Product, tmp_path: Path) -> None:
    flows, store = visible(product), open_store(product)
    release = str(store.released("commuters", DAY))
    tiles = store.zones(release).set_index("zone_id")["tiles"].map(set).to_dict()
    length = (flows["time_end"] - flows["time_start"]) / timedelta(hours=1)
    assert set(length) <= {1.0, 3.0, 6.0, 12.0, 24.0}
    assert length.nunique() > 1
    assert (flows["kind"] == REST).any()
    _recounted(flows, tiles)
    assert flows["trips"].sum() >= 0.98 * commuters()["trips"].sum()
    assert json.loads(store.manifest_text(release))["time"] == "adaptive"
    assert store.problems(release) == []
    assert export(store, "commuters", tmp_path / "out", [Format.csv], None, None) == 1
    written = pd.read_csv(tmp_path / "out" / "flows.csv", parse_dates=["time_start", "time_end"])
    assert written["time_end"].tolist() == flows["time_end"].tolist()
    read = _read(store, START, START + timedelta(days=1))
    assert read == pytest.approx(flows["trips"].sum())
    by_hour = [_read(store, at, at + timedelta(hours=1)) for at in (START + timedelta(hours=h) for h in range(24))]
    assert sum(by_hour) == pytest.approx(read)
    assert by_hour == pytest.approx(_hours(flows))


def _read(store: Any, since: datetime, until: datetime) -> float:
    return float(store.flow("commuters", EVERYWHERE, EVERYWHERE, When(since, until)).estimate)


def _hours(flows: pd.DataFrame) -> list[float]:
    """Trips of every hour with rows spread evenly over their time; of a rest over what no finer row holds, whose spread says so."""
    hours = [0.0] * 24
    for row in flows.itertuples():
        first, end = (
            row.time_start.hour,
            row.time_start.hour + round((row.time_end - row.time_start) / timedelta(hours=1)),
        )
        for hour in range(first, end):
            hours[hour] += row.spread / (end - first)
    return hours


def _recounted(flows: pd.DataFrame, tiles: dict[str, set[str]]) -> None:
    """Every row holds ten people or more, and the trips of its own region: of no pair and hour that a smaller row holds."""
    rows = commuters()
    cells = [
        len(tiles[row.origin_zone]) * len(tiles[row.destination_zone]) * (row.time_end - row.time_start).total_seconds()
        for row in flows.itertuples()
    ]
    owner = pd.Series(-1, index=rows.index)
    for number in pd.Series(cells).sort_values(ascending=False, kind="stable").index:
        row = flows.iloc[number]
        inside = rows["origin"].isin(tiles[row["origin_zone"]]) & rows["destination"].isin(
            tiles[row["destination_zone"]]
        )
        owner[inside & (rows["time_bin"] >= row["time_start"]) & (rows["time_bin"] < row["time_end"])] = number
    for number, row in enumerate(flows.itertuples()):
        mine = rows[owner == number]
        assert mine["trips"].sum() == row.trips
        assert mine["person"].nunique() >= 10


def test_a_release_by_bins_of_the_same_people_is_judged_and_not_waved_through(commuting: Path) -> None:
    published(town(commuting, "commuters", anonymize=LATTICE, od=ADAPTIVE))
    with pytest.raises(OdanonError, match=r"difference|combination|unproven|regions") as refused:
        published(town(commuting, "by-bins", anonymize=LATTICE))
    assert "time bins that overlap" not in str(refused.value)


@pytest.mark.parametrize("first", ["in-time", pytest.param("by-bins", marks=pytest.mark.thorough)])
def test_trips_up_to_a_cap_in_time_and_by_bins_tell_who_travelled_twice(commuting: Path, first: str) -> None:
    """One person of 24 travels at six and at seven: that is one trip of an interval and two of its bins."""
    near, far = h3.cell_to_children(h3.latlng_to_cell(45.75, 4.85, 7), 8)[:2], h3.latlng_to_cell(45.8, 4.95, 8)
    crowds = {(6, near[0]): "abcdef", (7, near[0]): "ghijka", (6, near[1]): "lmnopq", (7, near[1]): "rstuvw"}
    ends = [(hour, tile, who) for (hour, tile), names in crowds.items() for who in names]
    hours, origins, persons = zip(*ends, strict=True)
    start = [START + timedelta(hours=hour) for hour in hours]
    rows = {"time_bin": start, "origin": origins, "destination": far, "trips": 1, "person": persons}
    gate.write(commuting, pd.DataFrame(rows))
    capped = {**LATTICE, "suppression": 0.0, "contribution_cap": 1}
    products = [town(commuting, name, anonymize=capped, od=od) for name, od in TOLD.items()]
    one, other = products if first == "in-time" else products[::-1]
    published(one)
    gate.made(other, like=one.product)
    with pytest.raises(OdanonError, match="comparable: trips counted up to a cap"):
        publish(other)


def test_what_the_tables_say_of_times_is_verified(commuting: Path) -> None:
    product = town(commuting, "commuters", anonymize=LATTICE, od=ADAPTIVE)
    gate.made(product)
    lake = Lake(default_root())
    assert verify_day(product, lake, DAY) == []
    folder = lake.read("commuters", "anonymized", DAY)
    longest = "2026-03-02T00:00:00+00:00/2026-03-03T00:00:00+00:00"

    def rules(change: Callable[[pd.DataFrame], pd.DataFrame]) -> set[str]:
        path = folder / "flows.parquet"
        kept = path.read_bytes()
        change(pd.read_parquet(path)).to_parquet(path)
        found = {finding.rule for finding in verify_day(product, lake, DAY)}
        path.write_bytes(kept)
        return found

    short = pd.read_parquet(folder / "flows.parquet")["time"].ne(longest).idxmax()
    assert "disjoint" in rules(lambda t: t.assign(time=t["time"].where(t.index != short, longest)))
    assert "known-times" in rules(lambda t: t.assign(time=t["time"].where(t.index != short, "another time")))
    assert "duplicate-flows" in rules(lambda t: pd.concat([t, t.iloc[:1]]))
    assert "known-times" in {finding.rule for finding in verify_day(town(commuting, "commuters"), lake, DAY)}


def test_adaptive_time_needs_a_method_and_rows_that_allow_it(commuting: Path) -> None:
    with pytest.raises(OdanonError, match="splits no time; choose atg-lattice"):
        town(commuting, od=ADAPTIVE)
    with pytest.raises(OdanonError, match="perturb needs bins"):
        town(commuting, od=ADAPTIVE, anonymize=LATTICE, publish={"store": "embedded", "perturb": "cell-key"})
