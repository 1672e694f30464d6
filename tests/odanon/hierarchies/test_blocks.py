"""Grid hierarchy and quadtree: blocks against arithmetic on cell indices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Transformer
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.hierarchies.grid import GridHierarchy
from odanon.hierarchies.quadtree import QuadtreeHierarchy
from odanon.model.geometry import node_area_km2
from odanon.model.tiles import Tiles
from odanon.model.zones import zones_table
from odanon.testing.hierarchies import check_hierarchy
from odanon.zoning.grid import GridZoning, cell_label
from odanon.zoning.h3 import H3Zoning

ZONING = GridZoning(cell_m=500, crs="EPSG:2154")
cells = st.sets(st.tuples(st.integers(-3, 20), st.integers(-3, 20)), min_size=1, max_size=40)


def grid_tiles(chosen):
    return ZONING.tiles([cell_label(500, row, col) for row, col in chosen])


@given(cells, st.integers(2, 4))
def test_grid_parents_are_blocks_of_the_factor(chosen, factor):
    tiles = grid_tiles(chosen)
    tree = GridHierarchy(factor=factor).build(tiles)
    place = dict(zip(tiles.label, zip(tiles.cells.row, tiles.cells.col, strict=True), strict=True))
    depth = tree.level[tree.tiles]
    assert len(set(depth)) == 1
    for node in range(len(tree)):
        size = factor ** (depth[0] - tree.level[node])
        blocks = {(place[label][0] // size, place[label][1] // size) for label in tree.members(node)}
        if tree.label[node] == "all":
            assert len(blocks) > 1
        else:
            ((row, col),) = blocks
            assert tree.label[node] == cell_label(500 * size, row, col)


@given(cells)
def test_quadtree_keeps_exactly_the_squares_of_the_study_area_that_split(chosen):
    tiles = grid_tiles(chosen)
    corner = min(row for row, _ in chosen), min(col for _, col in chosen)
    moved = {cell_label(500, r, c): cell_label(500, r - corner[0], c - corner[1]) for r, c in chosen}
    full = GridHierarchy(factor=2).build(ZONING.tiles(list(moved.values())))
    tree = QuadtreeHierarchy().build(tiles)
    back = {there: here for here, there in moved.items()}
    members = lambda n: frozenset(back[label] for label in full.members(n))  # noqa: E731
    assert {frozenset(tree.members(n)) for n in range(len(tree))} == {members(n) for n in range(len(full))}
    children = np.diff(tree.child_start)
    assert not (children == 1).any()
    assert (children <= 4).all()
    for level in range(full.level.max() + 1):
        squares = {frozenset(tree.members(n)) for n in tree.cut_at_level(level)}
        assert squares == {members(n) for n in full.cut_at_level(level)}


def box_of(label, depth):
    """Rows and columns of grid cells, from the corner of all of them, in the square or half that a name says."""
    square, _, half = label.removeprefix("q").partition("/")
    row = col = 0
    for quarter in map(int, square):
        row, col = 2 * row + quarter // 2, 2 * col + quarter % 2
    side = 2 ** (depth + 1 - len(square))
    low, high = {"": (0, side), "01": (0, side // 2), "23": (side // 2, side)}[half]
    return range(row * side + low, row * side + high), range(col * side, (col + 1) * side)


@given(cells)
def test_halves_of_a_quadtree_lie_between_a_square_and_its_quarters(chosen):
    tiles = grid_tiles(chosen)
    standard, tree = QuadtreeHierarchy().build(tiles), QuadtreeHierarchy(steps="fine").build(tiles)
    assert {frozenset(standard.members(n)) for n in range(len(standard))} <= {
        frozenset(tree.members(n)) for n in range(len(tree))
    }
    assert set(np.diff(tree.child_start)) <= {0, 2}
    corner = min(row for row, _ in chosen), min(col for _, col in chosen)
    place = {cell_label(500, r, c): (r - corner[0], c - corner[1]) for r, c in chosen}
    depth = (max(max(at) for at in place.values()) // 2).bit_length()
    for node in np.flatnonzero(tree.size > 1):
        rows, cols = box_of(tree.label[node], depth)
        assert set(tree.members(node)) == {label for label, (r, c) in place.items() if r in rows and c in cols}
        assert tree.n_tiles[node] == len(tree.members(node))
        below = tree.children[tree.child_start[node] : tree.child_start[node + 1]]
        assert (tree.level[below] > tree.level[node]).all()
    for level in range(tree.level.max() + 1):
        assert tree.is_partition(tree.cut_at_level(level))


def test_zones_of_halves_are_the_ground_of_their_tiles():
    tiles = grid_tiles([(row, col) for row in range(8) for col in range(8)])
    tree = replace(QuadtreeHierarchy(steps="fine").build(tiles), coverage="full")
    halves = np.flatnonzero(["/" in label for label in tree.label])
    zones = zones_table(tree, tiles, halves).set_index("zone_id")
    assert sorted(zones.index)[:3] == ["q/01", "q/23", "q0/01"]
    assert zones.loc["q/01", "n_tiles"] == len(zones.loc["q/01", "tiles"]) == 32
    assert zones.loc["q0/01", "n_tiles"] == 8
    to_metres = Transformer.from_crs("EPSG:4326", "EPSG:2154", always_xy=True)
    km2 = dict(zip(tiles.label, node_area_km2(list(tiles.geometry)), strict=True))
    for zone in zones.itertuples():
        assert zone.area_km2 == pytest.approx(sum(km2[tile] for tile in zone.tiles), rel=1e-6)
        x, y = to_metres.transform(*shapely.get_coordinates(zone.geometry).T)
        assert np.ptp(x) / np.ptp(y) == pytest.approx(2, rel=1e-3)
    south, north = zones.loc["q/01"].geometry, zones.loc["q/23"].geometry
    assert south.centroid.y < north.centroid.y
    assert south.intersection(north).area < 1e-9


def test_a_quadtree_does_not_depend_on_where_the_projection_has_its_origin():
    block = [(row, col) for row in range(4) for col in range(4)]
    trees = [QuadtreeHierarchy().build(grid_tiles([(r + by, c + by) for r, c in block])) for by in (-2, 0, 1)]
    assert len({tuple(tree.parent) for tree in trees}) == 1
    assert {label for label in trees[0].label if label.startswith("q")} == {"q", "q0", "q1", "q2", "q3"}


def test_squares_lie_where_the_bounds_say():
    places = pd.DataFrame({"id": list("abcd"), "lat": [45.0, 45.0, 45.01, 45.01], "lon": [4.0, 4.01, 4.0, 4.01]})
    tiles = Tiles(
        places["id"].to_numpy(object), places["lat"].to_numpy(), places["lon"].to_numpy(), "points", draw=list
    )
    around = QuadtreeHierarchy().build(tiles)
    assert around.parent.tolist() == [4, 4, 4, 4, -1]  # a tile in each quarter
    wide = QuadtreeHierarchy(bounds=(3.995, 44.995, 4.045, 45.045)).build(tiles)
    assert wide.label[wide.root].startswith("q0")  # all of them in the south-west
    with pytest.raises(OdanonError, match="2 of 4 tiles lie outside the bounds of the quadtree"):
        QuadtreeHierarchy(bounds=(3.99, 44.99, 4.005, 45.05)).build(tiles)


def test_quadtree_over_other_tiles_is_deeper_where_tiles_are_dense():
    tiles = h3_tiles(300, spread=0.02)
    tree = QuadtreeHierarchy().build(tiles)
    assert sorted(tree.label[tree.tiles]) == tiles.label.tolist()
    depth = np.array([np.count_nonzero(tree.is_ancestor(np.arange(len(tree)), int(leaf))) for leaf in tree.tiles])
    assert depth.max() > depth.min()


def test_tiles_at_one_place_stay_together():
    tiles = h3_tiles(3, spread=0.0)
    tree = QuadtreeHierarchy().build(tiles)
    assert tree.n_leaves == len(tiles)


def test_grid_over_other_tiles_needs_a_size():
    with pytest.raises(OdanonError, match="needs cell_m"):
        GridHierarchy().build(h3_tiles(10))
    tree = GridHierarchy(cell_m=1000, crs="EPSG:2154").build(h3_tiles(100))
    assert tree.label[tree.parent[0]].startswith("1000mN")


def test_conformance():
    labels = grid_tiles([(r, c) for r in range(6) for c in range(-3, 4)]).label
    for hierarchy in (GridHierarchy(factor=3), QuadtreeHierarchy(), QuadtreeHierarchy(steps="fine")):
        check_hierarchy(hierarchy, ZONING, labels)
    for hierarchy in (GridHierarchy(cell_m=800), QuadtreeHierarchy(), QuadtreeHierarchy(steps="fine")):
        check_hierarchy(hierarchy, H3Zoning(), h3_tiles(80).label)
