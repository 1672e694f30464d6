"""ODkAnon: the same merges as the literal algorithm, the pre-filter's budget, and what a release promises."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from enumeration import Instance, allowed, counted_trips, instances
from hypothesis import assume, given
from hypothesis import strategies as st
from literal import Outcome, pairs_of_rows, run

from odanon.anonymizers.levels.odkanon import OdkAnon, Side, merges_by_step, prefilter, without_pairs
from odanon.anonymizers.trees.limits import trips_below
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.testing import check_anonymizer

promises = st.builds(
    lambda k, suppression, levels, counts, extra: OdkAnon(
        k=k, suppression=suppression, levels=levels, budget_counts=counts, **extra
    ),
    st.integers(2, 8),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.integers(0, 3),
    st.sampled_from(["rows", "trips"]),
    st.sampled_from(
        [
            {"unit": "trips"},
            {"unit": "persons"},
            {"unit": "vehicles"},
            {"unit": "population", "k_population": 3.25},
            {"unit": "persons", "min_tiles": 2},
            {"unit": "trips", "min_tiles": 3},
            {"unit": "persons", "max_tiles": 4},
            {"unit": "trips", "min_tiles": 2, "max_tiles": 3},
            {"unit": "persons", "contribution_cap": 2},
        ]
    ),
)


def merges_of(instance: Instance, promise: OdkAnon) -> list[tuple[str, int]]:
    """The whole sequence of merges as (side, parent)."""
    od = instance.od
    _, removed = prefilter(od, instance.origins, instance.destinations, promise)
    left = without_pairs(od, removed)
    sides = {
        name: Side.grow(tree, trips_below(tree, tile, left.trips), tree.n_tiles >= promise.min_tiles, promise.max_tiles)
        for name, tree, tile in (
            ("origins", instance.origins, left.origin),
            ("destinations", instance.destinations, left.destination),
        )
    }
    done = merges_by_step(*(side.n_areas for side in sides.values()))
    for side in sides.values():
        assert side.n_areas == [len(side.areas(n)) for n in range(len(side.n_areas))]
    order = {name: np.argsort(side.steps, kind="stable")[(side.steps == 0).sum() :] for name, side in sides.items()}
    return [
        ("origins", int(order["origins"][o])) if after[0] > o else ("destinations", int(order["destinations"][d]))
        for (o, d), after in pairwise(done)
    ]


def assert_same(instance: Instance, promise: OdkAnon) -> None:
    """The pre-filter, the merges and the published cells are the literal ones."""
    told: Outcome = run(instance, promise)
    od, pairs = instance.od, list(dict.fromkeys(pairs_of_rows(instance)))
    marks = prefilter(od, instance.origins, instance.destinations, promise)
    hopeless, removed = ({pair for pair, marked in zip(pairs, mark, strict=True) if marked} for mark in marks)
    assert (hopeless, removed) == (told.hopeless, told.removed)
    if not told.reached:
        assert merges_of(instance, promise) == told.merges
        with pytest.raises(OdanonError, match="did not reach k"):
            promise.anonymize(od, instance.origins, instance.destinations)
        return
    release = promise.anonymize(od, instance.origins, instance.destinations)
    n = release.metrics["merges"]
    assert merges_of(instance, promise)[:n] == told.merges
    assert release.metrics["filtered_pairs"] == len(removed)
    assert release.metrics["pairs_beyond_budget"] == len(hopeless - removed)
    kept = np.array([pair not in removed for pair in pairs_of_rows(instance)])
    expected = {}
    for o in told.origins:
        for d in told.destinations:
            rows = instance.below(o, d) & kept
            if rows.any():
                assert allowed(od, rows, promise)
                key = instance.origins.label[o], instance.destinations.label[d]
                expected[key] = sum(counted_trips(od, rows, promise))
    flows = release.flows
    assert dict(zip(zip(flows["origin"], flows["destination"], strict=True), flows["trips"], strict=True)) == expected
    filtered = sum(int(t) for pair, t in zip(pairs_of_rows(instance), od.trips, strict=True) if pair in removed)
    assert release.metrics["S"] == filtered


@given(instances(9, 9), promises)
def test_merges_are_those_of_the_literal_algorithm(instance: Instance, promise: OdkAnon):
    largest = min(instance.origins.n_tiles[-1], instance.destinations.n_tiles[-1])
    people = len(set(instance.od.person.tolist()))
    assume(promise.min_tiles <= largest and (promise.unit == "trips" or people >= promise.k))
    assume(instance.od.volume >= promise.k)
    assert_same(instance, promise)


def nested(n_tiles: int, arity: int) -> Hierarchy:
    """Tiles under nodes of `arity` children each, level by level."""
    label, parent, below = [f"t{i}" for i in range(n_tiles)], [-1] * n_tiles, list(range(n_tiles))
    while len(below) > 1:
        above = len(label)
        for i, node in enumerate(below):
            parent[node] = above + i // arity
        below = list(range(above, above + (len(below) - 1) // arity + 1))
        label += [f"n{node}" for node in below]
        parent += [-1] * len(below)
    return Hierarchy.from_parents(label, parent, kind="test")


@pytest.mark.parametrize("unit", ["trips", "persons"])
@pytest.mark.parametrize("seed", range(4))
def test_merges_are_those_of_the_literal_algorithm_on_a_larger_lopsided_map(seed: int, unit: str):
    rng = np.random.default_rng(seed)
    origins, destinations = nested(40 + 15 * seed, 3), nested(30, 2 + seed)
    n = 800
    rows = rng.integers(0, origins.n_leaves, n), (destinations.n_leaves * rng.random(n) ** 3).astype(int)
    od = ODMatrix.from_arrays(*rows, rng.integers(1, 4, n), rng.integers(0, 60, n), np.ones(n))
    promise = OdkAnon(k=8, unit=unit, levels=1)
    assert_same(Instance(od, origins, destinations), promise)
    assert promise.anonymize(od, origins, destinations).metrics["merges"] > 20


def test_a_side_out_of_proportion_is_merged_until_the_ratio_is_back_within_three_percent():
    assert merges_by_step([100, 98, 97, 96, 95], [100, 50]) == [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert merges_by_step([100, 96, 95], [100, 99, 98]) == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 2)]
    # a ratio of exactly 97 % of the first still alternates
    assert merges_by_step([100, 97, 96], [100, 100, 99]) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]


def test_a_side_that_is_all_merged_leaves_its_turns_to_the_other():
    assert merges_by_step([2, 1], [2, 2, 2, 1]) == [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3)]
    assert merges_by_step([1], [1]) == [(0, 0)]


PAIR = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")


def people(n: int, origin: str = "a", destination: str = "b", first: int = 0) -> list[tuple]:
    return [(origin, destination, first + i, 2) for i in range(n)]


def matrix(rows: list[tuple], tree: Hierarchy = PAIR) -> ODMatrix:
    return ODMatrix.from_frame(pd.DataFrame(rows, columns=["origin", "destination", "person", "trips"]), tree, tree)


@pytest.mark.parametrize(("n", "merges"), [(4, 2), (5, 0), (6, 0)])
def test_a_flow_of_k_minus_1_people_is_merged_and_one_of_k_is_not(n: int, merges: int):
    od = matrix(people(n) + people(9, "b", "a", first=20))
    release = OdkAnon(k=5, suppression=0).anonymize(od, PAIR, PAIR)
    assert release.metrics["merges"] == merges
    assert sorted(release.flows["persons"]) == ([13] if merges else [n, 9])


def test_a_single_flow_stays_on_its_tiles():
    release = OdkAnon(k=5).anonymize(matrix(people(5)), PAIR, PAIR)
    assert release.flows[["origin", "destination", "origin_tiles", "destination_tiles"]].to_numpy().tolist() == [
        ["a", "b", 1, 1]
    ]
    assert release.metrics["S"] == 0


def test_all_flows_below_k_end_in_one():
    rows = [(o, d, 10 * i, 1) for i, (o, d) in enumerate([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")])]
    release = OdkAnon(k=4, suppression=0).anonymize(matrix(rows), PAIR, PAIR)
    assert release.flows[["origin", "destination", "persons"]].to_numpy().tolist() == [["all", "all", 4]]


def test_equal_totals_are_merged_by_node_id():
    tree = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2], kind="test")
    rows = [("a", "a", 1, 1), ("b", "a", 2, 1), ("c", "a", 3, 1), ("d", "a", 4, 1)]
    od = matrix(rows, tree)
    side = Side.grow(tree, trips_below(tree, od.origin, od.trips), np.ones(len(tree), dtype=bool), None)
    assert [tree.label[side.areas(n)].tolist() for n in range(4)] == [
        ["a", "b", "c", "d"],
        ["x", "c", "d"],
        ["x", "y"],
        ["r"],
    ]


def test_filtered_pairs_stay_suppressed_inside_a_published_cell_too():
    tree = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c"], [-1, 0, 0, 1, 1, 2], kind="test")
    rows = [*people(5, "a", "c"), *people(5, "c", "a", first=10), ("b", "c", 30, 1), ("a", "a", 31, 1)]
    od = matrix(rows, tree)
    release = OdkAnon(k=5, levels=0, suppression=0.5).anonymize(od, tree, tree)
    assert release.metrics["filtered_pairs"] == 2
    assert release.metrics["merges"] == 0
    assert release.metrics["S"] == 2
    coarse = OdkAnon(k=5, levels=0, suppression=0.5, min_tiles=2).anonymize(od, tree, tree)
    assert coarse.flows[["origin", "destination", "persons"]].to_numpy().tolist() == [["r", "r", 10]]
    assert coarse.metrics["S"] == 2


def test_what_cannot_reach_k_is_refused():
    deep = Hierarchy.from_parents(["r", "x", "y", "a", "b"], [-1, 0, 0, 1, 2], kind="test")
    rows = [(o, d, i, 1) for i, (o, d) in enumerate([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")])]
    with pytest.raises(OdanonError, match="did not reach k"):
        OdkAnon(k=4, levels=1, suppression=0.5).anonymize(matrix(rows, deep), deep, deep)
    with pytest.raises(OdanonError, match="did not reach k"):
        OdkAnon(k=4, max_tiles=1, suppression=0).anonymize(matrix(rows), PAIR, PAIR)


def test_limits_that_merging_may_break_are_refused_at_once():
    with pytest.raises(ValueError, match="max_dominance"):
        OdkAnon(max_dominance=0.5)


@pytest.mark.thorough
def test_conformance_with_a_budget_of_trips():
    check_anonymizer(OdkAnon, budget_counts="trips")
