"""The H3 hierarchy against the h3 library."""

import h3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.geo.h3steps import HALVES, PAIRS, cells_of, step_name
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.model.zones import zones_table
from odanon.testing.hierarchies import check_hierarchy
from odanon.zoning.grid import GridZoning
from odanon.zoning.h3 import H3Zoning


@given(st.integers(1, 200), st.integers(0, 99), st.sampled_from([0.001, 0.05, 2.0]), st.integers(3, 11))
def test_parents_levels_and_sizes_are_those_of_h3(n, seed, spread, resolution):
    tiles = h3_tiles(n, seed, spread, resolution)
    tree = H3Hierarchy().build(tiles)
    assert sorted(tree.label[tree.tiles]) == tiles.label.tolist()
    for node in range(len(tree) - 1):
        above = tree.label[tree.parent[node]]
        assert above == (h3.cell_to_parent(tree.label[node]) if tree.level[node] > 0 else "all")
    for node, label in enumerate(tree.label):
        if label != "all":
            assert tree.level[node] == h3.get_resolution(label)
            assert tree.n_tiles[node] == h3.cell_to_children_size(label, resolution)


def test_auto_root_is_the_finest_common_ancestor():
    tree = H3Hierarchy().build(h3_tiles(300, spread=0.01))
    assert len(tree.children[tree.child_start[tree.root] :]) > 1
    assert tree.label[tree.root] != "all"


def test_one_tile_is_its_own_root():
    tree = H3Hierarchy().build(h3_tiles(1))
    assert len(tree) == 1
    assert tree.n_tiles.tolist() == [1]


def test_without_a_common_cell_a_virtual_root_sums_its_children():
    zoning = H3Zoning(resolution=5)
    tiles = zoning.tiles(zoning.assign(np.array([48.85, -33.9]), np.array([2.35, 151.2])))
    tree = H3Hierarchy().build(tiles)
    top = np.flatnonzero(tree.parent == tree.root)
    assert tree.label[tree.root] == "all"
    assert tree.level[top].tolist() == [0, 0]
    assert tree.level[tree.root] == -1
    assert tree.n_tiles[tree.root] == tree.n_tiles[top].sum()


def test_pentagons_have_fewer_children():
    pentagon = h3.get_pentagons(4)[0]
    zoning = H3Zoning(resolution=6)
    tree = H3Hierarchy(root=pentagon).build(zoning.tiles(h3.cell_to_children(pentagon, 6)))
    assert tree.n_tiles[tree.root] == h3.cell_to_children_size(pentagon, 6) < 49
    assert tree.n_tiles[tree.root] == tree.n_leaves


def test_root_resolution_and_root_cell():
    tiles = h3_tiles(300)
    by_resolution = H3Hierarchy(root=6).build(tiles)
    assert by_resolution.label[by_resolution.root] == "all"
    assert set(by_resolution.level.tolist()) == {5, 6, 7, 8, 9}
    cell = h3.cell_to_parent(tiles.label[0], 1)
    by_cell = H3Hierarchy(root=cell).build(tiles)
    assert by_cell.label[by_cell.root] == cell


def test_observed_coverage_counts_the_leaves():
    tree = H3Hierarchy(coverage="observed").build(h3_tiles(300))
    assert tree.coverage == "observed"
    assert np.array_equal(tree.n_tiles, tree.tile_end - tree.tile_start)


def test_roots_that_do_not_fit_are_refused():
    tiles = h3_tiles(300)
    elsewhere = h3.latlng_to_cell(-33.9, 151.2, 3)
    with pytest.raises(OdanonError, match="tiles lie outside the hierarchy root"):
        H3Hierarchy(root=elsewhere).build(tiles)
    with pytest.raises(OdanonError, match="finer than the tiles"):
        H3Hierarchy(root=10).build(tiles)
    with pytest.raises(OdanonError, match="is not an H3 cell"):
        H3Hierarchy(root="8" + "f" * 14).build(tiles)
    for nonsense in ("paris", 16, -1):
        with pytest.raises(ValidationError):
            H3Hierarchy(root=nonsense)


def test_other_tiles_are_refused():
    zoning = GridZoning(crs="EPSG:2154")
    tiles = zoning.tiles(zoning.assign(np.array([48.85]), np.array([2.35])))
    with pytest.raises(OdanonError, match="needs h3 tiles, not grid tiles"):
        H3Hierarchy().build(tiles)


@pytest.mark.parametrize("coverage", ["full", "observed"])
@pytest.mark.parametrize("steps", ["standard", "fine"])
def test_conformance(coverage, steps):
    check_hierarchy(H3Hierarchy(coverage=coverage, steps=steps), H3Zoning(), h3_tiles(100).label)


def naive_extent(cells: list[str], visits: list[tuple[int, int]], k: int) -> set[str]:
    """The cells of the finest root that fewer than k visitors ever leave, or of the coarsest ones with k visitors.

    Of fewer than k visitors in all, everything.
    """
    if len({who for _, who in visits}) < k:
        return set(cells)
    for resolution in range(h3.get_resolution(cells[0]), -1, -1):
        roots = [h3.cell_to_parent(cell, resolution) for cell in cells]
        people = {root: {who for tile, who in visits if roots[tile] == root} for root in roots}
        busiest = min(people, key=lambda root: (-len(people[root]), root))
        if len({who for tile, who in visits if roots[tile] != busiest}) < k:
            return {cell for cell, root in zip(cells, roots, strict=True) if root == busiest}
    return {cell for cell, root in zip(cells, roots, strict=True) if len(people[root]) >= k}


@given(
    st.integers(1, 12),
    st.sampled_from([0.01, 2.0, 12.0]),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 8)), min_size=1, max_size=60),
    st.integers(2, 6),
)
def test_the_automatic_root_depends_on_k_people(n, spread, visits, k):
    tiles = h3_tiles(n, 3, spread, 7)
    visits = [(tile % len(tiles), who) for tile, who in visits]
    tile, visitor = np.array(visits).T
    near = H3Hierarchy().extent(tiles.label, tile, visitor, k)
    assert set(tiles.label[near]) == naive_extent(tiles.label.tolist(), visits, k)


def test_a_root_that_is_given_leaves_out_what_lies_elsewhere():
    zoning = H3Zoning(resolution=5)
    label = zoning.assign(np.array([48.85, 48.9, -33.9]), np.array([2.35, 2.4, 151.2]))
    tile, visitor = np.array([0, 1, 2, 2]), np.array([0, 1, 2, 3])
    root = h3.cell_to_parent(label[0], 2)
    assert H3Hierarchy(root=root).extent(label, tile, visitor, 4).tolist() == [True, True, False]
    assert H3Hierarchy(root=0).extent(label, tile, visitor, 2).tolist() == [True, True, True]
    assert H3Hierarchy(root=0).extent(label, tile[:3], visitor[:3], 2).tolist() == [True, True, False]
    assert H3Hierarchy(root=0).extent(label, tile, visitor, 10).tolist() == [True, True, True]


@given(st.integers(1, 120), st.integers(0, 99), st.sampled_from([0.001, 0.05, 2.0]), st.integers(3, 11))
def test_fine_steps_lie_between_a_cell_and_its_children(n, seed, spread, resolution):
    tiles = h3_tiles(n, seed, spread, resolution)
    coarse, tree = H3Hierarchy().build(tiles), H3Hierarchy(steps="fine").build(tiles)
    assert set(coarse.label) <= set(tree.label)
    size = dict(zip(coarse.label, coarse.n_tiles, strict=True))
    for node, label in enumerate(tree.label.tolist()):
        if label == "all":
            continue
        cells = cells_of(label)
        assert tree.n_tiles[node] == sum(h3.cell_to_children_size(cell, resolution) for cell in cells)
        assert tree.n_tiles[node] == size.get(label, tree.n_tiles[node])
        inside = {tile for tile in tiles.label if h3.cell_to_parent(tile, h3.get_resolution(cells[0])) in cells}
        assert set(tree.members(node)) == inside
        up = tree.parent[node]
        if up >= 0 and tree.label[up] != "all":
            assert tree.level[up] < tree.level[node]
            assert tree.n_tiles[up] <= 3 * tree.n_tiles[node]


@given(st.integers(0, 10_000), st.integers(0, 10))
def test_the_cells_of_a_fine_step_lie_side_by_side(seed, resolution):
    lat, lon = np.random.default_rng(seed).uniform([-80, -180], [80, 180])
    cell = h3.latlng_to_cell(lat, lon, resolution)
    for children in (*PAIRS, *HALVES):
        group = set(cells_of(step_name(cell, children)))
        reached, todo = set(), [min(group)]
        while todo:
            reached.add(here := todo.pop())
            todo += (group & set(h3.grid_disk(here, 1))) - reached
        assert reached == group
    assert sorted("".join(HALVES)) == sorted("".join(PAIRS) + "5") == list("0123456")


def test_fine_steps_around_a_pentagon_count_what_there_is():
    pentagon = h3.get_pentagons(4)[0]
    cells = h3.cell_to_children(pentagon, 6)
    tree = H3Hierarchy(root=pentagon, steps="fine").build(H3Zoning(resolution=6).tiles(cells))
    assert np.array_equal(tree.n_tiles, tree.tile_end - tree.tile_start)


def test_zones_of_fine_steps_say_what_they_are_where_they_lie_and_which_tiles_they_hold():
    tiles = h3_tiles(60, spread=0.02)
    tree = H3Hierarchy(steps="fine").build(tiles)
    nodes = np.flatnonzero(["/" in label for label in tree.label])
    zones = zones_table(tree, tiles, nodes)
    for zone in zones.itertuples():
        cells = cells_of(zone.zone_id)
        assert zone.n_tiles == len(zone.tiles)
        assert {h3.cell_to_parent(tile, h3.get_resolution(cells[0])) for tile in zone.tiles} == set(cells)
        assert zone.area_km2 == pytest.approx(sum(h3.cell_area(tile) for tile in zone.tiles), rel=0.01)
        assert zone.geometry.is_valid
