"""ATG-Homogeneous: partitions that never overlap, never worse than the best uniform cuts, shared over a window."""

import itertools

import numpy as np
import pytest
from enumeration import Instance, assert_keeps_promise, cuts, instances, limits, possible
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg.homogeneous import AtgHomogeneous, View, best_uniform
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.steps import cut_at, uniform_steps
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

plain = st.builds(
    AtgHomogeneous,
    k=st.integers(2, 8),
    unit=st.sampled_from(["trips", "persons"]),
    suppression=st.sampled_from([0.0, 0.1, 0.3]),
)


def uniform_pairs(instance: Instance, promise: AtgHomogeneous) -> list[tuple[int, int]]:
    """(K, A) of every pair of uniform cuts."""
    sides = []
    for tree in (instance.origins, instance.destinations):
        steps = uniform_steps(tree)
        sides.append([cut_at(tree, steps, t).tolist() for t in range(int(steps.max()) + 1)])
    return [pair_cost(instance, promise, *pair) for pair in itertools.product(*sides)]


def pair_cost(instance: Instance, promise: AtgHomogeneous, origins, destinations) -> tuple[int, int]:
    flows = [instance.flow(o, d, promise) for o in origins for d in destinations]
    return sum(K for K, _ in flows), sum(A for _, A in flows)


@given(instances(), plain)
def test_costs_of_every_node_for_fixed_areas(instance: Instance, promise: AtgHomogeneous):
    view = View.of([Problem(instance.od, instance.origins, instance.destinations, promise)])
    for cut in cuts(instance.origins, instance.origins.root)[:6]:
        K, A = view.costs(np.array(cut))
        assert [(int(k), int(a)) for k, a in zip(K, A, strict=True)] == [
            pair_cost(instance, promise, cut, [d]) for d in range(len(instance.destinations))
        ]


@given(instances(), limits(AtgHomogeneous))
def test_best_uniform_cut_is_that_of_the_whole_lattice(instance: Instance, promise: AtgHomogeneous):
    assume(promise.min_tiles <= min(instance.origins.n_leaves, instance.destinations.n_leaves))
    view = View.of([Problem(instance.od, instance.origins, instance.destinations, promise)])
    within = [A for K, A in uniform_pairs(instance, promise) if view.least <= K]
    found = best_uniform(view)
    assert min(within, default=None) == (found.A if found else None)


def test_a_uniform_cut_between_one_that_is_too_fine_and_one_that_is_too_large_is_found():
    tree = Hierarchy.from_parents(["all", "n", "s", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2], kind="test")
    there = Hierarchy.from_parents(["x"], [-1], kind="test")
    od = ODMatrix.from_arrays(np.array([0, 0, 1]), np.zeros(3, int), np.ones(3, int), np.array([0, 1, 0]))
    found = best_uniform(View.of([Problem(od, tree, there, AtgHomogeneous(k=2, suppression=0.0, max_tiles=3))]))
    assert found is not None
    assert found.A == 9


@given(instances(), limits(AtgHomogeneous))
def test_release_keeps_its_promise_on_partitions_no_worse_than_uniform(instance: Instance, promise: AtgHomogeneous):
    assume(possible(instance, promise))
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    assert_keeps_promise(instance, release, promise)
    for areas in (release.origins, release.destinations):
        assert len(set(areas.members.tolist())) == len(areas.members)  # no tile in two areas
    least = instance.od.volume - promise.budget(instance.od.volume)
    assert all(release.metrics["G"] <= A for K, A in uniform_pairs(instance, promise) if least <= K)


@given(instances(4, 4), plain)
def test_close_to_the_best_of_all_pairs_of_partitions(instance: Instance, promise: AtgHomogeneous):
    assume(possible(instance, promise))
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    least = instance.od.volume - promise.budget(instance.od.volume)
    every = itertools.product(
        cuts(instance.origins, instance.origins.root), cuts(instance.destinations, instance.destinations.root)
    )
    best = min(A for K, A in (pair_cost(instance, promise, *pair) for pair in every) if least <= K)
    assert best <= release.metrics["G"]


@given(instances(), st.integers(2, 4), plain, st.randoms(use_true_random=False))
def test_a_window_shares_its_partitions_and_its_budget(instance: Instance, n_bins: int, promise, random):
    assume(possible(instance, promise))
    od = instance.od
    bin_of = np.array([random.randrange(n_bins) for _ in od.trips])
    ods = [ODMatrix.from_arrays(*(part[bin_of == b] for part in instance.parts)) for b in range(n_bins)]
    try:
        releases = promise.anonymize_window(ods, instance.origins, instance.destinations)
    except OdanonError:
        return  # split into bins, the people may be too few
    assert sum(release.metrics["S"] for release in releases) <= promise.budget(od.volume)
    for side in ("origins", "destinations"):
        areas = {}
        for release in releases:
            part = getattr(release, side)
            for a, label in enumerate(part.label):
                areas[label] = part.members[part.start[a] : part.start[a + 1]].tolist()
        tiles = list(itertools.chain.from_iterable(areas.values()))
        assert len(tiles) == len(set(tiles))


def test_uniform_steps_of_unequal_depths_merge_the_smallest_parents_first():
    #        root(5)
    #    x(3)      y(2)     x = {a, w(2) = {b, c}}, y = {d, e}
    label = ["a", "b", "c", "d", "e", "w", "x", "y", "root"]
    tree = Hierarchy.from_parents(label, [6, 5, 5, 7, 7, 6, 8, 8, -1], kind="test")
    steps = uniform_steps(tree)
    assert [sorted(tree.label[cut_at(tree, steps, t)]) for t in range(int(steps.max()) + 1)] == [
        ["a", "b", "c", "d", "e"],
        ["a", "w", "y"],
        ["x", "y"],
        ["root"],
    ]


def test_an_empty_window_is_refused():
    tree = Hierarchy.from_parents(["a"], [-1], kind="test")
    with pytest.raises(OdanonError, match="no matrix"):
        AtgHomogeneous().anonymize_window([], tree, tree)
