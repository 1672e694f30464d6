"""Grid hierarchy and quadtree: blocks against arithmetic on cell indices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.hierarchies.grid import GridHierarchy
from odanon.hierarchies.quadtree import QuadtreeHierarchy
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
def test_quadtree_keeps_exactly_the_squares_that_split(chosen):
    tiles = grid_tiles(chosen)
    full, tree = GridHierarchy(factor=2).build(tiles), QuadtreeHierarchy().build(tiles)
    assert {frozenset(tree.members(n)) for n in range(len(tree))} == {
        frozenset(full.members(n)) for n in range(len(full))
    }
    children = np.diff(tree.child_start)
    assert not (children == 1).any()
    assert (children <= 4).all()
    for level in range(full.level.max() + 1):
        same = [frozenset(t.members(n)) for t in (full, tree) for n in t.cut_at_level(level)]
        assert set(same[: len(same) // 2]) == set(same[len(same) // 2 :])


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
