"""Exports: the same bytes from either store, described by a datapackage.json."""

import csv
import hashlib
import json
from datetime import date
from pathlib import Path

import geopandas
import pandas as pd
import pyogrio
import pytest
from bundles import accept, bundle, own_zones, town_zones

from odanon.errors import OdanonError
from odanon_assets.derived.export import Format, export
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 30), date(2026, 3, 31), date(2026, 4, 1)]
ALL = list(Format)


def filled(store: Store) -> Store:
    for day in DAYS:
        store.publish(bundle(day=day, rows=30), accept)
    return store


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exports are noted."""
    monkeypatch.setenv("ODANON_ROOT", str(tmp_path / "store"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three days, and in `out` all of it in every format."""
    folder = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODANON_ROOT", str(folder / "store"))
        store = filled(EmbeddedStore(folder / "store"))
        assert export(store, "town", folder / "out", ALL, None, None, own_zones()) == 3
    return folder


@pytest.fixture
def exported(place: Path) -> Path:
    return place / "out"


def test_both_stores_export_the_same_bytes(exported: Path, tmp_path: Path, database: str) -> None:
    export(filled(PostgisStore(database)), "town", tmp_path / "other", ALL, None, None, own_zones())
    names = sorted(path.name for path in exported.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "other").iterdir())
    for name in names:
        if name in (
            "releases.json",
            "datapackage.json",
            "dcat.jsonld",
        ):  # the embedded store's manifests also name its files
            continue
        assert (exported / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name


def test_an_export_can_be_made_again_byte_by_byte(exported: Path, place: Path, tmp_path: Path) -> None:
    export(EmbeddedStore(place / "store"), "town", tmp_path / "again", ALL, None, None, own_zones())
    for path in exported.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_the_formats_hold_the_same_tables(exported: Path) -> None:
    flows = pd.read_parquet(exported / "flows.parquet")
    assert len(flows) == 90
    text = pd.read_csv(exported / "flows.csv", parse_dates=["time_start", "time_end"])
    assert text["trips"].tolist() == flows["trips"].tolist()
    assert text["time_start"].tolist() == flows["time_start"].tolist()
    assert text["time_end"].tolist() == flows["time_end"].tolist()
    zones = geopandas.read_parquet(exported / "zones.parquet")
    outlines = geopandas.GeoSeries.from_wkt(pd.read_csv(exported / "zones.csv")["geometry"], crs="EPSG:4326")
    assert outlines.geom_equals(zones.geometry, align=False).all()
    assert zones.crs.to_epsg() == 4326


def test_a_geopackage_opens_with_zones_and_desire_lines(exported: Path) -> None:
    layers = pyogrio.list_layers(exported / "town.gpkg").tolist()
    assert layers == [
        ["zones", "MultiPolygon"],
        ["desire_lines", "LineString"],
        ["flows", None],
        ["layer_styles", None],
    ]
    lines = geopandas.read_file(exported / "town.gpkg", layer="desire_lines")
    flows = geopandas.read_file(exported / "town.gpkg", layer="flows")
    between = flows[flows["origin_zone"] != flows["destination_zone"]]
    assert lines["trips"].sum() == between["trips"].sum()
    assert lines.geometry.is_valid.all()


def test_the_datapackage_names_licence_hashes_and_every_column(exported: Path) -> None:
    package = json.loads((exported / "datapackage.json").read_text())
    assert package["licenses"][0]["name"] == "CC-BY-4.0"
    for resource in package["resources"]:
        data = (exported / resource["path"]).read_bytes()
        assert resource["hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert resource["bytes"] == len(data)
    described = {resource["path"]: resource for resource in package["resources"]}
    assert {path.name for path in exported.iterdir()} - {"datapackage.json", "dcat.jsonld"} == set(described)
    for name in ("flows.csv", "zones.csv"):
        fields = described[name]["schema"]["fields"]
        assert [field["name"] for field in fields] == pd.read_csv(exported / name, nrows=1).columns.tolist()
        assert all(field["description"] for field in fields)


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain"]
    store = EmbeddedStore(tmp_path / "store")
    made = bundle(rows=7, zones=town_zones(names, size=0.01), segment='=HYPERLINK("http://x")')
    store.publish(made, accept)
    export(store, "town", tmp_path / "out", [Format.csv, Format.geoparquet], None, None)
    for table in ("flows", "zones"):
        with (tmp_path / "out" / f"{table}.csv").open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
        assert not [cell for cell in cells if cell.startswith("-") and not cell.removeprefix("-")[0].isdigit()]
    assert "'=1+1" in cells
    assert "'-1" in cells
    assert pd.read_parquet(tmp_path / "out" / "zones.parquet")["zone_id"].tolist() == names  # only CSV is opened so


def test_a_range_is_taken_and_mistakes_get_a_sentence(exported: Path, place: Path, tmp_path: Path) -> None:
    store = EmbeddedStore(place / "store")
    assert export(store, "town", tmp_path / "one", [Format.csv], DAYS[1], DAYS[1]) == 1
    with pytest.raises(OdanonError, match="is not empty"):
        export(store, "town", exported, [Format.csv], None, None)
    with pytest.raises(OdanonError, match="no published window"):
        export(store, "town", tmp_path / "none", [Format.csv], date(2030, 1, 1), None)
