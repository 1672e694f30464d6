"""Glove-sk: the dendrogram against SciPy's, the cut against trying every one, and what its releases promise."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from placed_cities import City, allowed, cities, city, promises
from scipy.cluster.hierarchy import linkage

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.places.glove_sk import GloveSk, complete_linkage
from odanon.anonymizers.places.kernels.clusters import lowest_cut


def groups_after(merges: np.ndarray, n: int, made: int) -> list[list[int]]:
    """The clusters after some merges, literally."""
    clusters = {pair: [pair] for pair in range(n)}
    for m, (a, b) in enumerate(merges[:made].tolist()):
        clusters[n + m] = clusters.pop(a) + clusters.pop(b)
    return list(clusters.values())


def slow_cut(town: City, merges: np.ndarray, promise: Anonymizer) -> tuple[int, set[frozenset[int]]]:
    """The lowest cut whose unsafe clusters fit the budget, and its safe clusters."""
    n, budget = len(town.od.pairs.trips), promise.budget(town.od.volume)
    for made in range(n):
        groups = groups_after(merges, n, made)
        safe = [group for group in groups if allowed(town.od, group, promise)]
        lost = town.od.volume - sum(int(town.od.pairs.trips[group].sum()) for group in safe)
        if lost <= budget or made == n - 1:
            return made, {frozenset(group) for group in safe}
    raise AssertionError


@st.composite
def dendrograms(draw: st.DrawFn, n: int) -> np.ndarray:
    """Any order of merges."""
    alive, merges = list(range(n)), []
    for m in range(n - 1):
        merges.append([alive.pop(draw(st.integers(0, len(alive) - 1))) for _ in range(2)])
        alive.append(n + m)
    return np.array(merges, dtype=np.int64).reshape(-1, 2)


@given(st.data(), cities(25), promises(GloveSk))
def test_the_cut_is_the_lowest_within_the_budget(data: st.DataObject, town: City, promise: GloveSk):
    trips = town.od.pairs.trips
    merges = data.draw(dendrograms(len(trips)))
    problem = town.problem(promise)
    budget = promise.budget(town.od.volume)
    cluster, made = lowest_cut(merges, trips, problem.evidence, problem.room(), budget)
    found = {frozenset(np.flatnonzero(cluster == c).tolist()) for c in set(cluster.tolist()) - {-1}}
    assert (made, found) == slow_cut(town, merges, promise)


@given(st.integers(2, 60), st.integers(0, 1000))
def test_the_dendrogram_is_complete_linkage_by_l1(n: int, seed: int):
    points = np.random.default_rng(seed).integers(0, 10**7, (4, n))
    expected = linkage(points.T.astype(float), "complete", "cityblock")[:, :2].astype(int)
    ours = complete_linkage(points, 100)
    for made in range(n):
        same = (set(map(frozenset, groups_after(merges, n, made))) for merges in (ours, expected))
        assert next(same) == next(same)


def test_parts_of_the_graph_without_a_bridge_are_joined_in_the_end():
    points = np.zeros((4, 12), dtype=np.int64)
    points[0] = [*range(6), *range(10**6, 10**6 + 6)]
    merges = complete_linkage(points, 2)
    assert sorted(map(sorted, groups_after(merges, 12, 10))) == [list(range(6)), list(range(6, 12))]
    assert len(groups_after(merges, 12, 11)) == 1


@given(cities(), promises(GloveSk))
def test_flows_keep_the_promise_and_the_loss_its_budget(town: City, promise: GloveSk):
    assume(allowed(town.od, list(range(len(town.od.pairs.trips))), promise))
    release = promise.anonymize(town.od, town.tree, town.tree)
    flow = release.assignment["flow"].to_numpy()
    for number in range(len(release.flows)):
        assert allowed(town.od, np.flatnonzero(flow == number).tolist(), promise)
    assert release.metrics["S"] <= promise.budget(town.od.volume)
    published = release.flows["trips"].sum() + release.metrics.get("capped_trips", 0)
    assert published + release.metrics["S"] == town.od.volume


@pytest.mark.parametrize(("people", "flows"), [(4, 1), (5, 2), (6, 2)])
def test_the_threshold_is_k(people: int, flows: int):
    rows = [(0, 0, 1, person) for person in range(people)] + [(1, 1, 1, 100 + person) for person in range(9)]
    town = city(rows, [0, 1], [0, 0])
    assert len(GloveSk(k=5, suppression=0).anonymize(town.od, town.tree, town.tree).flows) == flows


def test_a_single_flow_is_published_whole():
    town = city([(0, 0, 1, person) for person in range(7)], [0], [0])
    assert GloveSk(k=7).anonymize(town.od, town.tree, town.tree).flows["persons"].tolist() == [7]


def test_flows_all_below_k_are_merged_even_with_safe_ones_on_the_way():
    town = city([(i, i, 1, i) for i in range(8)], np.arange(8), np.zeros(8))
    release = GloveSk(k=2, suppression=0).anonymize(town.od, town.tree, town.tree)
    assert release.flows["persons"].min() >= 2
    assert release.flows["trips"].sum() == 8


@pytest.mark.parametrize("limit", [{"max_tiles": 9}, {"report_small": True}])
def test_limits_that_cannot_be_kept_are_refused(limit: dict):
    with pytest.raises(ValueError, match=f"remove {next(iter(limit))} or choose another algorithm"):
        GloveSk(**limit)
