"""The whole chain through Dagster on a small town, and what happens when something is wrong."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import psycopg2
import pytest
from dagster import AssetCheckKey, AssetKey, AssetSelection, DagsterInstance, materialize
from open_door import open_door
from product_example import small_product

from odanon.errors import OdanonError
from odanon.model.release import Release
from odanon_assets.chain.stages import run_stage
from odanon_assets.gate.facts import other_origin
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.platform.assets import product_assets
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import run_days
from odanon_assets.platform.resources import product_resources
from odanon_assets.stores.embedded import EmbeddedStore

DAY = date(2026, 3, 2)


def published_files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in (root / "published").rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small town published once, for the tests that only look."""
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("town")
        (root / "dagster").mkdir()
        for name in ("ODANON_ROOT", "ODANON_PRODUCTS"):
            patch.setenv(name, str(root))
        patch.setenv("DAGSTER_HOME", str(root / "dagster"))
        product = small_product(root)
        (result,) = run_days(product, [DAY], resume=False)
        assert result.error == ""
        yield product, root


def test_a_day_is_published_with_every_stage_recorded(town: Any) -> None:
    product, _ = town
    with DagsterInstance.get() as instance:
        for stage in ("traces", "staypoints", "trips", "od", "hierarchy", "anonymized", "metrics", "published"):
            key = AssetKey([product.slug, stage])
            assert instance.get_materialized_partitions(key) == {"2026-03-02"}, stage
            event = instance.get_latest_materialization_event(key)
            assert event is not None
            assert event.asset_materialization.metadata["seconds"].value >= 0


def test_published_flows_hold_the_promise(town: Any) -> None:
    product, root = town
    folder = EmbeddedStore(root).window_folder(product.product, DAY)
    flows = pd.read_parquet(folder / "flows.parquet")
    zones = geopandas.read_parquet(folder / "zones.parquet")
    manifest = json.loads((folder / "release.json").read_text())
    assert len(flows) > 10
    assert (flows["trips"] >= product.anonymize.instance.k).all()
    assert set(flows["origin_zone"]) | set(flows["destination_zone"]) == set(zones["zone_id"])
    assert set(flows["persons_band"]) <= {"5-9", "10-24", "25-49", "50+"}
    assert manifest["metrics"]["suppressed_share"] <= 0.1
    assert verify_day(product, Lake(root), DAY) == []


def test_published_zones_are_valid_in_postgis(town: Any, postgis_url: str) -> None:
    product, root = town
    zones = geopandas.read_parquet(EmbeddedStore(root).window_folder(product.product, DAY) / "zones.parquet")
    with psycopg2.connect(postgis_url) as connection, connection.cursor() as cursor:
        cursor.execute("create temp table zones (zone_id text, area_km2 float8, geom geometry(MultiPolygon, 4326))")
        rows = zip(zones["zone_id"], zones["area_km2"], zones.geometry.to_wkb(hex=True), strict=True)
        cursor.executemany("insert into zones values (%s, %s, ST_GeomFromWKB(decode(%s, 'hex'), 4326))", list(rows))
        cursor.execute(
            "select count(*), bool_and(ST_IsValid(geom)),"
            " max(abs(ST_Area(geom::geography) / 1e6 - area_km2) / area_km2) from zones"
        )
        count, valid, error = cursor.fetchone()
    assert (count, valid) == (len(zones), True)
    assert error < 0.01
    connection.close()


def test_running_a_day_again_is_byte_identical_and_resuming_skips_it(town: Any) -> None:
    product, root = town
    before = published_files(root)
    (again,) = run_days(product, [DAY], resume=False)
    assert again.error == ""
    assert published_files(root) == before
    (skipped,) = run_days(product, [DAY], resume=True)
    assert skipped.skipped


def test_the_plugins_are_resources_whose_config_can_be_overridden_but_not_for_publication(workspace: Path) -> None:
    product = small_product(workspace)
    definitions = build_definitions([product])
    result = definitions.resolve_job_def(product.slug).execute_in_process(
        partition_key="2026-03-02",
        run_config={"resources": {"small__anonymize": {"config": {"k": 12}}}},
        instance=DagsterInstance.ephemeral(),
        raise_on_error=False,
    )
    assert not result.success
    lake = Lake(workspace / "data")
    assert lake.figures("small", "anonymized", DAY)["parameters"]["k"] == 12
    assert [finding.rule for finding in other_origin(product, lake, DAY)] == ["origin"]
    assert EmbeddedStore(workspace / "data").released("small", DAY) is None


def test_another_k_for_a_published_day_is_refused(workspace: Path) -> None:
    assert next(run_days(small_product(workspace), [DAY], resume=False)).error == ""
    before = published_files(workspace / "data")
    other = small_product(workspace, anonymize={"plugin": "atg-joint", "k": 6})
    error = next(run_days(other, [DAY], resume=False)).error
    assert error.startswith("check auditor failed: nested-difference")
    assert EmbeddedStore(workspace / "data").released("small", DAY) in error
    assert published_files(workspace / "data") == before


def test_a_bad_day_is_reported_in_its_own_words_and_the_next_runs(workspace: Path) -> None:
    strict = small_product(workspace, checks={"max_unknown_zone": 0.0}, zoning={"plugin": "h3", "resolution": 8})
    assert next(run_days(strict, [DAY], resume=False)).error == ""
    dirty = small_product(
        workspace, source={"plugin": "simulated", "people": 100, "dirt": 0.3}, checks={"max_quarantined": 0.01}
    )
    result = next(run_days(dirty, [date(2026, 3, 3)], resume=False))
    assert "more of the input rows are bad than checks.max_quarantined = 1.0% allows" in result.error
    assert EmbeddedStore(workspace / "data").windows("small") == ["2026-03-02"]


def leaky(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    """An anonymiser that publishes every pair as it is."""
    tiles = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
    return Release.from_nodes(od, origins, destinations, *tiles, {})


def test_a_bad_anonymiser_publishes_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = small_product(workspace)
    monkeypatch.setattr(type(product.anonymize.instance), "anonymize", leaky)
    error = next(run_days(product, [DAY], resume=False)).error
    assert error.startswith("the verifier refuses what atg-joint made: at-least-k")
    assert not (workspace / "data" / "work" / "small" / "anonymized" / "date=2026-03-02").exists()
    open_door(monkeypatch)
    error = next(run_days(product, [DAY], resume=False)).error
    assert error.startswith("check verifier failed: at-least-k")
    assert EmbeddedStore(workspace / "data").windows("small") == []


def test_publishing_alone_is_refused_too(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocking check holds only inside its run, so the publishing stage verifies by itself."""
    product = small_product(workspace)
    monkeypatch.setattr(type(product.anonymize.instance), "anonymize", leaky)
    open_door(monkeypatch)
    next(run_days(product, [DAY], resume=False))
    run_stage(product, "metrics", DAY, {})
    with pytest.raises(OdanonError, match="is not published: at-least-k"):
        run_stage(product, "published", DAY, {})
    assert EmbeddedStore(workspace / "data").windows("small") == []


def test_a_stage_without_its_input_says_what_to_run(workspace: Path) -> None:
    product = small_product(workspace)
    with pytest.raises(OdanonError, match="odanon run small --date 2026-03-02"):
        run_stage(product, "trips", DAY, {"engine": product.engine.instance})


def test_a_check_can_be_evaluated_alone(town: Any) -> None:
    product, _ = town
    check = AssetCheckKey(AssetKey(["small", "anonymized"]), "verifier")
    result = materialize(
        [product_assets(product)],
        selection=AssetSelection.checks(check),
        tags={"dagster/partition": "2026-03-02"},
        resources=product_resources(product),
        instance=DagsterInstance.ephemeral(),
    )
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.asset_check_key, evaluation.passed, evaluation.partition) == (check, True, "2026-03-02")
    assert result.get_asset_materialization_events() == []


def test_one_stage_can_be_run_alone(town: Any) -> None:
    product, root = town
    before = published_files(root)
    result = materialize(
        [product_assets(product)],
        selection=AssetSelection.assets(["small", "metrics"]),
        partition_key="2026-03-02",
        resources=product_resources(product),
        instance=DagsterInstance.ephemeral(),
    )
    assert {event.asset_key.path[-1] for event in result.get_asset_materialization_events()} == {"metrics"}
    assert published_files(root) == before


def test_no_pickle_is_written(town: Any) -> None:
    _, root = town
    suffixes = {path.suffix for path in (root / "work").rglob("*") if path.is_file()}
    assert suffixes == {".parquet", ".json"}
