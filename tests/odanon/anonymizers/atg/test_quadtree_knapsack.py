"""The tree knapsack against full enumeration, on random trees and a quadtree, and what its releases promise."""

import numpy as np
import pandas as pd
import pytest
from enumeration import Instance, instances, limits, map_is_large_enough, possible
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg.forest import BudgetError, Forest, largest_size
from odanon.anonymizers.atg.kernels.frontier import join, part_of
from odanon.anonymizers.atg.knapsack import Packing, QuadtreeKnapsack
from odanon.anonymizers.atg.origins import areas_emitting
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError
from odanon.hierarchies.quadtree import QuadtreeHierarchy
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.testing import check_anonymizer
from odanon.testing.trial.released import released
from odanon.zoning.grid import GridZoning


def solutions(instance: Instance, areas: np.ndarray, promise: QuadtreeKnapsack) -> set[tuple[int, int]]:
    """(K, A) of every choice of one destination cut per area."""
    found = {(0, 0)}
    for o in areas:
        found = {(K + k, A + a) for K, A in found for k, a in instance.row_lines(int(o), promise)}
    return found


@given(instances(3, 6), limits(QuadtreeKnapsack), st.sampled_from([5.0, 30.0]), st.sampled_from([0.0, 0.01, 0.3, 0.9]))
def test_the_packing_is_the_best_of_all_cuts(
    instance: Instance, promise: QuadtreeKnapsack, v_target: float, delta: float
):
    assume(map_is_large_enough(instance, promise))
    problem = Problem(instance.od, instance.origins, instance.destinations, promise)
    price = delta * largest_size(problem)
    # Below this, enumeration loses tiles on purpose by keeping areas that are too large, which no method offers.
    assume(promise.max_tiles is None or price > instance.origins.n_tiles[-1])
    areas = areas_emitting(problem.origins, problem.emitted, problem.fits, v_target)
    packing = Packing(problem, Forest.grow(problem, areas, largest_size(problem) + 1), price)
    feasible = [A + price * (problem.volume - K) for K, A in solutions(instance, areas, promise) if problem.least <= K]
    if not feasible:
        with pytest.raises(BudgetError):
            packing.goals()
        return
    goals = packing.goals()
    lost, cost = goals.sum(axis=1)
    assert cost + price * lost == pytest.approx(min(feasible))
    solution = packing.forest.solution(packing.published(goals), {})
    assert [problem.volume - lost, cost] == [solution.K, solution.A]


frontiers = st.dictionaries(st.integers(0, 30), st.integers(0, 200), min_size=1, max_size=8).map(
    lambda points: np.array(sorted(points.items()), dtype=np.int64).T
)


@given(frontiers, frontiers, st.integers(0, 40), st.sampled_from([0.0, 1.0, 7.5]))
def test_a_join_keeps_the_sums_that_pay_and_its_parts_are_found_again(left, right, budget, price):
    joined = join(left, right, budget, price, np.empty(budget + 1, np.int64))
    sums: dict[int, int] = {}
    for s, a in left.T.tolist():
        for t, b in right.T.tolist():
            sums[s + t] = min(sums.get(s + t, a + b), a + b)
    best: list[tuple[int, int]] = []
    for trips, cost in sorted(sums.items()):
        if trips <= budget and all(cost + price * trips < c + price * t for t, c in best):
            best.append((trips, cost))
    assert joined.T.tolist() == [list(point) for point in best]
    for trips, cost in best:
        mine = right[:, part_of(left, right, trips, cost)]
        assert [trips - mine[0], cost - mine[1]] in left.T.tolist()


@given(instances(), limits(QuadtreeKnapsack), st.booleans(), st.randoms(use_true_random=False))
def test_release_keeps_its_promise_whatever_the_row_order(instance: Instance, promise, report: bool, random):
    promise = QuadtreeKnapsack(**{**vars(promise), "report_small": report and promise.k_areas is None})
    assume(possible(instance, promise))
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    order = list(range(len(instance.od.trips)))
    random.shuffle(order)
    shuffled = ODMatrix.from_arrays(*(part[order] for part in instance.parts))
    again = promise.anonymize(shuffled, instance.origins, instance.destinations)
    assert again.flows.equals(release.flows)
    assert release.metrics["S"] <= promise.budget(instance.od.volume)
    capped = release.metrics.get("capped_trips", 0)
    assert release.flows["trips"].sum() + release.metrics["S"] + capped == instance.od.volume
    if promise.unit != "trips":
        assert (release.flows["persons"] >= promise.k).all()
    assert (release.flows["origin_tiles"] >= promise.min_tiles).all()


def grid_city(seed: int, n: int = 1500) -> tuple[Hierarchy, pd.DataFrame]:
    """Trips of 400 people on an 8 x 8 grid, busiest in one corner."""
    rng = np.random.default_rng(seed)
    zoning = GridZoning(cell_m=200, crs="EPSG:32618")
    end = lambda: [f"200mN{16 + row}E{32 + col}" for row, col in (rng.beta(1, 3, (n, 2)) * 8).astype(int)]  # noqa: E731
    rows = pd.DataFrame({"origin": end(), "destination": end(), "person": rng.integers(0, 400, n), "trips": 1})
    rows = rows.groupby(["origin", "destination", "person"], as_index=False)["trips"].sum()
    tree = QuadtreeHierarchy().build(zoning.tiles([*rows["origin"], *rows["destination"]]))
    return tree, rows


@pytest.mark.parametrize("seed", range(3))
def test_on_a_quadtree_nearly_everything_is_published(seed: int):
    tree, rows = grid_city(seed)
    promise = QuadtreeKnapsack(k=6)
    release = released(promise, rows, tree)
    assert release.metrics["S_share"] < 0.05
    assert release.flows["destination"].astype(str).str.startswith("rest of").any()
    silent = QuadtreeKnapsack(k=6, report_small=False).anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    assert release.metrics["S"] < silent.metrics["S"] <= 0.1 * rows["trips"].sum()


def test_a_higher_delta_suppresses_less():
    tree, rows = grid_city(0)
    od = ODMatrix.from_frame(rows, tree, tree)
    lost = [
        QuadtreeKnapsack(v_target=150, delta=delta, report_small=False, suppression=0.3)
        .anonymize(od, tree, tree)
        .metrics["S"]
        for delta in (0.0, 0.1, 0.5, 0.99)
    ]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > lost[-1]


PAIR = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")


@pytest.mark.parametrize(("people", "published"), [(4, ["all"]), (5, ["a", "b"]), (6, ["a", "b"])])
def test_the_threshold_is_k(people: int, published: list[str]):
    rows = pd.DataFrame(
        {"origin": "a", "destination": ["a"] * people + ["b"] * 8, "person": range(people + 8), "trips": 1}
    )
    promise = QuadtreeKnapsack(k=5, suppression=0, v_target=20)
    release = promise.anonymize(ODMatrix.from_frame(rows, PAIR, PAIR), PAIR, PAIR)
    assert release.flows["destination"].astype(str).tolist() == published


def test_flows_all_below_k_go_up_the_tree():
    rows = pd.DataFrame({"origin": ["a", "a", "b", "b"], "destination": ["a", "b", "a", "b"], "person": range(4)})
    od = ODMatrix.from_frame(rows, PAIR, PAIR, trips=None)
    release = QuadtreeKnapsack(k=3, suppression=0).anonymize(od, PAIR, PAIR)
    assert release.flows[["origin", "destination", "trips"]].astype(str).values.tolist() == [["all", "all", "4"]]


def test_too_small_a_target_is_refused_with_a_remedy():
    od = ODMatrix.from_arrays(np.array([0, 1]), np.array([0, 1]), np.array([4, 4]))
    with pytest.raises(OdanonError, match="raise v_target"):
        QuadtreeKnapsack(k=5, unit="trips", v_target=4).anonymize(od, PAIR, PAIR)


@pytest.mark.thorough
def test_conformance_with_a_coarse_search():
    check_anonymizer(QuadtreeKnapsack, report_small=False, delta=0.2)
