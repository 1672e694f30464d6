"""The fitted reading against the same thing cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from nested_rows import cases

from odanon.metrics.reconstruction import Reconstruction
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.reconstruct.fitted import _ROUNDS, SMOOTHING, fitted_weights
from odanon.reconstruct.rests import Regions


@given(cases())
def test_a_tile_pair_has_the_density_of_its_innermost_row(case):
    product = case.sides[0].tiles[case.ends[0]] * case.sides[1].tiles[case.ends[1]]
    step = Regions.measured(case.around, product).layered(case.trips)
    density = np.zeros(case.owner.shape)
    for row, more in enumerate(step):
        density[case.run(0, row), case.run(1, row)] += more
    assert density == pytest.approx(case.spread(np.ones(case.owner.shape)))


@given(cases())
def test_fitted_weights_are_those_of_the_same_rounds_over_single_cells(case):
    tiles = [np.full(n, 1 / n) for n in case.owner.shape]
    covered = [case.own_of_tile(side) >= 0 for side in (0, 1)]
    tiles = even = [np.where(c, 1.0, 0.0) / c.sum() for c in covered]
    for _ in range(_ROUNDS):
        cells = case.spread(np.outer(*tiles))
        got = [cells.sum(1), cells.sum(0)]
        tiles = [g / case.trips.sum() + SMOOTHING * e for g, e in zip(got, even, strict=True)]
        tiles = [t / t.sum() for t in tiles]
    fitted = fitted_weights(*case.sides, *case.ends, case.trips, case.around)
    for side in (0, 1):
        own, known = case.own_of_tile(side), covered[side]
        expected = np.bincount(own[known], tiles[side][known], len(case.nodes[side]))
        assert fitted[side] == pytest.approx(expected, abs=1e-9)


@given(cases())
def test_losses_of_both_readings_are_those_of_single_cells(case):
    rng = np.random.default_rng(len(case.trips))
    truth = rng.integers(0, 4, case.owner.shape)
    truth[0, 0] += 1
    origin, destination = np.nonzero(truth)
    od = ODMatrix.from_arrays(origin, destination, truth[origin, destination])
    row = case.owner[od.pairs.origin, od.pairs.destination]
    nodes = [np.where(row >= 0, n[e][row], -1) for n, e in zip(case.nodes, case.ends, strict=True)]
    release = Release.from_nodes(od, *case.trees, *nodes, {}, pair_rest=(row >= 0) & case.rest[row])
    told = Reconstruction().evaluate(od, release)
    case.trips = np.bincount(case.owner[case.owner >= 0], truth[case.owner >= 0], len(case.trips))
    if (case.trips == 0).any():  # such a row is not in the release, and the ones around it count its cells
        return
    even = case.spread(np.ones(truth.shape))
    assert told["E"] == pytest.approx(np.abs(even - truth).sum() / truth.sum())
    leave, enter = fitted_weights(*case.sides, *case.ends, case.trips, case.around)
    by_tile = [
        np.append(weight / np.where(side.own > 0, side.own, 1), 0.0)[case.own_of_tile(n)]
        for n, (weight, side) in enumerate(zip((leave, enter), case.sides, strict=True))
    ]
    fitted = case.spread(np.outer(*by_tile))
    assert told["E_fitted"] == pytest.approx(np.abs(fitted - truth).sum() / truth.sum())
