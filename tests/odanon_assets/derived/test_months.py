"""Months: sums of published cells and nothing else."""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pytest
import shapely
from dagster import AssetKey, DagsterInstance
from product_example import small_product

from odanon.errors import OdanonError
from odanon_assets.derived import months
from odanon_assets.derived.months import make_month, month_folder, month_zones
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import days_between, run_days
from odanon_assets.stores.embedded import EmbeddedStore

MARCH = date(2026, 3, 1)
TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Friday and a Saturday, the last days of March that this product has."""
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("months")
        (root / "dagster").mkdir()
        for name in ("ODANON_ROOT", "ODANON_PRODUCTS"):
            patch.setenv(name, str(root))
        patch.setenv("DAGSTER_HOME", str(root / "dagster"))
        product = small_product(root, start="2026-02-27", **TINY)
        assert not any(
            r.error for r in run_days(product, days_between(date(2026, 2, 27), date(2026, 2, 28)), resume=False)
        )
        yield product, EmbeddedStore(root)


def test_a_run_that_completes_a_month_makes_its_tables(days: Any) -> None:
    product, _ = days
    with DagsterInstance.get() as instance:
        assert instance.get_materialized_partitions(AssetKey(["small", "monthly"])) == {"2026-02-01"}
    assert (month_folder(product, date(2026, 2, 1)) / "flows.parquet").exists()


def test_a_resumed_run_makes_the_months_whose_days_were_published_before_a_kill(days: Any) -> None:
    product, _ = days
    folder = month_folder(product, date(2026, 2, 1))
    made = (folder / "flows.parquet").read_bytes()
    shutil.rmtree(folder)
    wanted = days_between(date(2026, 2, 27), date(2026, 2, 28))
    assert all(result.skipped for result in run_days(product, wanted, resume=True))
    assert (folder / "flows.parquet").read_bytes() == made
    before = folder.stat().st_ino
    assert all(result.skipped for result in run_days(product, wanted, resume=True))
    assert folder.stat().st_ino == before  # nothing is made twice


def test_a_month_sums_what_its_days_published(days: Any) -> None:
    product, store = days
    figures = make_month(product, date(2026, 2, 1), store)
    folder = month_folder(product, date(2026, 2, 1))
    flows = pd.read_parquet(folder / "flows.parquet")
    parts = [store.flows(store.released("small", day)) for day in (date(2026, 2, 27), date(2026, 2, 28))]
    cells = pd.concat(parts)
    expected = cells.groupby(["segment", "origin_zone", "destination_zone"])["trips"].sum()
    found = flows.groupby(["segment", "origin_zone", "destination_zone"])["trips"].sum()
    pd.testing.assert_series_equal(found, expected, check_dtype=False)
    assert figures["trips"] == cells["trips"].sum()
    assert set(flows["days"]) <= {1, 2}
    zones = geopandas.read_parquet(folder / "zones.parquet")
    assert set(flows["origin_zone"]) | set(flows["destination_zone"]) <= set(zones["zone_id"])


def test_the_typical_day_is_a_working_day(days: Any) -> None:
    product, store = days
    assert make_month(product, date(2026, 2, 1), store)["working_days"] == 1
    typical = pd.read_parquet(month_folder(product, date(2026, 2, 1)) / "typical_day.parquet")
    friday = store.flows(store.released("small", date(2026, 2, 27)))
    assert typical["trips_per_day"].sum() == friday["trips"].sum()


def test_the_same_month_is_the_same_bytes(days: Any) -> None:
    product, store = days
    folder = month_folder(product, date(2026, 2, 1))
    make_month(product, date(2026, 2, 1), store)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    make_month(product, date(2026, 2, 1), store)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert json.loads(before["figures.json"])["days"] == 2


def test_a_month_that_fails_is_left_to_people(workspace: Path) -> None:
    """Another run would not find more days."""
    job = build_definitions([small_product(workspace)]).resolve_job_def("small_monthly")
    with DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(partition_key="2026-03-01", instance=instance, raise_on_error=False)
        tags = instance.get_run_by_id(done.run_id).tags
    assert not done.success
    assert tags["dagster/retry_on_asset_or_op_failure"] == "false"


def test_a_month_without_days_says_so(workspace: Path) -> None:
    with pytest.raises(OdanonError, match="run its days first"):
        make_month(small_product(workspace), MARCH, EmbeddedStore(workspace / "data"))


def test_one_name_for_two_shapes_becomes_two_areas() -> None:
    def zones(size: float) -> geopandas.GeoDataFrame:
        shapes = [shapely.box(0, 0, 1, 1), shapely.box(2, 2, 2 + size, 3)]
        return geopandas.GeoDataFrame({"zone_id": ["same", "box-1"]}, geometry=shapes, crs="EPSG:4326")

    made = month_zones({"one": zones(1), "two": zones(2)})
    areas = made.groupby("zone_id")["area"].nunique()
    assert areas.to_dict() == {"same": 1, "box-1": 2}
    assert set(made.loc[made["zone_id"] == "same", "area"]) == {"same"}


def test_a_month_waits_for_all_its_days(workspace: Path) -> None:
    graph = build_definitions([small_product(workspace)]).resolve_asset_graph()
    condition = graph.get(AssetKey(["small", "monthly"])).automation_condition
    assert condition is not None
    assert "any_deps_missing" in str(condition)


def test_days_that_were_published_by_bins_count_when_a_product_turns_adaptive(workspace: Path) -> None:
    adaptive = {"anonymize": {"plugin": "atg-lattice", "k": 5}, "od": {"bin": "12h", "time": "adaptive"}}
    product = small_product(workspace, **TINY, **adaptive)
    start = pd.to_datetime(["2026-03-02T11:00Z"] * 2)
    ends = pd.Series([pd.NaT, pd.Timestamp("2026-03-02T23:00Z")], dtype="datetime64[us, UTC]")
    flows = pd.DataFrame({"release_id": "r", "time_start": start, "origin_zone": "a", "destination_zone": "a"})
    zones = pd.DataFrame({"release_id": ["r"], "zone_id": ["a"], "area": ["a"]})
    cells = months._cells(product, flows.assign(time_end=ends), zones)
    assert cells["clock"].tolist() == ["12:00", "12:00-24:00"]
