"""Grid hierarchy and quadtree: blocks against arithmetic on cell indices."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.hierarchies.grid import GridHierarchy
from odanon.hierarchies.quadtree import QuadtreeHierarchy
from odanon.model.tiles import Tiles
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
    for hierarchy in (GridHierarchy(factor=3), QuadtreeHierarchy()):
        check_hierarchy(hierarchy, ZONING, labels)
    for hierarchy in (GridHierarchy(cell_m=800), QuadtreeHierarchy()):
        check_hierarchy(hierarchy, H3Zoning(), h3_tiles(80).label)
