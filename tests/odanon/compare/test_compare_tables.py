"""Comparing tables of zones and of labels alone, hour by hour: same figures, same page, flows read back through time."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from shapely.geometry import box

from odanon.compare.page import _bin_labels, comparison_page
from odanon.compare.plan import Case, Plan, cases
from odanon.tables.read import TableInput
from odanon.tables.times import over_bins

Run = Callable[[Plan], pd.DataFrame]
SIDE = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trips of three hours between 36 squares, most of them from z0 to z1, with a layer and a tree of the squares."""
    folder = tmp_path_factory.mktemp("squares")
    names = [f"z{i}" for i in range(SIDE * SIDE)]
    shapes = [
        box(4.8 + 0.01 * (i % SIDE), 45.7 + 0.01 * (i // SIDE), 4.81 + 0.01 * (i % SIDE), 45.71 + 0.01 * (i // SIDE))
        for i in range(len(names))
    ]
    geopandas.GeoDataFrame({"id": names}, geometry=shapes, crs="EPSG:4326").to_file(folder / "zones.gpkg")
    blocks = [f"b{i // SIDE // 2}-{i % SIDE // 2}" for i in range(len(names))]
    edges = [*zip(names, blocks, strict=True), *((block, "all") for block in sorted(set(blocks)))]
    pd.DataFrame(edges, columns=["child", "parent"]).to_csv(folder / "tree.csv", index=False)
    rng = np.random.default_rng(8)
    spread = pd.DataFrame({"origin": rng.choice(names, 600), "destination": rng.choice(names, 600)})
    busy = pd.DataFrame({"origin": ["z0"] * 90, "destination": ["z1"] * 90})
    trips = pd.concat([spread, busy]).assign(hour=lambda rows: np.arange(len(rows)) % 3)
    trips.to_csv(folder / "trips.csv", index=False)
    return folder


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])


def plan_of(table: TableInput, out: Path) -> Plan:
    names = ("atg-joint", "quadtree-knapsack")  # the second one publishes rests of the map
    return Plan(table, tuple(Case(name, 10, "trips", 0.8) for name in names), out, 60)


def test_zones_are_mapped_and_a_busy_flow_is_read_back_hour_by_hour(
    folder: Path, tmp_path: Path, run_here: Run
) -> None:
    table = TableInput(path=folder / "trips.csv", time="hour", hierarchy="ward", zones=folder / "zones.gpkg")
    plan = plan_of(table, tmp_path / "out")
    compared = run_here(plan)
    assert (compared["status"] == "done").all()
    assert compared[["GDM", "MAO", "MAD", "density", "trips_x1"]].notna().all().all()
    data = data_of(comparison_page(plan, compared, table.load()))
    assert [release["algorithm"] for release in data["maps"]] == ["atg-joint", "quadtree-knapsack"]
    assert data["profiles"]["bins"] == ["0", "1", "2"]
    flow = data["profiles"]["flows"][0]
    assert (flow["o"], flow["d"]) == ("z0", "z1")
    assert all(count >= 30 for count in flow["original"])
    assert flow["atg-joint"] == pytest.approx(flow["original"])  # published as it is; little else is


def test_bins_are_called_by_the_local_clock() -> None:
    days = [f"2021-01-0{day}T05:00:00+00:00/2021-01-0{day + 1}T05:00:00+00:00" for day in (1, 2)]
    assert _bin_labels(days, "America/New_York") == ["01 Jan", "02 Jan"]
    assert _bin_labels(["2000-01-01T06:00:00+00:00/2000-01-01T12:00:00+00:00"], "America/New_York") == ["06:00"]
    assert _bin_labels(["early", "late"], "UTC") == ["early", "late"]


def test_labels_alone_are_compared_without_a_map(folder: Path, tmp_path: Path, run_here: Run) -> None:
    table = TableInput(path=folder / "trips.csv", time="hour", hierarchy=str(folder / "tree.csv"))
    plan = plan_of(table, tmp_path / "out")
    compared = run_here(plan)
    assert (compared["status"] == "done").all()
    assert compared["GDM"].isna().all()
    page = comparison_page(plan, compared, table.load())
    data = data_of(page)
    assert data["maps"] == []
    assert data["profiles"]["flows"][0]["original"] == data["profiles"]["flows"][0]["atg-joint"]


def test_a_plan_may_keep_figures_only(folder: Path, tmp_path: Path, run_here: Run) -> None:
    table = TableInput(path=folder / "trips.csv", hierarchy=str(folder / "tree.csv"))
    plan = Plan(table, (Case("uniform", 10, "trips", 0.9, {"level": 1}),), tmp_path / "out", 60, keep_releases=False)
    compared = run_here(plan)
    assert compared["parameters"].tolist() == ['{"level": 1}']
    assert not plan.release(plan.cases[0]).exists()


def test_time_as_a_third_tree_is_compared_with_fixed_bins(folder: Path, tmp_path: Path, run_here: Run) -> None:
    table = TableInput(path=folder / "trips.csv", time="hour", hierarchy=str(folder / "tree.csv"))
    plan = Plan(table, cases("atg-lattice,atg-joint", "10", "trips", 0.8, adaptive=True), tmp_path / "out", 60)
    compared = run_here(plan)
    assert compared["algorithm"].tolist() == ["atg-joint", "atg-lattice", "atg-lattice adaptive"]
    assert (compared["status"] == "done").all()
    assert "adaptive" not in compared
    fixed, in_time = (compared.set_index("algorithm").loc[name] for name in ("atg-lattice", "atg-lattice adaptive"))
    assert in_time["Gbar"] < fixed["Gbar"]
    assert in_time["E"] == pytest.approx(fixed["E"], rel=0.1)  # over the same cells
    flow = data_of(comparison_page(plan, compared, table.load()))["profiles"]["flows"][0]
    assert flow["atg-lattice adaptive"] == pytest.approx(flow["original"], rel=0.1)


def test_flows_of_intervals_are_spread_evenly_over_the_bins_that_a_table_has() -> None:
    told = pd.DataFrame({"time_start": ["06:00", "21:00"], "time_end": ["09:00", "24:00"], "trips": [30, 6]})
    hours = over_bins(told.assign(spread=[3.0, 0.6]), [7, 8, 23])
    assert hours[["time", "trips", "spread"]].to_dict("list") == {
        "time": [7, 8, 23],
        "trips": [10, 10, 2],
        "spread": pytest.approx([1.0, 1.0, 0.2]),
    }
    start = pd.Timestamp("2026-03-02 06:00", tz="UTC")
    told = told.iloc[:1].assign(time_start=start, time_end=start + pd.Timedelta(hours=2))
    names = [f"2026-03-02T0{hour}:00Z" for hour in (5, 6, 7)]
    assert over_bins(told, names)[["time", "trips"]].to_dict("list") == {"time": names[1:], "trips": [15, 15]}
