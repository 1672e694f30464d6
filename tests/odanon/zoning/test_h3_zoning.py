"""H3 tiles."""

import geopandas
import h3
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.zoning.h3 import H3Zoning

points = st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=50)


@given(points, st.integers(0, 15))
def test_every_point_gets_its_cell(places, resolution):
    lat, lon = np.array(places).T
    labels = H3Zoning(resolution=resolution).assign(lat, lon)
    assert labels.tolist() == [h3.latlng_to_cell(*place, resolution) for place in places]


def test_unusable_coordinates_have_no_tile():
    lat = np.array([48.85, np.nan, 91, 48.85, np.inf, 48.85])
    lon = np.array([2.35, 2.35, 2.35, 181, 2.35, np.nan])
    assert [label is None for label in H3Zoning().assign(lat, lon)] == [False] + [True] * 5
    assert H3Zoning().assign(np.array([]), np.array([])).tolist() == []


def test_outside_the_study_area_there_is_no_tile(tmp_path):
    lat, lon = np.array([48.85, 48.90, 48.85]), np.array([2.35, 2.35, 2.45])
    assert [label is None for label in H3Zoning(bounds=(2.3, 48.8, 2.4, 48.87)).assign(lat, lon)] == [False, True, True]
    triangle = shapely.Polygon([(2.3, 48.8), (2.5, 48.8), (2.3, 48.95)])
    geopandas.GeoDataFrame(geometry=[triangle], crs="EPSG:4326").to_file(tmp_path / "city.gpkg")
    layer = H3Zoning(boundary=tmp_path / "city.gpkg")
    assert [label is None for label in layer.assign(lat, lon)] == [False, False, True]


def test_tiles_are_sorted_distinct_and_drawn_as_hexagons():
    zoning = H3Zoning()
    labels = [*zoning.assign(np.array([48.86, 48.85, 48.86]), np.array([2.35] * 3)), None]
    tiles = zoning.tiles(labels)
    assert tiles.label.tolist() == sorted({label for label in labels if label})
    assert [h3.latlng_to_cell(*at, 9) for at in zip(tiles.lat, tiles.lon, strict=True)] == tiles.label.tolist()
    for shape, cell in zip(tiles.geometry, tiles.label, strict=True):
        corners = {(round(lon, 9), round(lat, 9)) for lat, lon in h3.cell_to_boundary(cell)}
        assert {(round(x, 9), round(y, 9)) for x, y in shape.geoms[0].exterior.coords} == corners


def test_foreign_labels_are_refused():
    with pytest.raises(OdanonError, match="1 of 2 tile labels are not H3 cells of resolution 8"):
        H3Zoning(resolution=8).tiles([h3.latlng_to_cell(48, 2, 8), h3.latlng_to_cell(48, 2, 9)])
    with pytest.raises(OdanonError, match="no tile has a label"):
        H3Zoning().tiles([None])
