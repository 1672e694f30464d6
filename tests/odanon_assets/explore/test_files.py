"""Files that people upload, the base map that an operator gives, and the command."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import geopandas
import pytest
from explored_town import filled
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer
from shapely import Point, box
from starlette.testclient import TestClient
from typer.testing import CliRunner

from odanon.cli import main
from odanon.errors import OdanonError
from odanon_assets.explore.basemap import BaseMap
from odanon_assets.explore.server import explorer_app
from odanon_assets.stores.embedded import EmbeddedStore

PNG = b"\x89PNG\r\n\x1a\n not much of a picture"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    filled(EmbeddedStore(folder))
    return folder


@pytest.fixture(scope="module")
def town(root: Path) -> TestClient:
    with TestClient(explorer_app(str(root))) as client:
        yield client


def layer(folder: Path, suffix: str, shapes: list[Any], crs: str | None = "EPSG:2154", **columns: list[Any]) -> bytes:
    path = folder / f"layer.{suffix}"
    geopandas.GeoDataFrame(columns, geometry=shapes, crs="EPSG:4326").to_crs(crs or "EPSG:4326").to_file(path)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", ["gpkg", pytest.param("geojson", marks=pytest.mark.thorough)])
def test_areas_of_a_file_come_back_in_degrees_with_their_names(town: TestClient, tmp_path: Path, suffix: str) -> None:
    shapes, columns = (
        [box(2, 46, 2.1, 46.1), box(3, 46, 3.1, 46.1), box(4, 46, 4.1, 46.1)],
        {"name": ["a", "a", None], "code": [7, 8, 9]},
    )
    body = layer(tmp_path, suffix, shapes, **columns)
    told = town.post(f"/api/areas?name=town.{suffix}", content=body).json()
    assert [each["properties"]["name"] for each in told["features"]] == ["a", "a (2)", "Area 3"]
    found = geopandas.GeoDataFrame.from_features(told).geometry
    assert found.geom_type.tolist() == ["Polygon"] * 3
    assert found.symmetric_difference(geopandas.GeoSeries(shapes)).area.max() < 1e-6
    named = town.post(f"/api/areas?name=town.{suffix}&label=code", content=body).json()
    assert [each["properties"]["name"] for each in named["features"]] == ["7", "8", "9"]


def test_no_digit_of_an_uploaded_border_is_lost(town: TestClient, tmp_path: Path) -> None:
    """An area along the outline of a zone holds the zone, and its trips are certain."""
    edge = 2 + 1 / 3e7
    geopandas.GeoDataFrame(geometry=[box(edge, 46, 2.1, 46.1)], crs="EPSG:4326").to_file(tmp_path / "a.gpkg")
    told = town.post("/api/areas?name=a.gpkg", content=(tmp_path / "a.gpkg").read_bytes()).json()
    assert min(x for x, _ in told["features"][0]["geometry"]["coordinates"][0]) == edge


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 422, "the file is empty"),
        (b"PK\x03\x04 a shapefile", 422, "neither GeoJSON nor GeoPackage"),
        (b"<OGRVRTDataSource><OGRVRTLayer/></OGRVRTDataSource>", 422, "neither GeoJSON nor GeoPackage"),
        (b'{"type": "FeatureCollection", "features": [', 422, "bad.gpkg holds no polygons that can be read"),
        pytest.param(b'{"type": "FeatureCollection", "features": []}', 422, "holds no", marks=pytest.mark.thorough),
        pytest.param(b"SQLite format 3\0 and then nothing", 422, "bad.gpkg holds no", marks=pytest.mark.thorough),
        (b'{"type": "gdal_streamed_alg", "command_line": "gdal vector convert SECRET", "name": "x"}', 422, "holds no"),
    ],
    ids=["empty", "zip", "vrt", "cut", "nothing", "sqlite", "program"],
)
def test_a_file_that_is_none_is_one_sentence(town: TestClient, body: bytes, status: int, words: str) -> None:
    answer = town.post("/api/areas?name=bad.gpkg", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "/tmp" not in answer.text


def test_what_is_uploaded_can_be_asked_about(town: TestClient, tmp_path: Path) -> None:
    names = ["two\nlines", "x" * 200, "x" * 200, "<b>=1+1</b>"]
    body = layer(tmp_path, "geojson", [box(0, 0, 0.5, 1)] * 4, None, name=names)
    told = town.post("/api/areas", content=body).json()
    assert [each["properties"]["name"] for each in told["features"]][::3] == ["two lines", "<b>=1+1</b>"]
    assert town.post("/api/products/town/matrix", json={"areas": told}).status_code == 200
    for far in (b"500", b"1e309"):
        answer = town.post("/api/areas", content=body.replace(b"0.5", far))
        assert answer.status_code == 422, answer.text


def test_a_file_with_too_much_or_without_ground_is_refused(town: TestClient, tmp_path: Path) -> None:
    many = layer(tmp_path, "geojson", [box(n / 9, 0, n / 9 + 0.1, 1) for n in range(201)], None)
    answer = town.post("/api/areas", content=many)
    assert (answer.status_code, "201 areas, and 200 are taken" in answer.json()["error"]) == (413, True)
    points = layer(tmp_path, "gpkg", [Point(1, 1)], None)
    answer = town.post("/api/areas", content=points)
    assert (answer.status_code, "area 1 of 1 has no ground" in answer.json()["error"]) == (422, True)
    answer = town.post("/api/areas?label=nothing", content=layer(tmp_path, "gpkg", [box(0, 0, 1, 1)], None, a=[1]))
    assert answer.status_code == 422
    assert "no column 'nothing'" in answer.json()["error"]
    assert answer.json()["error"].endswith("it has a")


def tiles(path: Path, kind: TileType, **metadata: str) -> Path:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.write_tile(zxy_to_tileid(0, 0, 0), PNG)
        writer.write_tile(zxy_to_tileid(1, 1, 0), PNG + b"1")
        facts = {"tile_type": kind, "tile_compression": Compression.NONE, "min_zoom": 0, "max_zoom": 1}
        corners = {"min_lon_e7": -(10**9), "min_lat_e7": -(10**8), "max_lon_e7": 10**9, "max_lat_e7": 10**8}
        writer.finalize({**facts, **corners, "center_zoom": 0, "center_lon_e7": 0, "center_lat_e7": 0}, metadata)
    return path


def test_a_base_map_of_the_operator_is_served_from_here(root: Path, tmp_path: Path) -> None:
    given = tiles(
        tmp_path / "map.pmtiles", TileType.PNG, attribution='© <a href="https://maps.example">Maps</a> &amp; co'
    )
    with TestClient(explorer_app(str(root), BaseMap.open(given))) as client:
        told = client.get("/api/products").json()["basemap"]
        assert told == {"tiles": "./basemap/{z}/{x}/{y}", "min_zoom": 0, "max_zoom": 1, "attribution": "© Maps & co"}
        answer = client.get("/basemap/1/1/0")
        assert (answer.content, answer.headers["content-type"]) == (PNG + b"1", "image/png")
        for nothing in ("1/0/1", "1/2/0", "2/0/0", "99/0/0", "0/5/0", "-1/0/0", "0/0/x"):
            assert client.get(f"/basemap/{nothing}").status_code == 404, nothing


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: tiles(path, TileType.MVT), "has vector tiles, which are not drawn"),
        (lambda path: path.write_bytes(b"PMTiles\x02" + bytes(200)), "not a PMTiles file of version 3"),
        (lambda path: path.write_bytes(b""), "not a PMTiles file of version 3"),
        (lambda path: None, "does not exist"),
    ],
    ids=["vector", "old", "empty", "missing"],
)
def test_another_base_map_is_refused_at_the_start(tmp_path: Path, make: Any, sentence: str) -> None:
    make(tmp_path / "map.pmtiles")
    with pytest.raises(OdanonError, match=sentence):
        BaseMap.open(tmp_path / "map.pmtiles")


def test_without_a_login_it_listens_on_this_machine_alone(root: Path) -> None:
    refused = CliRunner().invoke(main, ["explore", "--at", str(root), "--host", "0.0.0.0"])
    assert isinstance(refused.exception, OdanonError)
    assert "there is no login" in str(refused.exception)
    nothing = CliRunner().invoke(main, ["explore", "--at", str(root / "published" / "town")])
    assert "has no folder 'published'" in str(nothing.exception)


def test_the_command_says_where_it_listens_and_ends_with_what_it_started(root: Path) -> None:
    command = [Path(sys.executable).with_name("odanon"), "explore", "--at", root, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as running:
        try:
            assert running.stdout is not None
            address = running.stdout.readline().split(" at ")[1].split()[0]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}api/products", timeout=30) as answer:
                assert {line["name"] for line in json.load(answer)["products"]} == {"town", "gone"}
            elsewhere = urllib.request.Request(f"{address}api/products", headers={"Host": "elsewhere.example"})
            with pytest.raises(urllib.error.HTTPError, match="400"):
                urllib.request.urlopen(elsewhere, timeout=30)
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.read().startswith(b"<!doctype html>")
        finally:
            running.terminate()
