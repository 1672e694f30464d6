"""Products by segment, from the table to what analysts read: a flow is shown split or whole, and adds up once."""

from pathlib import Path
from typing import Any

import gate_town as gate
import geopandas
import pandas as pd
import pytest
from gate_town import DAY, people, publish, published, town, visible
from product_example import small_product
from shapely.geometry import box

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.product import Product
from odanon_assets.derived.export import Format, export
from odanon_assets.derived.segments import shown_segments
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.stores_in_turn

BY_SEX = {"person": "person", "segment": "sex"}
PAIR = ["time_start", "origin_zone", "destination_zone"]
EVERYWHERE = box(-180, -90, 180, 90)


@pytest.fixture(params=["embedded", "postgis"])
def sexes(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    """Two hours of a town, published by sex, in each store."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    target: dict[str, Any] = {"store": request.param}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        target["url"] = "${ODANON_DB_URL}"
    gate.write(workspace, people(1500, hours=(8, 9)))
    product = town(workspace, "sexes", BY_SEX, publish=target)
    published(product)
    return product


def test_flows_are_split_or_whole_and_each_part_has_k_people(sexes: Product, tmp_path: Path) -> None:
    flows, store = visible(sexes), open_store(sexes)
    assert set(flows["segment"]) == {"all", "F", "M"}
    assert flows["persons_band"].notna().all()
    split, whole = flows[flows["segment"] != "all"], flows[flows["segment"] == "all"]
    assert len(split) > 20
    assert split.merge(whole, on=PAIR).empty
    # Counted again from the rows, by what the zones say about tiles.
    zones = store.zones(str(store.released("sexes", DAY))).set_index("zone_id")
    rows = people(1500, hours=(8, 9))
    tiles = {zone: set(zones.loc[zone, "tiles"]) for zone in {*flows["origin_zone"], *flows["destination_zone"]}}
    for flow in flows.itertuples():
        inside = rows["origin"].isin(tiles[flow.origin_zone]) & rows["destination"].isin(tiles[flow.destination_zone])
        inside &= rows["time_bin"] == flow.time_start
        here = rows[inside & ((rows["sex"] == flow.segment) | (flow.segment == "all"))]
        assert here["person"].nunique() >= 10
        assert here["trips"].sum() == flow.trips
    # Whoever adds up all rows, in SQL or by areas, counts every trip once.
    total = float(flows["trips"].sum())
    day = pd.Timestamp(DAY, tz="UTC").to_pydatetime()
    assert store.flow("sexes", EVERYWHERE, EVERYWHERE, When(day, day + pd.Timedelta(days=1))).estimate == pytest.approx(
        total
    )
    assert float(store.query("select sum(trips) as n from flows")["n"].iloc[0]) == total
    assert export(store, "sexes", tmp_path / "out", [Format.csv, Format.gpkg], None, None) == 1
    pd.testing.assert_series_equal(
        pd.read_csv(tmp_path / "out" / "flows.csv")["segment"].value_counts(), flows["segment"].value_counts(),
        check_dtype=False, check_index_type=False,
    )  # fmt: skip
    lines = geopandas.read_file(tmp_path / "out" / "sexes.gpkg", layer="desire_lines")
    assert lines["trips"].sum() == flows.loc[flows["origin_zone"] != flows["destination_zone"], "trips"].sum()
    assert store.problems(str(store.released("sexes", DAY))) == []
    shown = shown_segments(store, str(store.released("sexes", DAY))).segments
    trips = flows.groupby("segment")["trips"].sum()
    assert {segment: figures["trips"] for segment, figures in shown.items()} == trips.to_dict()


def test_running_the_day_again_changes_nothing(sexes: Product) -> None:
    before = open_store(sexes).manifest_text(str(open_store(sexes).released("sexes", DAY)))
    gate.made(sexes)
    assert publish(sexes)["fresh"] is False
    assert open_store(sexes).manifest_text(str(open_store(sexes).released("sexes", DAY))) == before
    assert '"segments": [\n    "sex"\n  ]' in before
    assert '"auditor": "passed"' in before


def test_attributes_of_people_make_segments_and_finer_ones_of_the_same_areas_pass(workspace: Path) -> None:
    """A second split of the same flows shows nothing below k; one of other areas would."""
    source = {"plugin": "simulated", "people": 900, "seed": 3, "radius_km": 4}
    by_sex = small_product(workspace, product="sexes", source=source, people={"segments": ["sex"]}, od={"bin": "24h"})
    release = published(by_sex)
    assert {"all", "female", "male"} >= set(visible(by_sex)["segment"]) > {"all"}
    listed = pd.concat(list(by_sex.source.instance.persons()))
    listed.assign(half=["old", "young"] * (len(listed) // 2)).to_csv(workspace / "people.csv", index=False)
    both = {"table": str(workspace / "people.csv"), "segments": ["sex", "half"]}
    finer, rougher = (
        small_product(workspace, product=f"ages-{k}", source=source, people=both, od={"bin": "24h"}, anonymize=k_of(k))
        for k in (5, 8)
    )
    gate.made(rougher)
    with pytest.raises(OdanonError, match=f"nested-difference.*{release}"):
        publish(rougher)
    gate.made(finer, like="ages-8")
    publish(finer)
    assert any("/" in segment for segment in visible(finer)["segment"])


def k_of(k: int) -> dict[str, Any]:
    return {"plugin": "atg-joint", "k": k}


def test_a_value_that_looks_like_two_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    trips = pd.DataFrame({"person": ["a"], "start": ["2026-03-02T08:00:00Z"], "end": ["2026-03-02T09:00:00Z"]})
    trips[["o_lat", "o_lon", "d_lat", "d_lon"]] = 45.75, 4.85, 45.76, 4.86
    trips.to_csv(workspace / "trips.csv", index=False)
    pd.DataFrame({"person": ["a"], "sex": ["F/M"], "age": ["old"]}).to_csv(workspace / "people.csv", index=False)
    product = small_product(
        workspace,
        source={"plugin": "trips", "path": str(workspace / "trips.csv")},
        people={"table": str(workspace / "people.csv"), "segments": ["sex", "age"]},
    )
    with pytest.raises(OdanonError, match=r"'sex' .* holds a value with a slash"):
        gate.made(product)


def test_segments_that_are_too_small_everywhere_leave_all_flows_whole(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people().assign(sex=lambda table: table["person"]))
    product = town(workspace, columns=BY_SEX)
    published(product)
    assert set(visible(product)["segment"]) == {"all"}


def test_a_time_bin_of_too_few_people_is_left_out_alone(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    night = people(3).assign(time_bin=pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=3))
    gate.write(workspace, pd.concat([people(1500), night]))
    product = town(workspace, "sexes", BY_SEX)
    published(product)
    assert visible(product)["time_start"].dt.hour.unique().tolist() == [8]
    assert set(visible(product)["segment"]) == {"all", "F", "M"}


def test_a_product_without_segments_has_no_file_of_them(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    product = town(workspace)
    published(product)
    assert set(visible(product)["segment"]) == {"all"}
    kept = Lake(default_root()).read("town", "anonymized", DAY)
    assert sorted(path.name for path in kept.iterdir()) == [
        "areas.parquet",
        "assignment.parquet",
        "figures.json",
        "flows.parquet",
        "origin.json",
        "search.parquet",
    ]
