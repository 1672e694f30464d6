"""Square grid tiles."""

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from odanon.errors import OdanonError
from odanon.geo.crs import to_degrees
from odanon.zoning.grid import GridZoning, cell_label

around_origin = st.lists(st.tuples(st.floats(-50_000, 50_000), st.floats(-50_000, 50_000)), min_size=1, max_size=40)
CENTRED = "+proj=laea +lat_0=45 +lon_0=3 +datum=WGS84 +units=m"


@given(around_origin, st.sampled_from([50, 333.25, 2000]))
def test_points_lie_in_their_cells_on_both_sides_of_the_origin(places, cell_m):
    x, y = np.array(places).T
    lat, lon = to_degrees(x, y, CENTRED)
    zoning = GridZoning(cell_m=cell_m, crs=CENTRED)
    labels = zoning.assign(lat, lon)
    tiles = zoning.tiles(labels)
    shape_of = dict(zip(tiles.label, tiles.geometry, strict=True))
    row_of = dict(zip(tiles.label, tiles.cells.row, strict=True))
    for label, at, northing in zip(labels, shapely.points(lon, lat), y, strict=True):
        assert shape_of[label].distance(at) < 1e-5
        assert row_of[label] * cell_m - 1e-3 <= northing <= (row_of[label] + 1) * cell_m + 1e-3
    assert zoning.assign(tiles.lat, tiles.lon).tolist() == tiles.label.tolist()


def test_a_label_reads_as_side_row_and_column():
    assert (
        GridZoning(cell_m=500, crs="EPSG:2154").assign(np.array([48.8566]), np.array([2.3522]))[0] == "500mN13724E1304"
    )


def test_neighbours_share_corners_exactly():
    tiles = GridZoning(crs="EPSG:2154").tiles([cell_label(500, r, c) for r in (13000, 13001) for c in (1300, 1301)])
    corners = [tuple(corner) for shape in tiles.geometry for corner in shape.exterior.coords[:-1]]
    assert len(set(corners)) == 9


def test_outside_the_projection_there_is_no_tile():
    lat, lon = np.array([np.nan, 45.0, -91.0]), np.array([3.0, np.inf, 3.0])
    assert GridZoning(crs="EPSG:2154").assign(lat, lon).tolist() == [None] * 3


@pytest.mark.parametrize("crs", ["auto", "EPSG:4326", "EPSG:2263", "nowhere"])
def test_the_crs_must_be_metric(crs):
    with pytest.raises(ValidationError, match="write for example EPSG:2154"):
        GridZoning(crs=crs)


def test_labels_of_another_grid_are_refused():
    with pytest.raises(OdanonError, match="2 of 2 tile labels are not 500 m grid cells"):
        GridZoning(crs="EPSG:2154").tiles([cell_label(250, 1, 1), "anything"])


def test_with_bounds_every_cell_is_known_and_nothing_outside():
    zoning = GridZoning(cell_m=1000, crs=CENTRED, bounds=(2.9, 44.95, 3.1, 45.05))
    lat, lon = np.meshgrid(np.linspace(44.9501, 45.0499, 60), np.linspace(2.9001, 3.0999, 60))
    inside = zoning.assign(lat.ravel(), lon.ravel())
    assert set(inside) <= set(zoning.every_label)
    assert len(zoning.every_label) == len(set(zoning.every_label)) == pytest.approx(15.8 * 11.1, rel=0.2)
    assert zoning.assign(np.array([44.9, 45.1, 45.0]), np.array([3.0, 3.0, 3.2])).tolist() == [None] * 3
    assert sorted(zoning.tiles(zoning.every_label).label) == sorted(zoning.every_label)


def test_a_boundary_keeps_the_cells_that_touch_it_and_the_points_inside(tmp_path):
    triangle = shapely.Polygon([(2.9, 44.95), (3.1, 44.95), (2.9, 45.05)])
    geopandas.GeoDataFrame(geometry=[triangle], crs="EPSG:4326").to_file(tmp_path / "city.gpkg")
    zoning = GridZoning(cell_m=1000, crs=CENTRED, boundary=tmp_path / "city.gpkg")
    grid = np.meshgrid(np.linspace(44.9501, 45.0499, 60), np.linspace(2.9001, 3.0999, 60))
    lat, lon = (part.ravel() for part in grid)
    labels = zoning.assign(lat, lon)
    assert [label is not None for label in labels] == shapely.intersects_xy(triangle, lon, lat).tolist()
    assert {label for label in labels if label} <= set(zoning.every_label)
    assert 15.8 * 11.1 / 2 < len(zoning.every_label) < 1.4 * 15.8 * 11.1 / 2  # those on the border as well
    both = GridZoning(cell_m=1000, crs=CENTRED, boundary=tmp_path / "city.gpkg", bounds=(2.9, 44.95, 3.0, 45.05))
    assert set(both.every_label) < set(zoning.every_label)
    elsewhere = GridZoning(cell_m=1000, crs=CENTRED, boundary=tmp_path / "city.gpkg", bounds=(4, 44.95, 5, 45.05))
    with pytest.raises(OdanonError, match="lies outside the bounds"):
        elsewhere.assign(lat, lon)


@pytest.mark.parametrize("bounds", [(3.1, 44.9, 2.9, 45.1), (2.9, 45.1, 3.1, 44.9), (2.9, 44.9, 200, 45.1)])
def test_bounds_in_another_order_are_refused(bounds):
    with pytest.raises(ValidationError, match="west, south, east and north"):
        GridZoning(crs=CENTRED, bounds=bounds)


def test_bounds_of_too_many_cells_are_refused():
    with pytest.raises(ValidationError, match="use larger cells"):
        GridZoning(cell_m=1, crs=CENTRED, bounds=(2.9, 44.9, 3.1, 45.1))
