"""Geometry of nodes and the zones table."""

import h3
import numpy as np
import pytest
import shapely
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.hierarchies.grid import GridHierarchy
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.geometry import EXACT_CELLS, node_area_km2, node_geometry
from odanon.model.zones import zones_table
from odanon.zoning.grid import GridZoning, cell_label
from odanon.zoning.h3 import H3Zoning

GRID = GridZoning(cell_m=500, crs="EPSG:2154")


def h3_area(cells):
    return sum(h3.cell_area(cell) for cell in cells)


def test_full_h3_areas_are_unions_of_all_their_tiles():
    tiles = h3_tiles(200)
    tree = H3Hierarchy().build(tiles)
    nodes = tree.cut_at_level(6)
    zones = zones_table(tree, tiles, nodes)
    assert zones["zone_id"].tolist() == tree.label[nodes].tolist()
    assert (zones["n_tiles"] == 343).all()
    for zone in zones.itertuples():
        assert zone.tiles == sorted(h3.cell_to_children(zone.zone_id, 9))
        assert zone.area_km2 == pytest.approx(h3_area(zone.tiles), rel=0.01)
    overlaps = shapely.area(zones.geometry.union_all()) / shapely.area(zones.geometry.to_numpy()).sum()
    assert overlaps == pytest.approx(1, abs=1e-6)


def test_observed_areas_are_unions_of_the_observed_tiles():
    tiles = h3_tiles(200)
    tree = H3Hierarchy(coverage="observed").build(tiles)
    zones = zones_table(tree, tiles, np.array([tree.root]))
    assert zones["tiles"][0] == tree.label[tree.tiles].tolist()
    assert zones["area_km2"][0] == pytest.approx(h3_area(tiles.label), rel=0.01)


def test_large_h3_areas_are_drawn_coarser_and_not_listed():
    tiles = h3_tiles(50, spread=0.001, resolution=12)
    tree = H3Hierarchy(root=3).build(tiles)
    zones = zones_table(tree, tiles, np.array([tree.root]))
    assert zones["n_tiles"][0] > EXACT_CELLS
    assert zones["tiles"][0] is None
    cell = h3.cell_to_parent(tiles.label[0], 3)
    assert zones["area_km2"][0] == pytest.approx(h3.cell_area(cell), rel=0.01)


def test_the_virtual_root_is_the_union_of_its_children():
    zoning = H3Zoning(resolution=5)
    tiles = zoning.tiles(zoning.assign(np.array([48.85, -33.9]), np.array([2.35, 151.2])))
    tree = H3Hierarchy().build(tiles)
    root, *tops = node_geometry(tree, tiles, np.array([tree.root, *np.flatnonzero(tree.parent == tree.root)]))
    assert len(root.geoms) == 2
    assert shapely.area(root) == pytest.approx(sum(shapely.area(top) for top in tops), rel=0.01)


def test_cells_across_the_antimeridian_are_cut_there():
    zoning = H3Zoning(resolution=5)
    tiles = zoning.tiles(zoning.assign(np.array([-17.0]), np.array([179.999])))
    tree = H3Hierarchy().build(tiles)
    zone = zones_table(tree, tiles, np.array([tree.root]))
    assert zone.is_valid.all()
    assert zone["area_km2"][0] == pytest.approx(h3_area(tiles.label), rel=0.02)


@pytest.mark.parametrize("hierarchy", [WardHierarchy(), GridHierarchy()])
def test_dissolved_areas_whatever_nodes_are_asked_for(hierarchy):
    rng = np.random.default_rng(3)
    chosen = {cell_label(500, 13_700 + r, 1300 + c) for r, c in rng.integers(0, 12, (60, 2)).tolist()}
    tiles = GRID.tiles(list(chosen))
    tree = hierarchy.build(tiles)
    shape_of = dict(zip(tiles.label, tiles.geometry, strict=True))
    asked = rng.permutation(len(tree))[: len(tree) * 2 // 3]
    for node, shape in zip(asked, node_geometry(tree, tiles, asked), strict=True):
        expected = shapely.union_all([shape_of[label] for label in tree.members(node)])
        assert shape.geom_type == "MultiPolygon"
        assert shape.is_valid
        assert shapely.area(shapely.symmetric_difference(shape, expected)) < 1e-12


def test_areas_are_geodesic():
    tiles = GRID.tiles([cell_label(500, 13_700, 1300)])
    assert node_area_km2(list(tiles.geometry))[0] == pytest.approx(0.25, rel=0.005)


def test_table_columns_types_and_crs():
    tiles = h3_tiles(30)
    tree = WardHierarchy().build(tiles)
    zones = zones_table(tree, tiles, np.arange(len(tree)))
    assert list(zones.columns) == ["zone_id", "name", "hierarchy", "level", "n_tiles", "area_km2", "tiles", "geometry"]
    assert zones.crs == "EPSG:4326"
    assert set(zones.geom_type) == {"MultiPolygon"}
    assert set(zones["hierarchy"]) == {"ward"}


def test_foreign_tiles_are_refused():
    tree = WardHierarchy().build(GRID.tiles([cell_label(500, 1, 1), cell_label(500, 2, 2)]))
    with pytest.raises(OdanonError, match="1 of 2 tiles of the hierarchy have no geometry"):
        zones_table(tree, GRID.tiles([cell_label(500, 1, 1)]), np.array([tree.root]))
