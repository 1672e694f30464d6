"""GDM, MAO, MAD, histograms and densities on examples computed by hand; E and D of boxes against a dense twin."""

import math

import h3
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon import registry
from odanon.errors import OdanonError
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.metrics.distance import Distance
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.measure import measured_window
from odanon.metrics.reconstruction import Reconstruction
from odanon.metrics.sizes import Sizes
from odanon.metrics.surface import Surface
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.testing.trial.cities import random_city
from odanon.zoning.h3 import H3Zoning

# a, b and c in a row on the equator, 0.01 degrees apart: all -> left (a, b), right (c).
DEGREE_M = 2 * math.pi * 6_378_137 / 360
STEP_M = 0.01 * DEGREE_M
TREE = Hierarchy.from_parents(["all", "left", "right", "a", "b", "c"], [-1, 0, 0, 1, 1, 2], kind="hand").placed(
    np.array(["a", "b", "c"], object), np.zeros(3), np.array([0.0, 0.01, 0.02])
)
NODE = {label: node for node, label in enumerate(TREE.label)}
ROWS = pd.DataFrame(
    {"origin": ["a", "b", "c"], "destination": ["c", "c", "a"], "person": [1, 2, 3], "trips": [6, 2, 2]}
)


def hand_release(k: int = 2) -> tuple[ODMatrix, Release]:
    """a->c and b->c are published as left->right, c->a is suppressed."""
    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    left, right = NODE["left"], NODE["right"]
    return od, Release.from_nodes(od, TREE, TREE, np.array([left, left, -1]), np.array([right, right, -1]), {"k": k})


def test_distances_by_hand() -> None:
    """8 trips start half a step from the middle of left and end in the middle of right: 8 ends moved, 8 not."""
    figures = Distance().evaluate(*hand_release())
    assert figures["GDM"] == pytest.approx(STEP_M / 4, rel=1e-6)
    assert figures["GDM_median"] == 0
    assert figures["GDM_sd"] == pytest.approx(STEP_M / 4, rel=1e-6)


def test_distances_by_hand_for_people_and_population() -> None:
    """a->c is published as it is and b->c as left->right: only b moves, by half a step, with 2 trips, 1 person, weight 30."""
    od = ODMatrix.from_frame(ROWS.assign(w=[10.0, 30.0, 60.0]), TREE, TREE, weight="w")
    a, left, right = NODE["a"], NODE["left"], NODE["right"]
    release = Release.from_nodes(od, TREE, TREE, np.array([a, left, -1]), np.array([right, right, -1]), {"k": 1})
    figures = measured_window({None: od}, {None: release})
    assert figures["GDM"] == pytest.approx(2 * STEP_M / 2 / (2 * 8), rel=1e-6)
    assert figures["GDM_persons"] == pytest.approx(1 * STEP_M / 2 / (2 * 2), rel=1e-6)
    assert figures["GDM_population"] == pytest.approx(30 * STEP_M / 2 / (2 * 40), rel=1e-6)
    window = measured_window({1: od, 2: od}, {1: release, 2: release})
    assert window["GDM_population"] == pytest.approx(figures["GDM_population"])


def test_distances_of_a_window_are_over_all_its_trips() -> None:
    one = Distance().evaluate(*hand_release())
    still = {**one, "GDM_sum": 0.0, "GDM_squares": 0.0, "GDM_median": 0.0}
    combined = Distance().combine(pd.DataFrame([one, still, still, still]))
    assert combined["GDM"] == pytest.approx(one["GDM"] / 4)


def test_an_h3_cell_is_published_at_its_own_centre() -> None:
    """One tile of a coarse cell moves by the distance from its centre to the cell's, whatever else is observed."""
    cell = h3.latlng_to_cell(45.75, 4.85, 7)
    tile = sorted(h3.cell_to_children(cell, 8))[0]
    tree = H3Hierarchy(root=7).build(H3Zoning(resolution=8).tiles([tile]))
    od = ODMatrix.from_frame(
        pd.DataFrame({"origin": [tile], "destination": [tile], "trips": [1]}), tree, tree, person=None
    )
    node = np.array([int(np.flatnonzero(tree.label == cell)[0])])
    release = Release.from_nodes(od, tree, tree, node, node, {"k": 1})
    expected = h3.great_circle_distance(h3.cell_to_latlng(tile), h3.cell_to_latlng(cell), unit="m")
    assert Distance().evaluate(od, release)["GDM"] == pytest.approx(expected, rel=5e-3)
    surface = Surface().evaluate(od, release)
    assert surface["MAO"] == surface["MAD"] == pytest.approx(h3.cell_area(cell, unit="km^2"), rel=1e-2)


def test_a_box_is_published_at_its_middle() -> None:
    """Tiles a, a half step east of it (b) and c: the middle of the box is b, not the mean of the three."""
    tree = Hierarchy.from_parents(["all", "a", "b", "c"], [-1, 0, 0, 0], kind="hand").placed(
        np.array(["a", "b", "c"], object), np.zeros(3), np.array([0.0, 0.005, 0.02])
    )
    rows = pd.DataFrame({"origin": ["a", "b", "c"], "destination": ["a", "a", "a"], "trips": [1, 1, 1]})
    od = ODMatrix.from_frame(rows, tree, tree, person=None)
    box = Areas(
        np.array(["box 1"], object),
        np.array([3]),
        np.array([-1], np.int16),
        np.array([0, 3]),
        np.arange(3, dtype=np.int32),
    )
    extra = np.full(3, len(tree))
    nodes = np.full(3, int(tree.tiles[0]))
    release = Release.from_nodes(od, tree, tree, extra, nodes, {"k": 1}, extra_origins=box)
    moved = [STEP_M, 0.5 * STEP_M, STEP_M]  # from 0.01 degrees: a, b and c; destinations stay
    assert Distance().evaluate(od, release)["GDM"] == pytest.approx(sum(moved) / 6, rel=1e-6)


def test_metres_without_places_are_an_error_and_left_out_of_a_release() -> None:
    od, release = hand_release()
    bare = ODMatrix.from_arrays(od.origin, od.destination, od.trips, od.person)
    for metric in (Distance(), Surface()):
        with pytest.raises(OdanonError, match="where the tiles lie"):
            metric.evaluate(bare, release)
    assert "GDM" not in measured_window({None: bare}, {None: hand_release()[1]})
    with pytest.raises(OdanonError, match="how large"):
        Surface().evaluate(od, release)


def test_sizes_by_hand() -> None:
    """One flow of two people and 8 trips: with k = 2 in the class from k to 2k of people and from 4k of trips."""
    figures = Sizes().evaluate(*hand_release())
    assert {name for name, value in figures.items() if "_x" in name and value} == {"persons_x1", "trips_x4"}
    assert figures["density"] == 1  # one flow, one origin, one destination
    assert figures["density_before"] == 3 / (3 * 2)
    strict = Sizes().evaluate(*hand_release(k=3))
    assert strict["persons_x0"] == 1
    assert Sizes().combine(pd.DataFrame([figures] * 2))["persons_x1"] == 2


def test_people_are_counted_once_in_a_flow() -> None:
    """The same person on both pairs: 2 person-pairs before, 1 person in the flow."""
    od = ODMatrix.from_frame(ROWS.assign(person=[1, 1, 3]), TREE, TREE)
    left, right = NODE["left"], NODE["right"]
    release = Release.from_nodes(od, TREE, TREE, np.array([left, left, -1]), np.array([right, right, -1]), {"k": 1})
    figures = measured_window({None: od}, {None: release})
    assert (figures["volume_persons"], figures["published_persons"], figures["S_share_persons"]) == (3, 1, 1 / 3)
    assert figures["C_DM_persons"] == 1 + 3 * 1
    assert figures["C_AVG_persons"] == 1
    assert figures["Gbar_persons"] == 3
    # u = 1 spreads as a half on each pair: |1/2 - 1| twice, and the suppressed person.
    assert figures["E_persons"] == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_a_weighted_matrix_is_measured_for_participants_and_population() -> None:
    od = ODMatrix.from_frame(ROWS.assign(w=[10.0, 30.0, 60.0]), TREE, TREE, weight="w")
    left, right = NODE["left"], NODE["right"]
    release = Release.from_nodes(od, TREE, TREE, np.array([left, left, -1]), np.array([right, right, -1]), {"k": 2})
    figures = measured_window({None: od}, {None: release})
    assert (figures["S_share"], figures["S_share_population"]) == (pytest.approx(0.2), pytest.approx(0.6))
    assert figures["min_weight"] == 40
    # The population's threshold is k times the mean weight of a trip: 2 x 100 / 10.
    assert figures["C_AVG_population"] == pytest.approx(40 / 20)


def dense_figures(od: ODMatrix, release: Release, n: int) -> tuple[float, float]:
    """E and D with a full matrix."""
    truth, rebuilt = np.zeros((n, n)), np.zeros((n, n))
    truth[od.pairs.origin, od.pairs.destination] = od.pairs.trips
    tiles = [
        {str(name): part.members[a:b] for name, a, b in zip(part.label, part.start, part.start[1:], strict=False)}
        for part in (release.origins, release.destinations)
    ]
    for flow in release.flows.itertuples():
        block = np.ix_(tiles[0][str(flow.origin)], tiles[1][str(flow.destination)])
        rebuilt[block] += flow.trips / (flow.origin_tiles * flow.destination_tiles)
    loss = np.abs(rebuilt - truth).sum() / truth.sum()
    return loss, np.abs(rebuilt / rebuilt.sum() - truth / truth.sum()).sum()


@pytest.mark.parametrize("algorithm", ["mondrian", "glove", "glove-sk", "quadtree-knapsack", "laplace"])
@given(seed=st.integers(0, 10_000))
def test_boxes_clusters_rests_and_noise_are_read_back_like_a_dense_matrix(algorithm: str, seed: int) -> None:
    tree, rows = random_city(seed)
    od = ODMatrix.from_frame(rows, tree, tree)
    release = registry.create("anonymize", algorithm, {"k": 4, "unit": "trips"}).anonymize(od, tree, tree)
    figures = Reconstruction().evaluate(od, release)
    assert (figures["E"], figures["D"]) == pytest.approx(dense_figures(od, release, tree.n_leaves))


def test_every_installed_metric_can_be_made_and_evaluated() -> None:
    od, release = hand_release()
    for name in set(registry.names("metrics")) - {"surface"}:
        metric = registry.create("metrics", name, {})
        combined = metric.combine(pd.DataFrame([metric.evaluate(od, release)]))
        assert combined
        assert "equation" in metric.evaluate.__doc__ or name in ("areas", "sizes", "surface")


def test_a_noisy_release_tells_no_people_and_no_weights() -> None:
    od = ODMatrix.from_frame(ROWS.assign(w=1.0), TREE, TREE, weight="w")
    release = registry.create("anonymize", "laplace", {"unit": "trips", "k": 2}).anonymize(od, TREE, TREE)
    for measure in ("persons", "weight"):
        with pytest.raises(OdanonError, match="does not tell"):
            Generalisation(measure=measure).evaluate(od, release)
    assert {
        name for name in measured_window({None: od}, {None: release}) if name.endswith(("_persons", "_population"))
    } <= {"min_persons"}
