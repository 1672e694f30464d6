"""Administrative levels from polygon layers."""

import geopandas as gpd
import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from shapely import box

from odanon.errors import OdanonError
from odanon.hierarchies.admin import AdminHierarchy, AdminLevel
from odanon.plugin import parameters_of
from odanon.testing.hierarchies import check_hierarchy
from odanon.zoning.grid import GridZoning, cell_label
from odanon.zoning.polygons import PolygonZoning

ZONING = GridZoning(cell_m=1000, crs="EPSG:2154")


@pytest.fixture
def layers(tmp_path):
    """Two regions of 10 x 5 km, each of two towns, with their corner at 650 km E, 6860 km N."""
    west, south = 650_000, 6_860_000
    towns = [box(west + x, south + y, west + x + 5000, south + y + 5000) for y in (0, 5000) for x in (0, 5000)]
    regions = [box(west, south + y, west + 10_000, south + y + 5000) for y in (0, 5000)]
    gpd.GeoDataFrame({"town": [1, 2, 1, 2]}, geometry=towns, crs=2154).to_file(tmp_path / "towns.gpkg")
    gpd.GeoDataFrame({"code": ["S", "N"]}, geometry=regions, crs=2154).to_crs(4326).to_file(tmp_path / "r.geojson")
    return [
        AdminLevel(path=tmp_path / "r.geojson", id="code"),
        AdminLevel(path=tmp_path / "towns.gpkg", id="town"),
    ]


def tiles(rows, cols):
    return ZONING.tiles([cell_label(1000, 6860 + row, 650 + col) for row in rows for col in cols])


def test_tiles_below_towns_below_regions(layers):
    tree = AdminHierarchy(levels=layers).build(tiles(range(10), range(10)))
    inner = dict(zip(tree.label, tree.n_tiles, strict=True))
    assert inner["all"] == 100
    assert inner["code:S"] == inner["code:N"] == 50
    # Town ids repeat across regions (and their rows are dissolved); the path keeps the nodes apart.
    assert [inner[f"code:{region}/town:{town}"] for region in "SN" for town in (1, 2)] == [25] * 4


def test_tiles_outside_join_the_unit_they_overlap_most_or_the_nearest(layers):
    # The unit layer ends inside a coarser tile: its middle is outside, a corner inside.
    coarse = GridZoning(cell_m=8000, crs="EPSG:2154")
    corner = coarse.tiles([cell_label(8000, 858, 82)])  # overlaps N by 1 x 2 km, its middle lies outside
    tree = AdminHierarchy(levels=layers[:1], snap_m=1).build(corner)
    assert tree.label.tolist() == [corner.label[0], "code:N", "all"]
    apart = tiles([-2, 0, 11], range(10))
    tree = AdminHierarchy(levels=layers, snap_m=1100).build(apart)
    assert dict(zip(tree.label, tree.n_tiles, strict=True))["code:S"] == 20
    with pytest.raises(OdanonError, match=r"20 of 30 tiles lie more than 900 m outside all units"):
        AdminHierarchy(levels=layers, snap_m=900).build(apart)


def test_parameters_come_from_a_product_file(layers):
    given = {"levels": [{"path": str(layers[0].path), "id": "code"}], "snap_m": 10}
    plugin = TypeAdapter(AdminHierarchy).validate_python(given)
    assert plugin.levels == [layers[0]]
    assert parameters_of(plugin)["levels"][0]["id"] == "code"
    with pytest.raises(ValidationError):
        AdminHierarchy(levels=[])


def test_conformance(layers):
    check_hierarchy(AdminHierarchy(levels=layers), ZONING, tiles(range(10), range(10)).label)
    check_hierarchy(AdminHierarchy(levels=layers[:1]), ZONING, tiles(range(5), range(5)).label)


@pytest.mark.real
def test_toronto_zones_below_planning_districts(shared_data):
    folder = shared_data / "tts2016"
    zoning = PolygonZoning(path=folder / "taz.gpkg", id="GTA06")
    zones = zoning.tiles(zoning._zones[0])
    tree = AdminHierarchy(levels=[AdminLevel(path=folder / "pd.gpkg", id="PD")]).build(zones)
    districts = np.flatnonzero(tree.level == 1)
    assert tree.n_leaves == len(zones) == 3764
    assert 90 <= len(districts) <= 105
    assert tree.is_partition(districts)
    lake = int(tree.parent[tree.tiles[tree.rank_of["2868"]]])  # most of this zone lies in Lake Simcoe
    assert tree.label[lake].startswith("PD:")
