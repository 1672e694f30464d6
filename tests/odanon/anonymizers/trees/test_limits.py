"""Boundaries of k, the extra constraints, small volumes, and trees of awkward shape."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from enumeration import Instance, instances, possible
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg.dual import AtgDual
from odanon.anonymizers.atg.homogeneous import AtgHomogeneous
from odanon.anonymizers.atg.joint import AtgJoint, JointRows
from odanon.anonymizers.atg.soft import AtgSoft
from odanon.anonymizers.trees.limits import people_below, trips_below
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

EVERY = pytest.mark.parametrize("cls", [AtgJoint, AtgDual, AtgSoft, AtgHomogeneous])


def pair_tree() -> Hierarchy:
    return Hierarchy.from_parents(["a", "b", "map"], [2, 2, -1], kind="test")


def chain_tree() -> Hierarchy:
    """map > upper > lower > a, and b beside."""
    return Hierarchy.from_parents(["a", "lower", "upper", "b", "map"], [1, 2, 4, 4, -1], kind="test")


def rows(*flows: tuple[str, str, int, int], tree: Hierarchy, weight: float = 1.0) -> ODMatrix:
    """Flows (origin, destination, people, trips each) with different people in each."""
    table = [(o, d, f"{n}.{i}", trips, weight) for n, (o, d, people, trips) in enumerate(flows) for i in range(people)]
    frame = pd.DataFrame(table, columns=["origin", "destination", "person", "trips", "weight"])
    return ODMatrix.from_frame(frame, tree, tree, weight="weight")


def published(cls: type, od: ODMatrix, tree: Hierarchy, **parameters) -> dict[tuple[str, str], int]:
    flows = cls(**parameters).anonymize(od, tree, tree).flows
    return {(flow.origin, flow.destination): flow.trips for flow in flows.itertuples()}


def patience(cls: type) -> dict[str, float]:
    """A tenth of these few tiles, the default of ATG-Soft, is no area at all: nothing would be blurred."""
    return {"lambda_": 100} if cls is AtgSoft else {}


@EVERY
def test_a_pair_of_k_people_appears_and_one_of_fewer_never_does(cls: type):
    tree = pair_tree()
    for people, appears in ((4, False), (5, True), (6, True)):
        od = rows(("a", "a", 40, 1), ("b", "b", 40, 1), ("a", "b", people, 1), tree=tree)
        assert (("a", "b") in published(cls, od, tree, k=5)) is appears


@EVERY
def test_trips_of_one_person_never_make_a_flow(cls: type):
    tree = pair_tree()
    od = rows(("a", "a", 40, 1), ("b", "b", 1, 4), tree=tree)
    assert published(cls, od, tree, k=5) == {("a", "a"): 40}
    assert published(cls, od, tree, k=3, unit="trips") == {("a", "a"): 40, ("b", "b"): 4}


@EVERY
def test_a_map_of_one_tile(cls: type):
    tree = Hierarchy.from_parents(["a"], [-1], kind="test")
    assert published(cls, rows(("a", "a", 5, 2), tree=tree), tree, k=5) == {("a", "a"): 10}


@EVERY
def test_the_lowest_node_of_a_chain_is_published(cls: type):
    tree = chain_tree()
    od = rows(("a", "a", 5, 1), ("b", "a", 5, 1), tree=tree)
    assert set(published(cls, od, tree, k=5)) == {("a", "a"), ("b", "a")}


@EVERY
def test_min_tiles_lifts_flows_to_larger_areas(cls: type):
    tree = chain_tree()
    od = rows(("a", "a", 9, 1), ("b", "b", 9, 1), tree=tree)
    assert published(cls, od, tree, k=5, min_tiles=2, **patience(cls)) == {("map", "map"): 18}
    full = Hierarchy(tree.parent, np.array([1, 1, 3, 2, 6]), tree.level, tree.label, "test", "full")
    names = dict(zip(tree.label, full.n_tiles, strict=True))
    flows = published(cls, od, full, k=5, min_tiles=2, **patience(cls))
    assert sum(flows.values()) == 18
    assert all(names[area] >= 2 for pair in flows for area in pair)


@EVERY
def test_max_tiles_suppresses_rather_than_blurs(cls: type):
    tree = pair_tree()
    od = rows(("a", "a", 20, 1), ("b", "b", 2, 1), tree=tree)
    assert published(cls, od, tree, k=5, max_tiles=1) == {("a", "a"): 20}
    if cls.budgeted:
        with pytest.raises(OdanonError, match="raise"):
            published(cls, od, tree, k=5, max_tiles=1, suppression=0)


@EVERY
def test_unreachable_min_tiles_is_refused(cls: type):
    tree = pair_tree()
    with pytest.raises(OdanonError, match="min_tiles = 3"):
        published(cls, rows(("a", "a", 20, 1), tree=tree), tree, k=5, min_tiles=3)


@EVERY
def test_population_needs_people_and_weight(cls: type):
    tree = pair_tree()
    flows = ("a", "a", 30, 1), ("b", "b", 6, 1)
    heavy, light = rows(*flows, tree=tree, weight=2.5), rows(*flows, tree=tree, weight=2.25)
    need = {"k": 5, "unit": "population", "k_population": 15, "suppression": 0.2}
    assert published(cls, heavy, tree, **need) == {("a", "a"): 30, ("b", "b"): 6}  # 15 = 6 x 2.5
    assert ("b", "b") not in published(cls, light, tree, **need)


@EVERY
def test_one_persons_share_of_a_flow_is_limited(cls: type):
    tree = pair_tree()
    crowd, regular = ("a", "a", 30, 1), ("b", "b", 5, 1)
    table = rows(crowd, regular, ("b", "b", 1, 20), tree=tree)
    assert ("b", "b") in published(cls, table, tree, k=5, suppression=0.5)
    assert ("b", "b") not in published(cls, table, tree, k=5, suppression=0.5, max_dominance=0.5)
    capped = {"k": 5, "suppression": 0.5, "max_dominance": 0.5, "contribution_cap": 2}
    assert published(cls, table, tree, **capped)[("b", "b")] == 7


@EVERY
def test_one_persons_share_of_a_flows_weight_is_limited(cls: type):
    tree = pair_tree()
    table = rows(("a", "a", 30, 1), ("b", "b", 6, 1), tree=tree)
    heavy = replace(table, weight=np.where(np.arange(36) == 35, 20.0, 1.0))  # of 25 in the second flow
    asked = {"k": 5, "suppression": 0.5, "max_dominance": 0.5}
    estimated = {**asked, "unit": "population", "k_population": 5}
    assert ("b", "b") in published(cls, heavy, tree, **asked)  # trips are published, not weights
    assert ("b", "b") in published(cls, table, tree, **estimated)
    assert ("b", "b") not in published(cls, heavy, tree, **estimated)


@EVERY
def test_contributions_are_capped_and_the_excess_is_reported(cls: type):
    tree = pair_tree()
    od = rows(("a", "a", 6, 4), ("b", "b", 5, 1), tree=tree)
    release = cls(k=5, contribution_cap=3).anonymize(od, tree, tree)
    assert release.flows["trips"].tolist() == [18, 5]
    assert release.metrics["capped_trips"] == 6
    assert release.metrics["S"] == 0
    assert release.assignment["trips"].sum() == 29


def test_promises_that_contradict_themselves_are_refused():
    for parameters in (
        {"unit": "population"},
        {"k_population": 100},
        {"min_tiles": 5, "max_tiles": 4},
        {"unit": "trips", "contribution_cap": 2},
        {"unit": "trips", "max_dominance": 0.5},
    ):
        with pytest.raises(ValueError, match=r"needs k_population|smaller|limit persons"):
            AtgJoint(**parameters)


@given(instances(), st.sampled_from([AtgJoint, AtgDual, AtgHomogeneous]), st.sampled_from(["trips", "persons"]))
def test_small_volumes_are_reported_as_the_rest_of_the_map(instance: Instance, cls: type, unit: str):
    plain = cls(k=4, unit=unit, suppression=0.3)
    assume(possible(instance, plain))
    trees = instance.origins, instance.destinations
    before = plain.anonymize(instance.od, *trees)
    after = cls(k=4, unit=unit, suppression=0.3, report_small=True).anonymize(instance.od, *trees)
    assert after.metrics["S"] <= before.metrics["S"]
    assert (after.flows["trips" if unit == "trips" else "persons"] >= 4).all()
    covered = np.zeros(len(instance.od.trips), dtype=int)
    for flow in range(len(after.flows)):
        inside = np.ones(len(covered), dtype=bool)
        for side, tiles in (("origin", instance.od.origin), ("destination", instance.od.destination)):
            areas = after.origins if side == "origin" else after.destinations
            number = list(areas.label).index(after.flows[side].iloc[flow])
            inside &= np.isin(tiles, areas.members[areas.start[number] : areas.start[number + 1]])
        assert after.flows["trips"].iloc[flow] == instance.od.trips[inside].sum()
        covered += inside
    assert covered.max() <= 1
    assert instance.od.trips[covered == 0].sum() == after.metrics["S"]
    for areas in (after.origins, after.destinations):
        assert len(set(areas.label)) == len(areas.label)


def caterpillar(n: int) -> Hierarchy:
    """A tile on every node of one long path."""
    label = [f"t{i:05d}" for i in range(n)] + [f"n{i:05d}" for i in range(n - 1)]
    parent = [n, *range(n, 2 * n - 1), *range(n + 1, 2 * n - 1), -1]
    return Hierarchy.from_parents(label, parent, kind="test")


def test_deep_caterpillar_trees_stay_within_memory():
    """Every tile is in thousands of nested areas: rows that do not fit are built again, with the same result."""
    n, rng = 500, np.random.default_rng(1)
    tree = caterpillar(n)
    od = ODMatrix.from_arrays(rng.integers(0, n, 3000), rng.integers(0, n, 3000), rng.integers(1, 4, 3000))
    problem = Problem(od, tree, tree, AtgJoint(unit="trips"))
    limit = int(2 * tree.n_tiles[-1]) + 1
    for lambda_ in (50.0, 800.0):
        roomy, tight = JointRows(problem, limit), JointRows(problem, limit, capacity=0)
        one, two = roomy.best(lambda_), tight.best(lambda_)
        assert (one.K, one.A) == (two.K, two.A)
        assert sum(1 for _ in roomy.rows) == 1 < sum(1 for _ in tight.rows)
    release = AtgJoint(unit="trips").anonymize(od, tree, tree)
    assert release.metrics["S"] <= 0.1 * od.volume


@EVERY
def test_k_areas_asks_more_people_of_an_area_than_of_a_flow(cls: type):
    tree = pair_tree()
    od = rows(("a", "a", 20, 1), ("b", "a", 9, 1), ("a", "b", 9, 1), tree=tree)
    assert set(published(cls, od, tree, k=5, k_areas=9)) == {("a", "a"), ("b", "a"), ("a", "b")}
    assert published(cls, od, tree, k=5, k_areas=10, suppression=0.0, **patience(cls)) == {("map", "map"): 38}


@EVERY
def test_k_areas_beyond_the_whole_matrix_is_refused(cls: type):
    tree = pair_tree()
    with pytest.raises(OdanonError, match="fewer than k_areas = 21"):
        published(cls, rows(("a", "a", 20, 1), tree=tree), tree, k=5, k_areas=21)
    with pytest.raises(ValueError, match="keep one of them"):
        cls(k=5, k_areas=21, report_small=True)


@given(instances())
def test_people_and_trips_below_every_node_are_counted_as_with_sets(instance: Instance):
    od, tree = instance.od, instance.origins
    people, trips = people_below(tree, od.origin, od.person), trips_below(tree, od.origin, od.trips)
    for node in range(len(tree)):
        inside = (tree.tile_start[node] <= od.origin) & (od.origin < tree.tile_end[node])
        assert people[node] == len(set(od.person[inside].tolist()))
        assert trips[node] == od.trips[inside].sum()
