"""Glove against a literal greedy merge over the same graph, and what its releases promise."""

from itertools import count

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from placed_cities import City, allowed, cities, city, promises

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.places.glove import Glove
from odanon.anonymizers.places.kernels.glove import merge_closest
from odanon.anonymizers.places.neighbours import neighbour_graph
from odanon.testing import check_anonymizer


def slow_glove(town: City, graph: list[set[int]], promise: Anonymizer) -> set[frozenset[int]]:
    """Safe clusters: look at all pairs of neighbouring clusters, one of them unsafe, and merge the closest."""
    n, budget = len(graph), promise.budget(town.od.volume)
    clusters = {pair: [pair] for pair in range(n)}

    def extent(a: int, b: int) -> int:
        return int(np.ptp(town.points[:, clusters[a] + clusters[b]], axis=1).sum())

    def beside(cluster: int) -> set[int]:
        near = {neighbour for pair in clusters[cluster] for neighbour in graph[pair]}
        found = {other for other, pairs in clusters.items() if near & set(pairs)} - {cluster}
        return found or set(clusters) - {cluster}

    for new in count(n):
        unsafe = [c for c, pairs in clusters.items() if not allowed(town.od, pairs, promise)]
        lost = sum(int(town.od.pairs.trips[clusters[c]].sum()) for c in unsafe)
        if lost <= budget or len(clusters) == 1:
            return {frozenset(pairs) for c, pairs in clusters.items() if c not in unsafe}
        _, a, b = min((extent(c, o), min(c, o), max(c, o)) for c in unsafe for o in beside(c))
        clusters[new] = clusters.pop(a) + clusters.pop(b)
    raise AssertionError


@st.composite
def graphs(draw: st.DrawFn, town: City) -> tuple[np.ndarray, np.ndarray]:
    """The nearest-neighbour graph, sparse enough to fall into parts."""
    return neighbour_graph(town.points, draw(st.sampled_from([1, 2, 100])))


@given(st.data(), cities(35), promises(Glove))
def test_clusters_are_those_of_the_literal_greedy_merge(data: st.DataObject, town: City, promise: Glove):
    start, neighbour = data.draw(graphs(town))
    problem, trips = town.problem(promise), town.od.pairs.trips
    budget = promise.budget(town.od.volume)
    cluster, _ = merge_closest(town.points, start, neighbour, trips, problem.evidence, problem.room(), budget)
    found = {frozenset(np.flatnonzero(cluster == c).tolist()) for c in set(cluster.tolist()) - {-1}}
    graph = [set(neighbour[start[p] : start[p + 1]].tolist()) for p in range(len(trips))]
    assert found == slow_glove(town, graph, promise)


@given(cities(), st.integers(1, 6))
def test_the_graph_joins_each_point_with_its_nearest(town: City, neighbours: int):
    points = town.points
    n = points.shape[1]
    start, neighbour = neighbour_graph(points, neighbours)
    graph = [neighbour[start[p] : start[p + 1]].tolist() for p in range(n)]
    distance = np.abs(points[:, :, None] - points[:, None, :]).sum(axis=0)
    np.fill_diagonal(distance, -1)
    reach = np.sort(distance, axis=1)[:, min(neighbours, n - 1)]
    for p in range(n):
        assert p not in graph[p]
        assert set(graph[p]) >= {q for q in range(n) if q != p and distance[p, q] < reach[p]}
        for q in graph[p]:
            assert p in graph[q]
            assert distance[p, q] <= max(reach[p], reach[q])


@given(cities(), promises(Glove))
def test_flows_keep_the_promise_and_the_loss_its_budget(town: City, promise: Glove):
    assume(allowed(town.od, list(range(len(town.od.pairs.trips))), promise))
    release = promise.anonymize(town.od, town.tree, town.tree)
    flow = release.assignment["flow"].to_numpy()
    for number in range(len(release.flows)):
        assert allowed(town.od, np.flatnonzero(flow == number).tolist(), promise)
    assert release.metrics["S"] <= promise.budget(town.od.volume)
    published = release.flows["trips"].sum() + release.metrics.get("capped_trips", 0)
    assert published + release.metrics["S"] == town.od.volume


def line(people: list[int]) -> City:
    """Tile pairs along a line, each with its own people."""
    rows = [(i, i, 1, 100 * i + person) for i, n in enumerate(people) for person in range(n)]
    return city(rows, np.arange(len(people)), np.zeros(len(people)))


@pytest.mark.parametrize(("people", "flows"), [(4, 1), (5, 2), (6, 2)])
def test_a_flow_is_merged_only_below_k(people: int, flows: int):
    town = line([people, 9])
    release = Glove(k=5, suppression=0).anonymize(town.od, town.tree, town.tree)
    assert len(release.flows) == flows


def test_a_small_flow_joins_its_nearer_neighbour_and_safe_flows_stay_apart():
    town = line([6, 2, 6])
    town = City(town.od, np.array([0, 3, 4]), town.y)
    release = Glove(k=5, suppression=0).anonymize(town.od, town.tree, town.tree)
    assert sorted(release.flows["persons"]) == [6, 8]


def test_flows_all_below_k_are_merged():
    town = line([1] * 9)
    release = Glove(k=3, suppression=0).anonymize(town.od, town.tree, town.tree)
    assert release.flows["persons"].min() >= 3
    assert release.flows["trips"].sum() == 9


def test_a_flow_within_the_budget_is_left_out_not_merged():
    town = line([9, 1])
    release = Glove(k=5, suppression=0.1).anonymize(town.od, town.tree, town.tree)
    assert release.flows["trips"].tolist() == [9]
    assert release.metrics["S"] == 1


def test_a_single_flow_is_published_whole():
    town = line([7])
    assert Glove(k=7).anonymize(town.od, town.tree, town.tree).flows["persons"].tolist() == [7]


@pytest.mark.thorough
def test_conformance_with_one_neighbour():
    check_anonymizer(Glove, neighbours=1)


@pytest.mark.parametrize("limit", [{"max_tiles": 9}, {"report_small": True}])
def test_limits_that_cannot_be_kept_are_refused(limit: dict):
    with pytest.raises(ValueError, match=f"remove {next(iter(limit))} or choose another algorithm"):
        Glove(**limit)
