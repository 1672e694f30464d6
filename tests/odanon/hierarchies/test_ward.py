"""The Ward dendrogram against SciPy and on real zones."""

import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import h3_tiles
from scipy.cluster.hierarchy import linkage

from odanon.geo.crs import local_crs, to_metres
from odanon.hierarchies.kernels import ward_merges
from odanon.hierarchies.ward import WardHierarchy
from odanon.testing.hierarchies import check_hierarchy
from odanon.zoning.h3 import H3Zoning
from odanon.zoning.polygons import PolygonZoning


def clusters(left: np.ndarray, right: np.ndarray) -> set[frozenset[int]]:
    """The sets of points of all merges."""
    members = [frozenset([i]) for i in range(len(left) + 1)]
    for a, b in zip(left, right, strict=True):
        members.append(members[int(a)] | members[int(b)])
    return set(members)


def variance_gain(x: np.ndarray, y: np.ndarray, left: np.ndarray, right: np.ndarray) -> float:
    """The sum of Ward distances over all merges."""
    groups = [[i] for i in range(len(x))]
    total = 0.0
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        p, q = groups[a], groups[b]
        gap = (x[p].mean() - x[q].mean()) ** 2 + (y[p].mean() - y[q].mean()) ** 2
        total += len(p) * len(q) / (len(p) + len(q)) * gap
        groups.append(p + q)
    return total


@given(st.integers(2, 300), st.integers(0, 10_000), st.sampled_from(["even", "cities", "outlier", "line"]))
def test_same_clusters_as_scipy(n, seed, shape):
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 1000, (n, 2))
    if shape == "cities":
        points += rng.choice([-1e6, 0, 3e5], (n, 2))
    if shape == "outlier":
        points[0] = 1e7
    if shape == "line":
        points[:, 1] = 0
    merges = linkage(points, "ward")
    assert clusters(*ward_merges(points[:, 0], points[:, 1])) == clusters(merges[:, 0], merges[:, 1])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_ties_and_duplicates_still_give_one_binary_tree(places):
    x, y = np.array(places, dtype=float).T
    left, right = ward_merges(x, y)
    used = np.concatenate([left, right])
    assert sorted(used.tolist()) == list(range(2 * len(x) - 2))
    # Every merge splits variance; whatever the ties, all of it is accounted for.
    total = ((x - x.mean()) ** 2 + (y - y.mean()) ** 2).sum()
    assert variance_gain(x, y, left, right) == pytest.approx(total, abs=1e-6)


def test_inner_nodes_are_named_by_size_and_first_tile():
    tree = WardHierarchy().build(h3_tiles(60))
    for node in np.flatnonzero(tree.size > 1):
        members = tree.members(int(node))
        assert tree.label[node] == f"w{len(members)}:{min(members)}"


def test_tree_follows_the_projected_centroids():
    tiles = h3_tiles(80, spread=0.2)
    tree = WardHierarchy().build(tiles)
    x, y = to_metres(tiles.lat, tiles.lon, local_crs(tiles.lat, tiles.lon))
    expected = {frozenset(tiles.label[list(group)]) for group in clusters(*ward_merges(x, y))}
    assert {frozenset(tree.members(node)) for node in range(len(tree))} == expected


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_fifty_thousand_tiles_stay_within_memory():
    x, y = np.random.default_rng(1).normal(0, 1e4, (2, 50_000))
    ward_merges(x[:10], y[:10])
    before = peak_megabytes()
    ward_merges(x, y)
    assert peak_megabytes() - before < 100  # a distance matrix would take 10,000


def test_conformance():
    check_hierarchy(WardHierarchy(), H3Zoning(), h3_tiles(100).label)
    check_hierarchy(WardHierarchy(crs="EPSG:2154"), H3Zoning(), h3_tiles(100).label)


@pytest.mark.real
def test_new_york_taxi_zones(shared_data):
    zoning = PolygonZoning(path=shared_data / "nyc_taxi_zones" / "taxi_zones.shp", id="LocationID")
    tiles = zoning.tiles(zoning._zones[0])
    tree = WardHierarchy(crs="EPSG:32618").build(tiles)
    assert (tree.n_leaves, len(tree)) == (260, 519)
    x, y = to_metres(tiles.lat, tiles.lon, "EPSG:32618")
    merges = linkage(np.column_stack([x, y]), "ward")
    expected = {frozenset(tiles.label[list(group)]) for group in clusters(merges[:, 0], merges[:, 1])}
    assert {frozenset(tree.members(node)) for node in range(len(tree))} == expected
