"""The error on larger areas against the same thing tile by tile."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.anonymizers.atg.joint import AtgJoint
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.metrics.areas import AreasError
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.reconstruct.layout import Layout
from odanon.reconstruct.regions import bisected
from odanon.zoning.h3 import H3Zoning


def halves(n: int) -> Hierarchy:
    """Tiles on a line, joined two by two; `n` is a power of two."""
    label, parent, level = [f"t{i:03d}" for i in range(n)], [], list(range(n))
    while len(level) > 1:
        above = [len(label) + i for i in range(len(level) // 2)]
        parent += [above[i // 2] for i in range(len(level))]
        label += [f"n{i:03d}" for i in above]
        level = above
    tree = Hierarchy.from_parents(label, [*parent, -1], kind="test")
    return tree.placed(np.array(label[:n], dtype=object), np.zeros(n), np.arange(n) / 100)


def tile_by_tile(od: ODMatrix, release: Release, tree: Hierarchy, n: int, *, fitted: bool) -> float:
    """The estimate of every pair of tiles, from the innermost row around it, then of every pair of regions."""
    likely = np.ones((tree.n_leaves, tree.n_leaves))
    if fitted:
        layout = Layout.of(release)
        weights = layout.fitted(release.flows["trips"].to_numpy(np.float64))
        likely = np.outer(*(layout.by_tile(side, weights[side], np.arange(tree.n_leaves)) for side in (0, 1)))
    flows = release.flows.assign(size=release.flows["origin_tiles"] * release.flows["destination_tiles"])
    holds = np.full(likely.shape, -1)
    for at, flow in flows.sort_values("size", ascending=False).iterrows():
        o, d = (tree.label.tolist().index(flow[side]) for side in ("origin", "destination"))
        holds[tree.tile_start[o] : tree.tile_end[o], tree.tile_start[d] : tree.tile_end[d]] = at
    estimate, truth = np.zeros((2, tree.n_leaves, tree.n_leaves))
    for at, trips in flows["trips"].items():
        mine = holds == at
        estimate[mine] = trips * likely[mine] / likely[mine].sum()
    np.add.at(truth, (od.pairs.origin, od.pairs.destination), od.pairs.trips)
    region = bisected(tree.lon, tree.lat, truth.sum(0) + truth.sum(1), n)
    one = np.eye(n)[region]
    return float(np.abs(one.T @ (estimate - truth) @ one).sum() / truth.sum())


@given(st.integers(0, 10_000))
def test_the_error_on_areas_is_that_of_the_spread_out_release(seed):
    rng = np.random.default_rng(seed)
    tree = halves(128)
    od = ODMatrix.from_arrays(*rng.integers(0, 128, (2, 300)), np.ones(300, dtype=np.int64))
    od = ODMatrix(od.origin, od.destination, od.trips, od.person, od.weight, Ground(tree, tree))
    release = (AtgJoint, AtgLattice)[seed % 2](k=5, unit="trips").anonymize(od, tree, tree)
    (metric,) = AreasError.applicable(od, release)
    told = metric.evaluate(od, release)
    for n in (12, 30, 100):
        assert told[f"areas_error_{n}"] == pytest.approx(tile_by_tile(od, release, tree, n, fitted=False))
        assert told[f"areas_error_{n}_fitted"] == pytest.approx(tile_by_tile(od, release, tree, n, fitted=True))
    assert metric.combine(pd.DataFrame([told, told]))["areas_error_30"] == pytest.approx(told["areas_error_30"])


def test_tiles_that_nobody_visited_count_where_they_lie():
    zoning, rng = H3Zoning(resolution=8), np.random.default_rng(3)
    place = np.array([48.85, 2.35]) + rng.normal(0, 0.03, (400, 2))
    label = zoning.assign(*place.T)
    tree = H3Hierarchy(steps="fine").build(zoning.tiles(label))
    ranks = tree.ranks(label)
    od = ODMatrix.from_arrays(ranks[:200], ranks[200:], np.ones(200, dtype=np.int64))
    od = ODMatrix(od.origin, od.destination, od.trips, od.person, od.weight, Ground(tree, tree))
    nodes = np.full(len(od.pairs.trips), tree.root)
    release = Release.from_nodes(od, tree, tree, nodes, nodes, {})
    told = AreasError().evaluate(od, release)
    # One flow over a root many times as large as where people are: nearly all of it is read where nobody was.
    assert 0.5 < told["areas_error_12"] <= told["areas_error_100"] <= 2
