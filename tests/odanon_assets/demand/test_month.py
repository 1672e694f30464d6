"""Travellers of a month: made where nothing but published tables is there, kept from readers, and gone with what they were made from."""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import demand_town
import geopandas
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones
from dagster import AssetKey, DagsterInstance, materialize
from product_example import small_product
from shapely.geometry import box
from store_databases import as_role
from typer.testing import CliRunner

from odanon import cli
from odanon.demand.run import run
from odanon.demand.settings import load_demand
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.demand import month as months
from odanon_assets.demand.figures import figures_of
from odanon_assets.demand.month import demand_folder, make_demand, settings_of
from odanon_assets.derived.folders import Derived, made_from
from odanon_assets.lake.places import default_root
from odanon_assets.platform.derived_assets import demand_assets
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act, Store

pytestmark = pytest.mark.stores_in_turn

DAYS = [date(2026, 3, 2), date(2026, 3, 3)]
HOLIDAY, SUNDAY, MARCH = date(2026, 3, 4), date(2026, 3, 8), date(2026, 3, 1)
PARTS: tuple[months.Part, ...] = ("demand_agents", "demand_places", "demand_metrics")
ACT = Act("Ada", "asked to")
OD = "  od: {published: ../odanon_data, product: town, month: 2026-03, reading: even}\n"


def release_of(day: date, more: int = 0) -> Bundle:
    """Flows between all of three squares in three stretches of the day."""
    made = bundle(trips=more, product="town", day=day, rows=9, zones=town_zones(["z1", "z2", "z3"]))
    hours = {(6, 9): 4, (9, 15): 2, (15, 22): 5}
    parts = []
    for (since, until), busy in hours.items():
        at = [pd.Timestamp(day, tz="UTC") + pd.Timedelta(hours=hour) for hour in (since, until)]
        trips = (busy * (made.flows["trips"] + 10 + day.day)).astype("int64")
        parts.append(made.flows.assign(time_start=at[0], time_end=at[1], trips=trips, spread=trips.astype(float)))
    flows = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(("time_start", "time_end"), "datetime64[us, UTC]"))
    return Bundle(**{**vars(made), "flows": flows[list(FLOW_COLUMNS)]})


def write_survey(folder: Path, od: str = OD) -> Path:
    """The demand file of the town: its six zones are halves of the squares."""
    yaml = demand_town.YAML.replace("  od: od.csv\n", od).replace("zones.csv", "zones.geojson")
    path = demand_town.write_town(folder, yaml)
    halves = [box(at / 2, 0, (at + 1) / 2, 1) for at in range(6)]
    zones = demand_town.zones().drop(columns=["lat", "lon"])
    geopandas.GeoDataFrame(zones, geometry=halves, crs="EPSG:4326").to_file(folder / "zones.geojson")
    return path


def product_in(folder: Path, publish: dict[str, Any]) -> Product:
    days = {"start": "2026-03-01", "end": "2026-03-31", "timezone": "UTC", "calendar": {"holidays": [str(HOLIDAY)]}}
    return small_product(folder, product="town", publish=publish, demand="demand/town.yaml", **days)


@pytest.fixture(params=["embedded", "postgis"])
def town(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Product, Store]:
    """A product with two working days, a holiday and a Sunday in the store, and nothing else: no source, no lake."""
    publish: dict[str, Any] = {"store": "embedded"}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        publish = {"store": "postgis", "url": "${ODANON_DB_URL}"}
    write_survey(workspace / "pipelines" / "demand")
    product = product_in(workspace / "pipelines", publish)
    store = open_store(product)
    for day in (*DAYS, HOLIDAY, SUNDAY):
        store.publish(release_of(day), accept)
    return product, store


def make(product: Product, store: Store, part: months.Part = "demand_metrics") -> tuple[dict[str, Any], list[str]]:
    """What is told, and the stages that were not taken as they were."""
    begun: list[str] = []

    def heard(stage: str, done: int, _of: int) -> None:
        begun.extend([stage] if done == 0 else [])

    return make_demand(default_root(), product, MARCH, store, part, heard), begun


def test_the_assets_need_nothing_but_what_is_published(
    town: tuple[Product, Store], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    product, store = town
    root, folder = default_root(), demand_folder(default_root(), product, MARCH)
    if product.publish.url is not None:
        monkeypatch.setenv("ODANON_DB_URL", as_role(product.publish.url.get_secret_value(), "odanon_reader"))
        product = product_in(tmp_path / "pipelines", {"store": "postgis", "url": "${ODANON_DB_URL}"})
    shutil.rmtree(root / "work")  # the lake, of which nothing is needed, nor is there a source
    before = {path for path in root.rglob("*") if path.is_file()}
    with DagsterInstance.ephemeral() as instance:
        done = materialize(demand_assets(product), instance=instance, partition_key="2026-03-01")
        assert done.success
        told: dict[str, Any] = {}
        for part in PARTS:
            (event,) = done.asset_materializations_for_node(f"town__{part}")
            assert event.asset_key == AssetKey(["town", part])
            told |= {name: value.value for name, value in event.metadata.items()}
    made = {path for path in root.rglob("*") if path.is_file()} - before
    assert {path.relative_to(root).parts[0] for path in made} <= {"demand", "locks"}
    assert (root / "demand").stat().st_mode & 0o777 == 0o700
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert made_from(folder) == sorted(str(store.released("town", day)) for day in DAYS)
    assert evaluation["inputs"]["od"]["published"]["days"] == [2.0] * 4
    assert told["agents"] == len(pd.read_parquet(folder / "agents.parquet"))
    assert told["od_r2"] == pytest.approx(evaluation["places"]["od fit"]["r2"], rel=1e-5)
    assert {"od_kl", "lost_share", "commute_r2", "travellers", "largest_gap"} <= told.keys()
    assert not [word for word in ("s000", "c000") if word in json.dumps(told, default=str)]  # nobody is named
    # From the file alone, by a modeller who has the address and knows the holiday.
    place = str(root) if product.publish.url is None else product.publish.url.get_secret_value()
    settings = settings_of(product, MARCH)
    od = settings.inputs.od.model_copy(update={"published": place})
    run(settings.model_copy(update={"inputs": settings.inputs.model_copy(update={"od": od})}), tmp_path / "out")
    for name in ("agents", "activities"):
        assert (tmp_path / "out" / f"{name}.parquet").read_bytes() == (folder / f"{name}.parquet").read_bytes()


def test_parts_go_on_from_each_other_and_a_correction_starts_again(town: tuple[Product, Store]) -> None:
    product, store = town
    folder = demand_folder(default_root(), product, MARCH)
    assert make(product, store, "demand_agents")[1] == ["prepare", "match", "calibrate"]
    assert make(product, store, "demand_places")[1] == ["place"]
    first, begun = make(product, store)
    assert begun == ["evaluate"]
    derived = Derived(default_root())
    with derived.locked():  # as `odanon supersede` does
        derived.withdraw("town", DAYS[0])
        assert not folder.exists()
        store.publish(release_of(DAYS[0], 500), accept, ACT)
    second, begun = make(product, store)
    assert begun == ["prepare", "match", "calibrate", "place", "evaluate"]
    assert made_from(folder) == sorted(str(store.released("town", day)) for day in DAYS)
    assert figures_of("demand_agents", second)["trips"] > figures_of("demand_agents", first)["trips"]
    assert make(product, store, "demand_agents")[1] == []
    assert not (folder / "evaluation.json").exists()  # it belongs to what is made anew


def test_a_purge_or_withdrawal_of_a_day_reaches_them(town: tuple[Product, Store]) -> None:
    product, store = town
    folder = demand_folder(default_root(), product, MARCH)
    who = ["--by", "Ada", "--reason", "asked to"]
    make(product, store)
    called = CliRunner().invoke(cli.main, ["purge", "town", "--date", str(SUNDAY), *who], catch_exceptions=False)
    assert called.exit_code == 0, called.output
    assert folder.exists()  # no Sunday is in it
    Derived(default_root()).withdraw_release(store, "town", DAYS[1], ACT)
    assert not folder.exists()
    make(product, store, "demand_agents")
    assert made_from(folder) == [str(store.released("town", DAYS[0]))]
    called = CliRunner().invoke(cli.main, ["purge", "town", "--date", str(DAYS[0]), *who], catch_exceptions=False)
    assert called.exit_code == 0, called.output
    assert not folder.exists()
    with pytest.raises(OdanonError, match="no working day of 2026-03"):
        make(product, store)
    assert not folder.exists()


def test_nothing_appears_of_a_month_that_changes_meanwhile(
    town: tuple[Product, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    product, store = town
    with monkeypatch.context() as patch:  # a day that was published after this one was looked up
        patch.setattr(months, "releases_of", lambda *_: {DAYS[0]: str(store.released("town", DAYS[0]))})
        with pytest.raises(OdanonError, match="published a day of 2026-03 meanwhile"):
            make(product, store)
    assert not demand_folder(default_root(), product, MARCH).exists()
    real = months.write_folder

    def withdraw_first(*asked: Any) -> None:
        Derived(default_root()).withdraw_release(store, "town", DAYS[0], ACT)
        real(*asked)

    monkeypatch.setattr(months, "write_folder", withdraw_first)
    with pytest.raises(OdanonError, match="taken away or replaced meanwhile"):
        make(product, store)
    assert not demand_folder(default_root(), product, MARCH).exists()


def test_a_measure_that_is_no_number_is_not_told() -> None:
    fit = {"r2": float("nan"), "kl": 0.5, "kl_common": None}
    assert figures_of("demand_metrics", {"places": {"od fit": fit}}) == {"od_kl": 0.5}


def test_the_demand_file_must_be_about_what_the_product_publishes(workspace: Path) -> None:
    demand = workspace / "pipelines" / "demand"
    for od in ("  od: od.csv\n", OD.replace("product: town", "product: other")):
        write_survey(demand, od)
        product = small_product(workspace / "pipelines", product="town", demand="demand/town.yaml")
        with pytest.raises(OdanonError, match=r"inputs.od must be what town publishes"):
            settings_of(product, MARCH)
    assert load_demand(product.demand).inputs.od.product == "other"  # type: ignore[arg-type]
    plain = small_product(workspace / "pipelines", product="town")
    assert demand_assets(plain) == []
    with pytest.raises(OdanonError, match="names no file under demand"):
        settings_of(plain, MARCH)
