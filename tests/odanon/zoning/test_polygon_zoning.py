"""Tiles from a vector layer."""

import geopandas as gpd
import numpy as np
import pytest
import shapely
from shapely import Polygon, box

from odanon.errors import OdanonError
from odanon.zoning.polygons import PolygonZoning


def write(tmp_path, geometry, crs=4326, name="zones.gpkg", **columns):
    frame = gpd.GeoDataFrame(columns, geometry=geometry, crs=crs)
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_file(path)
    return path


@pytest.mark.parametrize("name", ["zones.gpkg", "zones.shp", "zones.geojson", "zones.parquet"])
def test_points_get_the_zone_that_covers_them(tmp_path, name):
    path = write(tmp_path, [box(0, 0, 1, 1), box(1, 0, 2, 1)], name=name, code=["w", "e"])
    labels = PolygonZoning(path=path, id="code").assign(np.array([0.5, 0.5, 5, np.nan]), np.array([0.5, 1.5, 5, 0.5]))
    assert labels.tolist() == ["w", "e", None, None]


def test_overlaps_and_borders_go_to_the_first_label(tmp_path):
    path = write(tmp_path, [box(0, 0, 2, 2), box(1, 0, 3, 2), box(3, 0, 4, 2)], code=[2, 1, 0])
    zoning = PolygonZoning(path=path, id="code")
    assert zoning.assign(np.array([1.0, 1.0, 1.0]), np.array([1.5, 0.5, 3.0])).tolist() == ["1", "2", "0"]


def test_rows_of_one_id_become_one_zone_and_bad_shapes_are_mended(tmp_path):
    bow_tie = Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    path = write(tmp_path, [box(5, 5, 6, 6), bow_tie, box(8, 8, 9, 9), None], code=[7.0, 7.0, 1.0, 3.0])
    zoning = PolygonZoning(path=path, id="code")
    tiles = zoning.tiles(["7", "1", "7"])
    assert tiles.label.tolist() == ["1", "7"]
    assert shapely.is_valid(tiles.geometry).all()
    assert tiles.geometry[1].area == pytest.approx(1.5)


def test_any_crs_is_brought_to_degrees(tmp_path):
    path = write(tmp_path, [box(650_000, 6_860_000, 655_000, 6_865_000)], crs=2154, code=["paris"])
    tiles = PolygonZoning(path=path, id="code").tiles(["paris"])
    assert tiles.lat[0] == pytest.approx(48.86, abs=0.05)
    assert tiles.lon[0] == pytest.approx(2.36, abs=0.05)


def test_mistakes_are_told(tmp_path):
    path = write(tmp_path, [box(0, 0, 1, 1)], code=["a"])
    for zoning, message in [
        (PolygonZoning(path=tmp_path / "none.gpkg", id="code"), "does not exist"),
        (
            PolygonZoning(path=path, id="name"),
            r"no column 'name' \(for label\); name the column that holds it; it has code",
        ),
        (PolygonZoning(path=write(tmp_path, [box(0, 0, 1, 1)], crs=None, name="n.gpkg", code=["a"]), id="code"), "CRS"),
        (PolygonZoning(path=path, id="code", layer="other"), "cannot be read as a polygon layer"),
    ]:
        with pytest.raises(OdanonError, match=message):
            zoning.assign(np.array([0.5]), np.array([0.5]))
    with pytest.raises(OdanonError, match="1 of 2 tile labels are not zones of"):
        PolygonZoning(path=path, id="code").tiles(["a", "b"])


@pytest.mark.real
def test_new_york_taxi_zones(shared_data):
    zoning = PolygonZoning(path=shared_data / "nyc_taxi_zones" / "taxi_zones.shp", id="LocationID")
    rng = np.random.default_rng(0)
    labels = zoning.assign(rng.uniform(40.5, 40.9, 20_000), rng.uniform(-74.2, -73.7, 20_000))
    found = {label for label in labels if label}
    assert len(found) > 200
    tiles = zoning.tiles(list(found | {"56", "103"}))  # the ids that the layer repeats
    inside = zoning.assign(*(f(shapely.point_on_surface(tiles.geometry)) for f in (shapely.get_y, shapely.get_x)))
    assert inside.tolist() == tiles.label.tolist()
    assert zoning.assign(np.array([40.7580]), np.array([-73.9855])).tolist() == ["230"]  # Times Square
