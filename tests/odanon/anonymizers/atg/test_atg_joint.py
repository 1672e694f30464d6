"""ATG-Joint against full enumeration on small random trees, and the properties a release promises."""

from unittest.mock import patch

import numpy as np
import pytest
from enumeration import (
    Instance,
    assert_keeps_promise,
    assert_row_order_does_not_matter,
    best_value,
    cuts,
    instances,
    limits,
    map_is_large_enough,
    multipliers,
    possible,
    two_levels,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg import joint
from odanon.anonymizers.atg.exact import is_small
from odanon.anonymizers.atg.joint import AtgJoint, JointRows, find_multiplier
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

promises = limits(AtgJoint)


def enumerated(instance: Instance, promise: AtgJoint) -> tuple[dict, list]:
    rows = {o: instance.row_lines(o, promise) for o in range(len(instance.origins))}
    return rows, cuts(instance.origins, instance.origins.root)


@given(instances(), promises)
def test_lagrangian_equals_enumeration_at_every_multiplier(instance: Instance, promise: AtgJoint):
    assume(map_is_large_enough(instance, promise))
    rows, origin_cuts = enumerated(instance, promise)
    problem = Problem(instance.od, instance.origins, instance.destinations, promise)
    for lambda_ in multipliers(instance, promise):
        best = max(sum(best_value(rows[o], lambda_) for o in cut) for cut in origin_cuts)
        for limit in (1000, max(int(np.ceil(lambda_)), 10)):  # rows beyond the multiplier are never needed
            line = JointRows(problem, limit).best(lambda_)
            assert lambda_ * line.K - line.A == pytest.approx(best)


@given(instances(4, 4), promises)
def test_optimum_is_the_segment_of_the_envelope_at_the_budget(instance: Instance, promise: AtgJoint):
    assume(possible(instance, promise))
    problem = Problem(instance.od, instance.origins, instance.destinations, promise)
    rows, origin_cuts = enumerated(instance, promise)
    _, found = find_multiplier(problem)
    bound = found.bound(problem.least)
    for cut in origin_cuts:  # no solution within the budget is below the bound
        lines = {(0, 0)}
        for o in cut:
            lines = {(K + k, A + a) for K, A in lines for k, a in rows[o]}
        assert all(bound - 1e-6 <= A for K, A in lines if problem.least <= K)
    assert problem.least <= found.right.K


@given(instances(4, 4), limits(AtgJoint))
def test_small_matrices_are_solved_exactly(instance: Instance, promise: AtgJoint):
    assume(possible(instance, promise))
    assume(promise.max_tiles is None and promise.max_dominance is None)
    best = np.inf
    for side in (instance, instance.flipped):
        rows, cuts_of_side = enumerated(side, promise)
        for cut in cuts_of_side:
            lines = {(0, 0)}
            for o in cut:
                lines = {(K + k, A + a) for K, A in lines for k, a in rows[o]}
            least = instance.od.volume - promise.budget(instance.od.volume)
            best = min([best, *(A / K for K, A in lines if max(least, 1) <= K)])
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    assert release.metrics["Gbar"] == pytest.approx(best)


@pytest.mark.parametrize("small", [True, False])
@given(instances(), promises)
def test_release_keeps_its_promise(small: bool, instance: Instance, promise: AtgJoint):
    assume(possible(instance, promise))
    with patch.object(joint, "is_small", lambda problem: small and is_small(problem)):
        release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    assert_keeps_promise(instance, release, promise)
    assert release.metrics["direction"] in ("origin-first", "destination-first")


@given(instances(), promises, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(instance: Instance, promise: AtgJoint, random):
    assume(possible(instance, promise))
    assert_row_order_does_not_matter(instance, promise, random)


def test_large_matrices_too_sparse_for_a_sample():
    """Most tiles and areas see a handful of trips, so no part of the origins tells where the multiplier lies."""
    rng, tree = np.random.default_rng(5), two_levels(120)
    ends = rng.choice(14_400**2, 15_000, replace=False)
    od = ODMatrix.from_arrays(ends // 14_400, ends % 14_400, np.ones(15_000, dtype=int))
    release = AtgJoint(unit="trips", k=100).anonymize(od, tree, tree)
    assert release.metrics["S"] <= 1500
    assert (release.flows["trips"] >= 100).all()


def test_threads_do_not_matter():
    rng, tree, n = np.random.default_rng(5), two_levels(20), 400
    od = ODMatrix.from_arrays(rng.integers(0, n, 40_000), rng.integers(0, n, 40_000), rng.integers(1, 9, 40_000))
    problem = Problem(od, tree, tree, AtgJoint(unit="trips"))
    one_by_one = [joint.solve(problem), joint.solve(problem.transposed)]
    both = joint.solve_both(problem)
    chosen = one_by_one[1].seen_from(problem) if both.by_destination else one_by_one[0]
    assert (both.K, both.A) == (chosen.K, chosen.A)
    assert np.array_equal(both.pair_origin, chosen.pair_origin)
    assert np.array_equal(both.pair_destination, chosen.pair_destination)


@given(instances(), promises)
def test_rows_that_do_not_fit_in_memory_are_built_again(instance: Instance, promise: AtgJoint):
    assume(map_is_large_enough(instance, promise))
    problem = Problem(instance.od, instance.origins, instance.destinations, promise)
    for lambda_ in (0.0, 4.0, 9.0):
        roomy, tight = JointRows(problem, 100).best(lambda_), JointRows(problem, 100, capacity=0).best(lambda_)
        assert (roomy.K, roomy.A) == (tight.K, tight.A)


def test_unreachable_k_is_refused():
    tree = Hierarchy.from_parents(["a", "b", "root"], [2, 2, -1], kind="test")
    od = ODMatrix.from_arrays(np.array([0, 1]), np.array([1, 0]), np.array([50, 50]), np.array([0, 1]))
    with pytest.raises(OdanonError, match="fewer than k = 10 persons"):
        AtgJoint().anonymize(od, tree, tree)
