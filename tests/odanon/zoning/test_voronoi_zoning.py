"""Voronoi cells of antennas."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import box

from odanon.errors import OdanonError
from odanon.zoning.voronoi import VoronoiZoning


def write(tmp_path, lat, lon, name="antennas.csv", **columns):
    table = pd.DataFrame({"id": [f"a{i:04}" for i in range(len(lat))], "lat": lat, "lon": lon} | columns)
    path = tmp_path / name
    table.to_parquet(path) if name.endswith("parquet") else table.to_csv(path, index=False)
    return path


@given(st.integers(1, 60), st.integers(0, 1000))
def test_cells_partition_the_boundary(tmp_path_factory, n, seed):
    folder = tmp_path_factory.mktemp("voronoi")
    rng = np.random.default_rng(seed)
    area = box(2.0, 48.6, 2.6, 49.0)
    gpd.GeoDataFrame(geometry=[area], crs=4326).to_file(folder / "area.gpkg")
    antennas = write(folder, rng.uniform(48.6, 49, n), rng.uniform(2, 2.6, n))
    zoning = VoronoiZoning(antennas=antennas, boundary=folder / "area.gpkg")
    tiles = zoning.tiles([f"a{i:04}" for i in range(n)])
    union = shapely.union_all(tiles.geometry)
    assert shapely.area(tiles.geometry).sum() == pytest.approx(area.area, rel=1e-5)
    assert shapely.area(shapely.symmetric_difference(union, area)) < 1e-5 * area.area


def test_points_belong_to_the_nearest_antenna_and_lie_in_its_cell(tmp_path):
    rng = np.random.default_rng(5)
    antennas = write(tmp_path, rng.normal(48.85, 0.05, 200), rng.normal(2.35, 0.05, 200), "antennas.parquet")
    zoning = VoronoiZoning(antennas=antennas)
    lat, lon = rng.normal(48.85, 0.05, 500), rng.normal(2.35, 0.05, 500)
    labels = zoning.assign(lat, lon)
    tiles = zoning.tiles(labels)
    shape_of = dict(zip(tiles.label, tiles.geometry, strict=True))
    for label, at in zip(labels, shapely.points(lon, lat), strict=True):
        assert label is None or shape_of[label].distance(at) < 1e-4
    table = pd.read_parquet(antennas)
    assert zoning.assign(table["lat"].to_numpy(), table["lon"].to_numpy()).tolist() == table["id"].tolist()


def test_outside_the_boundary_or_far_from_the_hull_there_is_no_tile(tmp_path):
    antennas = write(tmp_path, [48.8, 48.9, 48.85], [2.3, 2.3, 2.4])
    far = np.array([48.85, 48.85, 48.85, np.nan])
    near = VoronoiZoning(antennas=antennas, buffer_m=3000)
    assert near.assign(far, np.array([2.35, 2.43, 2.6, 2.3])).tolist() == ["a0002", "a0002", None, None]


def test_antennas_at_one_place_share_the_smallest_id(tmp_path):
    zoning = VoronoiZoning(antennas=write(tmp_path, [48.8, 48.9, 48.8], [2.3, 2.3, 2.3]))
    assert zoning.assign(np.array([48.8]), np.array([2.3])).tolist() == ["a0000"]
    with pytest.raises(OdanonError, match="1 of 1 tile labels are not antenna sites"):
        zoning.tiles(["a0002"])


def test_one_antenna_owns_everything(tmp_path):
    zoning = VoronoiZoning(antennas=write(tmp_path, [48.8], [2.3]))
    assert zoning.assign(np.array([48.81]), np.array([2.3])).tolist() == ["a0000"]
    assert zoning.tiles(["a0000"]).geometry[0].is_valid


def test_the_order_of_the_table_does_not_matter(tmp_path):
    rng = np.random.default_rng(2)
    path = write(tmp_path, rng.normal(48.85, 0.05, 50), rng.normal(2.35, 0.05, 50))
    shuffled = tmp_path / "shuffled.csv"
    pd.read_csv(path).sample(frac=1, random_state=1).to_csv(shuffled, index=False)
    names = [f"a{i:04}" for i in range(50)]
    one, two = (VoronoiZoning(antennas=p).tiles(names) for p in (path, shuffled))
    assert shapely.equals_exact(one.geometry, two.geometry).all()
    assert np.array_equal(one.lat, two.lat)


def test_mistakes_are_told(tmp_path):
    good = write(tmp_path, [48.8, 48.9], [2.3, 2.3])
    away = tmp_path / "away.gpkg"
    gpd.GeoDataFrame(geometry=[box(2.2, 48.7, 2.4, 48.82)], crs=4326).to_file(away)
    with pytest.raises(OdanonError, match="1 antennas have no cell inside"):
        VoronoiZoning(antennas=good, boundary=away).tiles(["a0001"])
    for path, message in [
        (tmp_path / "none.csv", "does not exist"),
        (write(tmp_path, [48.8, np.nan], [2.3, 2.3], "nan.csv"), "1 of 2 antennas without usable coordinates"),
        (write(tmp_path, [48.8, 48.9], [2.3, 2.3], "twice.csv", id=["x", "x"]), "names 1 antennas twice"),
    ]:
        with pytest.raises(OdanonError, match=message):
            VoronoiZoning(antennas=path).assign(np.array([48.8]), np.array([2.3]))
    with pytest.raises(
        OdanonError, match=r"no column 'latitude' \(for lat\); name the column that holds it; it has id, lat, lon"
    ):
        VoronoiZoning(antennas=good, lat="latitude").assign(np.array([48.8]), np.array([2.3]))
