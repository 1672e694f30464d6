"""Rests through the whole pipeline and both stores: counted once, shown by segment or whole, told coarsely, and checked."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, people, publish, published, town, visible
from nested_rows import tree_of_a_reader
from pooled import Pooled
from shapely.geometry import box

from odanon.anonymizers.atg.joint import AtgJoint
from odanon.errors import OdanonError
from odanon.model.release import REST
from odanon.model.when import When
from odanon.product import Product
from odanon.reconstruct.areas import flow_between
from odanon.reconstruct.readings import better
from odanon.reconstruct.weights import weigh
from odanon_assets.derived.export import Format, export
from odanon_assets.derived.months import make_month, month_folder
from odanon_assets.lake.files import sha256
from odanon_assets.publisher import act
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.stores_in_turn

EVERYWHERE = box(-180, -90, 180, 90)
BY_SEX = {"person": "person", "segment": "sex"}
HOURS = (8, 9)
PLACE = ["time_start", "origin_zone", "destination_zone"]
_ZONING = {"plugin": "h3", "resolution": 8}


@pytest.fixture
def pooling(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A town whose anonymiser leaves nothing out but what its root cannot hold."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(AtgJoint, "anonymize", Pooled.anonymize)
    gate.write(workspace, people(500, hours=HOURS))
    return workspace


@pytest.fixture(params=["embedded", "postgis"])
def sexes(request: pytest.FixtureRequest, pooling: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    target: dict[str, Any] = {"store": request.param}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        target["url"] = "${ODANON_DB_URL}"
    weights = pooling / "weights.csv"
    rows = people(500, hours=HOURS)
    residents = rows.groupby("origin")["person"].nunique().rename("residents")
    residents.rename_axis("tile").reset_index().assign(jobs=7).to_csv(weights, index=False)
    product = town(pooling, "sexes", BY_SEX, publish=target, zoning={**_ZONING, "weights": str(weights)})
    published(product)
    return product


def manifest(product: Product) -> dict[str, Any]:
    store = open_store(product)
    return json.loads(store.manifest_text(str(store.released(product.product, DAY))))


def test_every_trip_is_told_once_and_only_the_root_leaves_any_out(sexes: Product, tmp_path: Path) -> None:
    flows, store = visible(sexes), open_store(sexes)
    release = str(store.released("sexes", DAY))
    zones = store.zones(release).set_index("zone_id")["tiles"]
    rests = flows[flows["kind"] == REST]
    assert len(rests) > 3
    assert set(flows["segment"]) == {"all", "F", "M"}
    assert rests.merge(flows[flows["kind"] != REST], on=PLACE).empty
    _recounted(flows, zones.map(set).to_dict())
    # What is read on areas that hold everything is everything.
    start = pd.Timestamp(DAY, tz="UTC").to_pydatetime()
    read = store.flow("sexes", EVERYWHERE, EVERYWHERE, When(start, start + timedelta(days=1)))
    total = flows["trips"].sum()
    assert read == pytest.approx((total, total, total, 1.0))
    told = manifest(sexes)["metrics"]
    assert told["coarse_share"] == pytest.approx(rests["trips"].sum() / flows["trips"].sum(), abs=0.05)
    assert "told coarsely" in store.report(release)
    tiles, fine = store.zones(release).set_index("zone_id")["n_tiles"], flows[flows["kind"] != REST]
    size = fine["origin_zone"].map(tiles) + fine["destination_zone"].map(tiles)
    assert told["gbar"] == pytest.approx((fine["trips"] * size).sum() / fine["trips"].sum(), rel=0.01)
    assert export(store, "sexes", tmp_path / "out", [Format.csv, Format.gpkg, Format.geoparquet], None, None) == 1
    written = pd.read_csv(tmp_path / "out" / "flows.csv")
    assert (written["kind"] == REST).sum() == len(rests)
    weighed = pd.read_csv(tmp_path / "out" / "weights.csv")
    assert len(weighed) == len(store.weights(release)) > 0
    listed = pd.read_csv(tmp_path / "out" / "tiles.csv")
    assert len(listed) == len(store.tiles(release)) > 0
    described = {r["path"]: r for r in json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"]}
    for path, table in (("flows.csv", written), ("weights.csv", weighed), ("tiles.csv", listed)):
        assert [*table] == [field["name"] for field in described[path]["schema"]["fields"]]
    make_month(sexes, DAY.replace(day=1), store)
    month = pd.read_parquet(month_folder(sexes, DAY.replace(day=1)) / "flows.parquet")
    assert month["trips"].sum() == flows["trips"].sum()
    assert month["spread"].sum() == pytest.approx(flows["spread"].sum())
    assert month["spread_prior"].sum() == pytest.approx(flows["spread_prior"].sum())
    tiles = pd.read_parquet(month_folder(sexes, DAY.replace(day=1)) / "tiles.parquet")
    assert tiles["leaving"].tolist() == store.tiles(release)["leaving"].tolist()
    assert [set(names) for names in tiles["zones"]] == [set(names) for names in store.tiles(release)["zones"]]
    assert month.loc[month["kind"] == REST, "trips"].sum() == rests["trips"].sum()


def test_weights_follow_from_what_readers_have_and_stores_read_by_them(sexes: Product) -> None:
    store, told = open_store(sexes), manifest(sexes)
    release = told["release_id"]
    flows, zones, weights = store.flows(release), store.zones(release), store.weights(release)
    public = flows.drop(columns=[name for name in flows if name.startswith("spread")])
    found = weigh(public, zones, tree_of_a_reader(zones))
    pd.testing.assert_frame_equal(found.table, weights, check_exact=True)
    assert found.spread["fitted"].tobytes() == flows["spread_fitted"].to_numpy().tobytes()
    assert told["readings"] == ["even", "fitted", "prior"]
    assert told["reading"] == better(told["metrics"])
    assert told["weights"] == {"columns": ["residents", "jobs"], "sha256": sha256(sexes.zoning.weights)}
    assert {"reconstruction_loss", "reconstruction_loss_fitted", "reconstruction_loss_prior"} <= set(told["metrics"])
    start = pd.Timestamp(DAY, tz="UTC").to_pydatetime()
    part = zones.geometry[zones["n_tiles"].idxmin()]
    read = {
        how: store.flow("sexes", part, EVERYWHERE, When(start, start + timedelta(days=1)), how).estimate
        for how in ("even", "fitted", "prior", "auto")
    }
    tiles = store.tiles(release)
    for how, beside in (("fitted", weights), ("prior", tiles)):
        assert read[how] == pytest.approx(flow_between(flows, zones, part, EVERYWHERE, how, beside), rel=1e-7)
    inside = {name for names in zones["tiles"] for name in names}
    assert tiles["tile"].tolist() == sorted({*people(500, hours=HOURS)["origin"]} & inside)  # those that the file names
    assert read.pop("auto") == read[told["reading"]]
    assert len({round(value, 3) for value in read.values()}) == 3
    assert store.problems(release) == []


def _recounted(flows: pd.DataFrame, tiles: dict[str, set[str]]) -> None:
    """Every row holds ten people or more, and the trips of its own region: of no pair that a smaller row holds."""
    rows = people(500, hours=HOURS)
    for at, here in flows.groupby("time_start"):
        there = rows[rows["time_bin"] == at].reset_index(drop=True)
        places = here[["origin_zone", "destination_zone"]].drop_duplicates()
        places["cells"] = [len(tiles[o]) * len(tiles[d]) for o, d in places.itertuples(index=False)]
        owner = pd.Series(-1, index=there.index)
        for place in places.sort_values("cells", ascending=False).itertuples():
            inside = there["origin"].isin(tiles[place.origin_zone])
            owner[inside & there["destination"].isin(tiles[place.destination_zone])] = place.Index
        place_of = {(p.origin_zone, p.destination_zone): p.Index for p in places.itertuples()}
        for flow in here.itertuples():
            mine = there[owner == place_of[flow.origin_zone, flow.destination_zone]]
            mine = mine[(mine["sex"] == flow.segment) | (flow.segment == "all")]
            assert mine["person"].nunique() >= 10
            assert mine["trips"].sum() == flow.trips
        assert there.loc[owner < 0, "person"].nunique() < 10


def test_noise_is_that_of_the_people_of_a_rest(pooling: Path) -> None:
    product = town(pooling, "noisy", publish={"store": "embedded", "perturb": "cell-key"})
    published(product)
    flows = visible(product)
    assert (flows["kind"] == REST).any()
    assert (flows["trips"] >= 10).all()
    assert flows["spread"].sum() == pytest.approx(flows["trips"].sum())


def test_a_second_release_that_cuts_a_rest_open_is_refused(pooling: Path) -> None:
    """The same people with another k: rests and flows of both are subtracted from each other."""
    published(town(pooling, "coarse", anonymize={"plugin": "atg-joint", "k": 12, "suppression": 0.1}))
    other = town(pooling, "fine", anonymize={"plugin": "atg-joint", "k": 10, "suppression": 0.1})
    gate.made(other)
    with pytest.raises(OdanonError, match=r"difference|combination|bounds|unproven"):
        publish(other)


def test_a_bundle_that_tells_rests_wrongly_is_refused(pooling: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, product = act.make_bundle, town(pooling)
    gate.made(product)

    def wrong(column: str) -> Callable[..., Bundle]:
        def made(*given: Any) -> Bundle:
            bundle = make(*given)
            flows = bundle.flows.copy()
            at = flows.index[flows["kind"] == REST][0]
            flows.loc[at, column] = "flow" if column == "kind" else flows.loc[at, "trips"] / 2
            return replace(bundle, flows=flows)

        return made

    for column in ("kind", "spread"):
        monkeypatch.setattr(act, "make_bundle", wrong(column))
        with pytest.raises(OdanonError, match="published-flows"):
            publish(product)
