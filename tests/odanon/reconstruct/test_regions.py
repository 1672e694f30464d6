"""Regions of about equal traffic."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from odanon.reconstruct.regions import bisected


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 12))
def test_regions_are_boxes_that_part_all_points(seed, n_points, n_regions):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 20, (2, n_points)).astype(float)
    traffic = rng.integers(0, 5, n_points).astype(float)
    region = bisected(x, y, traffic, n_regions)
    n_places = len(np.unique(np.stack([x, y])[:, traffic > 0], axis=1).T)
    assert len(np.unique(region[traffic > 0])) == min(n_regions, n_places)
    busy = np.flatnonzero(traffic > 0)
    for one in np.unique(region[busy]):
        box = [axis[busy][region[busy] == one] for axis in (x, y)]
        inside = np.logical_and.reduce([(a.min() <= p) & (p <= a.max()) for a, p in zip(box, (x, y), strict=True)])
        assert (region[inside & (traffic > 0)] == one).all()


def test_traffic_is_halved_again_and_again_whatever_the_order_of_points():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 1, (2, 4000))
    traffic = rng.gamma(1.0, size=4000)
    region = bisected(x, y, traffic, 8)
    shares = np.bincount(region, traffic) / traffic.sum()
    assert abs(shares - 1 / 8).max() < 0.01
    order = rng.permutation(4000)
    again = bisected(x[order], y[order], traffic[order], 8)
    assert len(np.unique(region[order] * 8 + again)) == 8


def test_points_without_traffic_follow_the_cuts():
    x = np.array([0.0, 10.0, 1.0, 9.0])
    assert bisected(x, np.zeros(4), np.array([5.0, 5.0, 0.0, 0.0]), 2).tolist() == [0, 1, 0, 1]
