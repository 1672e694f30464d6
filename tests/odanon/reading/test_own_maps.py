"""Maps and reference tables of the operator are foreign files too: small ones that unpack to large ones are refused (PRIVACY rule 26)."""

from collections.abc import Callable
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from random_trees import h3_tiles
from shapely import box

from odanon.errors import OdanonError
from odanon.geo import layerfiles
from odanon.geo.layerfiles import read_area, read_layer
from odanon.hierarchies.table import TableHierarchy
from odanon.reading import batches, table
from odanon.reconstruct.prior import read_weights
from odanon.zoning.voronoi import VoronoiZoning

ROWS = 100_000


def antennas(path: Path) -> None:
    VoronoiZoning(antennas=path).assign(np.array([45.0]), np.array([5.0]))


def tree(path: Path) -> None:
    TableHierarchy(path=path).build(h3_tiles(3))


@pytest.mark.parametrize("read", [antennas, tree, read_weights])
@pytest.mark.parametrize("name", ["bomb.parquet", "bomb.csv.gz"])
def test_a_small_table_that_unpacks_to_a_large_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object], name: str
) -> None:
    monkeypatch.setattr(table, "SMALL_BYTES", 1 << 18)
    columns = {antennas: ["id", "lat", "lon"], tree: ["child", "parent"], read_weights: ["tile", "residents"]}[read]
    rows = pd.DataFrame(
        {column: 1.0 if column in ("lat", "lon", "residents") else "z" for column in columns}, range(ROWS)
    )
    path = tmp_path / name
    rows.to_parquet(path) if name.endswith("parquet") else rows.to_csv(path, index=False)
    assert path.stat().st_size < 20_000
    with pytest.raises(OdanonError, match=r"it takes more than 0 MiB of memory|cannot be read as a table of weights"):
        read(path)


def bomb(path: Path, rows: int = ROWS) -> Path:
    """A layer of one shape many times."""
    shapes = np.full(rows, box(4, 45, 5, 46), dtype=object)
    gpd.GeoDataFrame({"id": np.zeros(rows, dtype=np.int64)}, geometry=shapes, crs=4326).to_parquet(path)
    return path


def test_a_small_layer_that_unpacks_to_a_large_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "bomb.parquet")
    assert path.stat().st_size < 60_000
    monkeypatch.setattr(table, "SMALL_BYTES", 1 << 20)
    for read in (lambda: read_layer(path, "id"), lambda: read_area(path)):
        with pytest.raises(OdanonError, match=r"bomb\.parquet: it takes more than 1 MiB of memory"):
            read()


def test_a_layer_of_more_shapes_than_a_map_has_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layerfiles, "MOST_SHAPES", 50)
    path = bomb(tmp_path / "zones.parquet", rows=51)
    with pytest.raises(OdanonError, match=r"zones\.parquet: it has more than 50 rows"):
        read_layer(path, "id")


@pytest.mark.parametrize("name", ["zones.geojson", "zones.gpkg"])
def test_a_layer_that_does_not_fit_the_reader_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(batches, "MEMORY_LIMIT", 100 << 20)  # not even GDAL fits
    gpd.GeoDataFrame({"id": [1]}, geometry=[box(4, 45, 5, 46)], crs=4326).to_file(tmp_path / name)
    with pytest.raises(OdanonError, match=rf"{name}: .* cannot be read within the memory limit"):
        read_layer(tmp_path / name, "id")


@pytest.mark.parametrize("name", ["zones.gpkg", "zones.shp", "zones.geojson", "zones.parquet"])
def test_every_format_gives_the_same_map(tmp_path: Path, name: str) -> None:
    """Labels are texts, whole numbers without a point; shapes come in degrees from any system."""
    shapes = [box(4, 45, 4.5, 46), box(4.5, 45, 5, 46), None, box(5, 45, 6, 46)]
    frame = gpd.GeoDataFrame({"code": [7.0, 3.0, 5.0, None]}, geometry=shapes, crs=4326)
    frame = frame if name.endswith("geojson") else frame.to_crs(2154)
    frame.to_parquet(tmp_path / name) if name.endswith("parquet") else frame.to_file(tmp_path / name)
    labels, polygons = read_layer(tmp_path / name, "code")
    assert labels.tolist() == ["3", "7"]
    assert shapely.area(polygons) == pytest.approx([0.5, 0.5], rel=1e-3)
    assert read_area(tmp_path / name).area == pytest.approx(2, rel=1e-3)


def test_a_table_that_is_no_layer_is_refused_in_a_sentence(tmp_path: Path) -> None:
    pd.DataFrame({"id": ["a"]}).to_parquet(tmp_path / "plain.parquet")
    with pytest.raises(OdanonError, match=r"plain\.parquet: .* has no geometry with a CRS"):
        read_layer(tmp_path / "plain.parquet", "id")
    (tmp_path / "broken.gpkg").write_bytes(b"no map")
    with pytest.raises(OdanonError, match=r"broken\.gpkg: .* cannot be read as a polygon layer"):
        read_area(tmp_path / "broken.gpkg")


@pytest.mark.parametrize(
    "pointer",
    [
        '{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read %s ! filter"}',
        '<OGRVRTDataSource><OGRVRTLayer name="other"><SrcDataSource>%s</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>',
    ],
    ids=["program", "virtual"],
)
def test_a_layer_that_names_another_file_is_not_followed(tmp_path: Path, pointer: str) -> None:
    other = tmp_path / "other.geojson"
    gpd.GeoDataFrame({"id": ["a"]}, geometry=[box(0, 0, 1, 1)], crs=4326).to_file(other)
    (tmp_path / "layer.geojson").write_text(pointer % other)
    assert not read_area(other).is_empty
    with pytest.raises(OdanonError, match="cannot be read as a polygon layer"):
        read_area(tmp_path / "layer.geojson")
