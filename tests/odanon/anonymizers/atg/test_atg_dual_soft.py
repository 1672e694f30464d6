"""ATG-Dual and ATG-Soft: the origin cut and the destinations against full enumeration, and what a release promises."""

import numpy as np
import pytest
from enumeration import (
    Instance,
    assert_keeps_promise,
    best_value,
    cuts,
    instances,
    limits,
    map_is_large_enough,
    multipliers,
    possible,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg.dual import AtgDual, solve_dual
from odanon.anonymizers.atg.forest import BudgetError, Forest
from odanon.anonymizers.atg.origins import areas_emitting
from odanon.anonymizers.atg.soft import AtgSoft
from odanon.anonymizers.trees.problem import Problem
from odanon.door import release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix


def problem_of(instance: Instance, promise: AtgDual) -> Problem:
    return Problem(instance.od, instance.origins, instance.destinations, promise)


def areas_of(problem: Problem, v_target: float) -> np.ndarray:
    return areas_emitting(problem.origins, problem.emitted, problem.fits, v_target)


@given(instances(6, 2), st.sampled_from([1.0, 5.0, 12.0, 40.0, 200.0]))
def test_origin_areas_are_closest_to_the_target_outflow(instance: Instance, v_target: float):
    tree, od = instance.origins, instance.od
    outflow = [int(od.trips[instance.below(o, instance.destinations.root)].sum()) for o in range(len(tree))]

    def penalty(nodes) -> float:
        """Of the kept nodes, empty ones included, and of those that lie beside them and are not in the tree."""
        split = {up for node in nodes for up in above(tree, node)}
        absent = sum(missing_children(tree, node) for node in split)
        return sum((v_target - outflow[o]) ** 2 for o in nodes) + absent * v_target**2

    areas = areas_of(problem_of(instance, AtgDual(unit="trips")), v_target)
    every = cuts(tree, tree.root)
    fitting = [cut for cut in every if {o for o in cut if outflow[o]} == set(areas.tolist())]
    assert min(map(penalty, fitting)) == min(map(penalty, every))
    assert sum(outflow[o] for o in areas) == od.volume


def above(tree: Hierarchy, node: int) -> list[int]:
    up = int(tree.parent[node])
    return [] if up < 0 else [up, *above(tree, up)]


def missing_children(tree: Hierarchy, node: int) -> int:
    """Children that the sizes count and the tree does not hold, as large as the largest that it holds."""
    sizes = tree.n_tiles[tree.parent == node]
    return int(np.ceil((tree.n_tiles[node] - sizes.sum()) / sizes.max()))


def test_empty_areas_pay_too_so_that_what_is_near_them_is_joined():
    tree = Hierarchy.from_parents(["a", "b", "c", "d", "left", "right", "root"], [4, 4, 5, 5, 6, 6, -1], kind="test")
    emitted = np.array([10, 0, 10, 9])
    areas = areas_emitting(tree, emitted, np.ones(len(tree), dtype=bool), 10.0)
    assert tree.label[areas].tolist() == ["left", "c", "d"]  # b alone would cost as much as no trip at all


@given(instances(), limits(AtgDual), st.sampled_from([2.0, 15.0, 60.0]))
def test_lagrangian_equals_enumeration_at_every_multiplier(instance: Instance, promise: AtgDual, v_target: float):
    assume(map_is_large_enough(instance, promise))
    problem = problem_of(instance, promise)
    areas = areas_of(problem, v_target)
    forest = Forest.grow(problem, areas, 1000)
    rows = [instance.row_lines(int(o), promise) for o in areas]
    for lambda_ in multipliers(instance, promise):
        line = forest.best(lambda_)
        assert lambda_ * line.K - line.A == pytest.approx(sum(best_value(lines, lambda_) for lines in rows))


@given(instances(4, 5), limits(AtgDual), st.sampled_from([5.0, 30.0]))
def test_multiplier_is_that_of_the_segment_at_the_budget(instance: Instance, promise: AtgDual, v_target: float):
    assume(map_is_large_enough(instance, promise))
    problem = problem_of(instance, promise)
    areas = areas_of(problem, v_target)
    lines = {(0, 0)}
    for o in areas:
        lines = {(K + k, A + a) for K, A in lines for k, a in instance.row_lines(int(o), promise)}
    feasible = [A for K, A in lines if problem.least <= K]
    if not feasible:
        with pytest.raises(BudgetError):
            solve_dual(problem)(areas)
        return
    found = solve_dual(problem)(areas).found
    assert problem.least <= found.right.K
    assert found.bound(problem.least) <= min(feasible) + 1e-6 <= found.right.A + 1e-6


@given(instances(), st.one_of(limits(AtgDual), limits(AtgSoft)), st.randoms(use_true_random=False))
def test_release_keeps_its_promise_whatever_the_row_order(instance: Instance, promise, random):
    assume(possible(instance, promise))
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    assert_keeps_promise(instance, release, promise)
    order = list(range(len(instance.od.trips)))
    random.shuffle(order)
    shuffled = ODMatrix.from_arrays(*(part[order] for part in instance.parts))
    again = promise.anonymize(shuffled, instance.origins, instance.destinations)
    assert again.flows.equals(release.flows)
    assert str(again.metrics) == str(release.metrics)  # where nothing is published, Gbar is not a number


@given(instances(), st.sampled_from([4.0, 7.0, 12.0]), st.sampled_from([5.0, 40.0, "auto"]))
def test_soft_never_blurs_a_splittable_flow_beyond_lambda(instance: Instance, lambda_: float, v_target):
    promise = AtgSoft(k=3, unit="trips", lambda_=lambda_, v_target=v_target)
    assume(possible(instance, promise))
    flows = promise.anonymize(instance.od, instance.origins, instance.destinations).flows
    tiles = set(instance.destinations.label[instance.destinations.tiles])
    for flow in flows.itertuples():
        assert flow.origin_tiles + flow.destination_tiles <= lambda_ or flow.destination in tiles


def test_too_small_a_target_is_refused_with_a_remedy():
    tree = Hierarchy.from_parents(["a", "b", "root"], [2, 2, -1], kind="test")
    od = ODMatrix.from_arrays(np.array([0, 1]), np.array([0, 1]), np.array([4, 4]))
    with pytest.raises(OdanonError, match="raise v_target"):
        AtgDual(k=5, unit="trips", v_target=4).anonymize(od, tree, tree)
    assert AtgDual(k=5, unit="trips").anonymize(od, tree, tree).metrics["S"] == 0


def test_soft_takes_its_multiplier_as_it_is_and_says_that_nothing_limits_what_is_left_out():
    tree = Hierarchy.from_parents([*map(str, range(40)), "root"], [40] * 40 + [-1], kind="test")
    od = ODMatrix.from_arrays(np.arange(20) % 2, np.arange(20), np.full(20, 4))  # 20 destinations of 4 trips
    made = release({None: od}, tree, AtgSoft(k=5, unit="trips", v_target=40, suppression=0.1), metrics=())
    figures = made.releases[None].metrics
    assert (figures["lambda"], figures["evaluations"]) == (4.0, 1)  # a tenth of 40 tiles
    assert figures["S_share"] == 1
    assert made.sentence.endswith("; how many trips are left out is not limited")
    wide = AtgSoft(k=5, unit="trips", v_target=40, lambda_=81, suppression=0).anonymize(od, tree, tree)
    assert wide.metrics["S"] == 0
