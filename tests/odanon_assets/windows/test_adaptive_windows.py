"""Time as a third tree over the bins of a week: hours of days of one type, some days missing, through gate and both stores."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, people, publish, town
from shapely.geometry import box

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.product import Product
from odanon_assets.chain.stages import day_stages, run_stage, window_stages
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

EVERYWHERE = box(-180, -90, 180, 90)
MADE = [DAY + timedelta(days=n) for n in (0, 1, 2, 3, 5)]  # four working days and the Saturday
STARTS = ["00:00", "07:00", "09:00", "16:00"]
LATTICE = {"plugin": "atg-lattice", "k": 10, "suppression": 0.1}


def weekly(folder: Path, name: str = "weekly", time: str = "adaptive", **where: str) -> Product:
    od = {"bin": STARTS, "day_types": "working", "time": time}
    return town(folder, name, anonymize=LATTICE, od=od, publish={"window": "week", "missing_days": 2, **where})


def released(product: Product) -> str:
    """The release of a week that lacks its Friday and its Sunday."""
    for day in MADE:
        _run(product, day_stages(product), day)
    _run(product, window_stages(product)[:-1], DAY)
    return str(publish(product)["release_id"])


def _run(product: Product, stages: Any, day: Any) -> None:
    for stage in stages:
        run_stage(product, stage.name, day, {name: getattr(product, name).instance for name in stage.plugins})


def given() -> pd.DataFrame:
    """The rows of the week by the bin that they are told in, which is named after the first day of its type."""
    clock = np.array([int(start[:2]) for start in STARTS])
    rows = pd.concat([_people(day).assign(day=day) for day in MADE], ignore_index=True)
    hour = clock[np.searchsorted(clock, rows["time_bin"].dt.hour, side="right") - 1]
    first = np.where([day == MADE[-1] for day in rows["day"]], pd.Timestamp(MADE[-1]), pd.Timestamp(DAY))
    return rows.assign(bin=pd.DatetimeIndex(first).tz_localize("UTC") + pd.to_timedelta(hour, unit="h"))


def _people(day: Any) -> pd.DataFrame:
    rows = people(250, hours=(3, 8, 12, 17), day=day)
    return rows[np.random.default_rng(day.day).random(len(rows)) < 0.4]


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    for day in MADE:
        gate.write(workspace, _people(day), day)
    return workspace


def test_a_week_is_told_in_intervals_of_its_bins_and_read_by_their_days(folder: Path, publish: dict[str, str]) -> None:
    product = weekly(folder, **publish)
    release, store = released(product), open_store(product)
    assert store.problems(release) == []
    manifest = json.loads(store.manifest_text(release))
    assert manifest["time"] == "adaptive"
    assert {(each["day_type"], each["days"]) for each in manifest["bins"]} == {
        ("working", 4),
        ("saturday", 1),
        ("sunday_holiday", 0),
    }
    whole = max(manifest["intervals"], key=lambda each: each["days"])
    assert (whole["day_type"], whole["days"]) == ("several", 5)
    flows = store.flows(release)
    told = _recounted(flows, store.zones(release).set_index("zone_id")["tiles"].map(set).to_dict())
    assert flows.groupby(["time_start", "time_end"]).ngroups > 3
    bins = _bins(manifest)
    days = [pd.Timestamp(day, tz="UTC") for day in MADE]
    read = {
        (at, day): _read(store, day + (at - at.normalize()), bins["length"][at]) for at in bins.index for day in days
    }
    by_bin = {at: sum(read[at, day] for day in days if (day == days[-1]) == (at >= days[-1])) for at in bins.index}
    assert by_bin == pytest.approx(_spread(flows, bins))
    assert _read(store, days[0], timedelta(days=7)) == pytest.approx(flows["trips"].sum())
    assert _read(store, days[0] + timedelta(days=4), timedelta(days=1)) == 0  # missing
    half = _read(store, days[1] + timedelta(hours=9), timedelta(hours=3, minutes=30))
    assert half == pytest.approx(by_bin[days[0] + timedelta(hours=9)] / 4 / 2)
    _bounded(store, told)
    _means(store, product, flows)


def _bounded(store: Any, told: pd.DataFrame) -> None:
    """The trips that rows count lie within bounds from any instant to any other."""
    rng, start, at = np.random.default_rng(5), pd.Timestamp(DAY, tz="UTC"), pd.to_datetime(told["time_bin"], utc=True)
    for first, last in np.sort(rng.choice(7 * 24, (12, 2)), axis=1):
        since, until = start + timedelta(hours=int(first)), start + timedelta(hours=int(last) + 1)
        found = store.flow("weekly", EVERYWHERE, EVERYWHERE, When(since, until))
        assert found.low <= told["trips"][(since <= at) & (at < until)].sum() <= found.high


def _bins(manifest: dict[str, Any]) -> pd.DataFrame:
    """Length on a day, and hours on all days, of the bins that have days, by their start."""
    told = pd.DataFrame([each for each in manifest["bins"] if each["days"]])
    hours = told["until"].str[:2].astype(int) - told["since"].str[:2].astype(int)
    start, end = (pd.to_datetime(told[name], utc=True) for name in ("time_bin", "time_end"))
    return pd.DataFrame({"length": end - start, "hours": hours * told["days"]}).set_axis(start)


def _read(store: Any, since: datetime, length: timedelta) -> float:
    return float(store.flow("weekly", EVERYWHERE, EVERYWHERE, When(since, since + length)).estimate)


def _spread(flows: pd.DataFrame, bins: pd.DataFrame) -> dict[pd.Timestamp, float]:
    """What every bin has of the rows that hold it, in proportion to its hours on all its days."""
    found = dict.fromkeys(bins.index, 0.0)
    for row in flows.itertuples():
        inside = bins[(bins.index >= row.time_start) & (bins.index < row.time_end)]
        for at, hours in inside["hours"].items():
            found[at] += row.spread * hours / inside["hours"].sum()
    return found


def _recounted(flows: pd.DataFrame, tiles: dict[str, set[str]]) -> pd.DataFrame:
    """Every row has the trips of the pairs and bins that no smaller row holds, of ten people or more; all that some row counts."""
    rows = given()
    holds = [
        rows["origin"].isin(tiles[row.origin_zone])
        & rows["destination"].isin(tiles[row.destination_zone])
        & (rows["bin"] >= row.time_start)
        & (rows["bin"] < row.time_end)
        for row in flows.itertuples()
    ]
    length = (flows["time_end"] - flows["time_start"]).dt.total_seconds()
    size = [len(tiles[row.origin_zone]) * len(tiles[row.destination_zone]) for row in flows.itertuples()]
    owner = pd.Series(-1, index=rows.index)
    for number in (length * size).sort_values(ascending=False, kind="stable").index:
        owner[holds[number]] = number
    for number, row in enumerate(flows.itertuples()):
        mine = rows[owner == number]
        assert mine["trips"].sum() == row.trips
        assert mine["person"].nunique() >= 10
    assert flows["trips"].sum() >= 0.9 * rows["trips"].sum()
    return rows[owner >= 0]


def _means(store: Any, product: Product, flows: pd.DataFrame) -> None:
    prefix = "published." if product.publish.store == "postgis" else ""
    means = store.query(f"select * from {prefix}daily_means")
    assert len(means) == len(flows)
    assert set(means.groupby("day_type")["days"].unique().explode()) <= {1, 4, 5}
    assert (means["trips_per_day"] * means["days"]).to_numpy() == pytest.approx(means["trips"].to_numpy())


def test_fixed_bins_of_the_same_week_are_judged_and_not_waved_through(folder: Path) -> None:
    released(weekly(folder))
    with pytest.raises(OdanonError, match=r"difference|combination|unproven|regions") as refused:
        released(weekly(folder, "by-bins", time="fixed"))
    assert "time bins that overlap" not in str(refused.value)
    assert "changed-input" not in str(refused.value)


def test_times_that_are_not_those_of_the_days_are_refused(folder: Path) -> None:
    product, lake = weekly(folder), Lake(default_root())
    for day in MADE:
        _run(product, day_stages(product), day)
    _run(product, window_stages(product)[:-1], DAY)
    assert verify_day(product, lake, DAY) == []
    holiday = product.calendar.model_copy(update={"holidays": (DAY,)})
    with pytest.raises(OdanonError, match=r"times that its manifest does not tell|another bins"):
        publish(product.model_copy(update={"calendar": holiday}))
    path = lake.read("weekly", "anonymized", DAY) / "times.parquet"
    pd.read_parquet(path).assign(seconds=lambda t: t["seconds"] * 2).to_parquet(path)
    assert "known-times" in {finding.rule for finding in verify_day(product, lake, DAY)}
