"""Mondrian against a literal recursion, and what its boxes promise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from placed_cities import City, allowed, cities, city, promises

from odanon.anonymizers.places.kernels.mondrian import balance, partition
from odanon.anonymizers.places.mondrian import Mondrian
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix


def slow_cells(town: City, promise: Mondrian, pairs: list[int]) -> list[frozenset[int]]:
    """Cut the widest dimension, or with the relaxed rule the widest that can be cut, where both sides have about the same trips.

    Pairs of one coordinate are parted by the relaxed rule alone.
    """
    extent = np.ptp(town.points[:, pairs], axis=1)
    for dimension in sorted(range(4), key=lambda d: (-extent[d], d)):
        if extent[dimension] == 0:
            break
        ordered = sorted(pairs, key=lambda pair: (town.points[dimension, pair], pair))
        trips = np.cumsum(town.od.pairs.trips[ordered])
        value = town.points[dimension, ordered]
        places = [n for n in range(1, len(pairs)) if promise.relaxed or value[n - 1] < value[n]]
        at = min(places, key=lambda n: (abs(2 * trips[n - 1] - trips[-1]), n))
        halves = ordered[:at], ordered[at:]
        if all(allowed(town.od, half, promise) for half in halves):
            return [cell for half in halves for cell in slow_cells(town, promise, half)]
        if not promise.relaxed:
            break
    return [frozenset(pairs)]


@given(cities(), st.one_of(promises(Mondrian), promises(Mondrian, relaxed=True)))
def test_cells_are_those_of_the_literal_recursion(town: City, promise: Mondrian):
    everything = list(range(len(town.od.pairs.trips)))
    assume(allowed(town.od, everything, promise))
    problem = town.problem(promise)
    evidence = town.od.pairs.trips, problem.evidence, problem.room()
    order, starts = partition(town.points, *evidence, promise.relaxed)
    cells = [frozenset(order[a:b].tolist()) for a, b in pairwise(starts)]
    assert set(cells) == set(slow_cells(town, promise, everything))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=2, max_size=60))
def test_a_cut_balances_trips_and_may_part_equal_values(pairs: list[tuple[int, int]]):
    value, trips = np.array(pairs).T
    cell = np.arange(len(pairs))
    at = balance(value, trips, trips.sum(), cell)
    ordered = sorted(range(len(pairs)), key=lambda pair: (value[pair], pair))
    differences = [abs(2 * trips[ordered[:n]].sum() - trips.sum()) for n in range(1, len(pairs))]
    assert at == 1 + int(np.argmin(differences))
    assert set(cell[:at].tolist()) == set(ordered[:at])


@given(cities(), promises(Mondrian))
def test_flows_keep_the_promise_inside_their_boxes_and_nothing_is_lost(town: City, promise: Mondrian):
    assume(allowed(town.od, list(range(len(town.od.pairs.trips))), promise))
    release = promise.anonymize(town.od, town.tree, town.tree)
    flow = release.assignment["flow"].to_numpy()
    assert flow.min() == 0
    for number in range(len(release.flows)):
        assert allowed(town.od, np.flatnonzero(flow == number).tolist(), promise)
    assert release.flows["trips"].sum() + release.metrics.get("capped_trips", 0) == town.od.volume
    assert release.metrics["S"] == 0
    for side, areas in (("origin", release.origins), ("destination", release.destinations)):
        number = {label: n for n, label in enumerate(areas.label)}
        tile = town.tree.ranks(release.assignment[side])
        for rank, area in zip(tile, release.flows[side].iloc[flow], strict=True):
            n = number[area]
            assert rank in areas.members[areas.start[n] : areas.start[n + 1]]
        assert (release.flows[f"{side}_tiles"] >= promise.min_tiles).all()


def two_ends(people_left: int, people_right: int) -> City:
    """Two far pairs of tiles with one trip a person each."""
    left = [(0, 1, 1, person) for person in range(people_left)]
    right = [(2, 3, 1, 100 + person) for person in range(people_right)]
    return city(left + right, [0, 0, 9, 9], [0, 1, 0, 1])


@pytest.mark.parametrize(("people", "flows"), [(4, 1), (5, 2), (6, 2)])
def test_a_cell_is_cut_only_when_both_sides_keep_k(people: int, flows: int):
    town = two_ends(people, 8)
    release = Mondrian(k=5).anonymize(town.od, town.tree, town.tree)
    assert len(release.flows) == flows


def test_a_cell_whose_widest_side_cannot_be_cut_is_final_unless_the_rule_is_relaxed():
    rows = [(0, 0, 1, n) for n in range(5)] + [(1, 1, 1, 9 + n) for n in range(5)] + [(2, 2, 1, 20)]
    town = city(rows, [0, 0, 9], [0, 1, 0])  # the widest side parts one lone person from all others
    assert len(Mondrian(k=5).anonymize(town.od, town.tree, town.tree).flows) == 1
    assert len(Mondrian(k=5, relaxed=True).anonymize(town.od, town.tree, town.tree).flows) == 2


def test_one_tile_areas_are_the_tiles_themselves():
    town = two_ends(5, 5)
    release = Mondrian(k=5).anonymize(town.od, town.tree, town.tree)
    assert release.flows[["origin", "destination"]].astype(str).values.tolist() == [["t0", "t1"], ["t2", "t3"]]
    assert release.metrics["Gbar"] == 2


def test_flows_all_below_k_are_joined():
    town = city([(i, i, 1, i) for i in range(9)], np.arange(9) % 3, np.arange(9) // 3)
    assert len(Mondrian(k=4).anonymize(town.od, town.tree, town.tree).flows) == 1  # three a column
    release = Mondrian(k=4, relaxed=True).anonymize(town.od, town.tree, town.tree)
    assert sorted(release.flows["persons"]) == [4, 5]


def test_a_single_flow_is_published_whole():
    town = city([(0, 0, 2, person) for person in range(7)], [3], [4])
    release = Mondrian(k=7).anonymize(town.od, town.tree, town.tree)
    assert release.flows[["trips", "persons"]].values.tolist() == [[14, 7]]


def test_limits_that_need_suppression_are_refused():
    with pytest.raises(ValueError, match=r"mondrian draws boxes of any size.*remove max_tiles"):
        Mondrian(max_tiles=20)


def test_tiles_without_a_place_are_refused():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")
    rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(20), "trips": 1})
    with pytest.raises(OdanonError, match="nobody knows where the tiles lie; give their zones"):
        Mondrian().anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)


def test_a_promise_that_even_one_flow_breaks_is_refused():
    town = city([(0, 1, 50, 0), *((0, 1, 1, person) for person in range(1, 9))], [0, 1], [0, 0])
    with pytest.raises(OdanonError, match="even all trips in one flow do not keep the promise"):
        Mondrian(k=3, max_dominance=0.5).anonymize(town.od, town.tree, town.tree)
