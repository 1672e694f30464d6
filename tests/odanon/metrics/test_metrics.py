"""Metrics on an example computed by hand, and E against a dense twin."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.metrics.classes import Classes
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.testing.trial.cities import random_city

# all -> left (a, b), right (c): post-order a b left c right all
TREE = Hierarchy.from_parents(["all", "left", "right", "a", "b", "c"], [-1, 0, 0, 1, 1, 2], kind="hand")
NODE = {label: node for node, label in enumerate(TREE.label)}
ROWS = pd.DataFrame(
    {"origin": ["a", "b", "c"], "destination": ["c", "c", "a"], "person": [1, 2, 3], "trips": [6, 2, 2]}
)


def hand_release() -> tuple[ODMatrix, Release]:
    """a->c and b->c are published as left->right (|o| = 2, |d| = 1), c->a is suppressed."""
    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    origin = np.array([NODE["left"], NODE["left"], -1])
    destination = np.array([NODE["right"], NODE["right"], -1])
    return od, Release.from_nodes(od, TREE, TREE, origin, destination, {"k": 2})


def test_generalisation_by_hand() -> None:
    figures = Generalisation().evaluate(*hand_release())
    assert figures["G"] == 3 * 8
    assert figures["Gbar"] == 3
    assert (figures["S"], figures["S_share"]) == (2, pytest.approx(0.2))
    assert (figures["flows"], figures["min_persons"], figures["min_trips"]) == (1, 2, 8)


def test_a_rest_at_the_root_is_published_and_says_nothing_of_the_size_of_flows() -> None:
    od, _ = hand_release()
    origin, rest = np.array([NODE["left"], NODE["left"], NODE["all"]]), np.array([False, False, True])
    destination = np.array([NODE["right"], NODE["right"], NODE["all"]])
    release = Release.from_nodes(od, TREE, TREE, origin, destination, {"k": 2}, pair_rest=rest)
    figures = Generalisation().evaluate(od, release)
    assert (figures["G"], figures["Gbar"]) == (24, 3)
    assert (figures["S"], figures["coarse"], figures["coarse_share"]) == (0, 2, pytest.approx(0.2))
    assert {name: figures[name] for name in release.metrics} == release.metrics
    assert Generalisation().combine(pd.DataFrame([figures] * 2))["Gbar"] == 3
    nothing_else = Release.from_nodes(od, TREE, TREE, *np.full((2, 3), NODE["all"]), {"k": 2}, pair_rest=~rest | rest)
    assert np.isnan(nothing_else.metrics["Gbar"])
    assert np.isnan(Generalisation().evaluate(od, nothing_else)["Gbar"])


def test_reconstruction_by_hand() -> None:
    # left->right spreads 8 as 4 + 4 over a->c and b->c: |4-6| + |4-2| + 2 suppressed = 6 of 10.
    figures = Reconstruction().evaluate(*hand_release())
    assert figures["E"] == pytest.approx(0.6)
    # As distributions: |4/8 - 6/10| + |4/8 - 2/10| + |0 - 2/10|.
    assert figures["D"] == pytest.approx(0.6)


def test_classes_by_hand() -> None:
    # One class of 8 and 2 suppressed of 10 trips: 8^2 + 10 * 2; mean class 8 over k = 2.
    figures = Classes().evaluate(*hand_release())
    assert figures["C_DM"] == 84
    assert figures["C_AVG"] == 4


def test_the_population_is_measured_by_weights_beside_the_participants() -> None:
    od = ODMatrix.from_frame(ROWS.assign(w=[10.0, 30.0, 60.0]), TREE, TREE, weight="w")
    _, release = hand_release()
    weighted = Release.from_nodes(
        od,
        TREE,
        TREE,
        np.array([NODE["left"], NODE["left"], -1]),
        np.array([NODE["right"], NODE["right"], -1]),
        release.parameters,
    )
    figures = Generalisation(measure="weight").evaluate(od, weighted)
    assert figures["S_share_population"] == pytest.approx(0.6)
    assert figures["Gbar_population"] == 3
    assert Classes(measure="weight").evaluate(od, weighted)["C_DM_population"] == 40**2 + 100 * 60
    # 40 spreads as 20 + 20: |20-10| + |20-30| + 60 of 100.
    assert Reconstruction(measure="weight").evaluate(od, weighted)["E_population"] == pytest.approx(0.8)


def test_weights_that_are_not_there_are_an_error() -> None:
    with pytest.raises(OdanonError, match="no weights"):
        Generalisation(measure="weight").evaluate(*hand_release())


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_weights_that_nobody_can_stand_for_are_an_error(bad: float) -> None:
    with pytest.raises(OdanonError, match="negative or no numbers"):
        ODMatrix.from_frame(ROWS.assign(w=[1.0, bad, 2.0]), TREE, TREE, weight="w")


def test_a_window_combines_its_matrices() -> None:
    for metric, expected in (
        (Generalisation(), {"Gbar": 3, "S": 4, "S_share": 0.2, "flows": 2}),
        (Reconstruction(), {"E": 0.6, "D": 0.6}),
        (Classes(), {"C_DM": 168, "C_AVG": 4}),
    ):
        figures = pd.DataFrame([metric.evaluate(*hand_release())] * 2)
        combined = metric.combine(figures)
        for name, value in expected.items():
            assert combined[name] == pytest.approx(value)


@given(st.integers(0, 10_000))
def test_sparse_reconstruction_loss_equals_the_dense_one(seed: int) -> None:
    tree, rows = random_city(seed)
    od = ODMatrix.from_frame(rows, tree, tree)
    rng = np.random.default_rng(seed)
    # A random cut of the tree on both sides, some flows suppressed.
    cut = _random_cut(tree, rng)
    origin, destination = cut[od.pairs.origin], cut[od.pairs.destination]
    lost = rng.random((len(tree), len(tree)))[origin, destination] < 0.3
    release = Release.from_nodes(od, tree, tree, np.where(lost, -1, origin), np.where(lost, -1, destination), {})
    dense = np.zeros((tree.n_leaves, tree.n_leaves))
    dense[od.pairs.origin, od.pairs.destination] = od.pairs.trips
    rebuilt = np.zeros_like(dense)
    node = {label: number for number, label in enumerate(tree.label)}
    for flow in release.flows.itertuples():
        o, d = node[flow.origin], node[flow.destination]
        block = np.ix_(range(tree.tile_start[o], tree.tile_end[o]), range(tree.tile_start[d], tree.tile_end[d]))
        rebuilt[block] += flow.trips / (flow.origin_tiles * flow.destination_tiles)
    figures = Reconstruction().evaluate(od, release)
    assert figures["E"] == pytest.approx(np.abs(rebuilt - dense).sum() / dense.sum())
    if len(release.flows):
        assert figures["D"] == pytest.approx(np.abs(rebuilt / rebuilt.sum() - dense / dense.sum()).sum())


def _random_cut(tree: Hierarchy, rng: np.random.Generator) -> np.ndarray:
    """The node that each tile rank is published at, for a random partition of the tree."""
    chosen = np.empty(tree.n_leaves, dtype=np.int64)
    stack = [tree.root]
    while stack:
        node = stack.pop()
        children = np.flatnonzero(tree.parent == node)
        if len(children) and rng.random() < 0.6:
            stack.extend(children.tolist())
        else:
            chosen[tree.tile_start[node] : tree.tile_end[node]] = node
    return chosen
