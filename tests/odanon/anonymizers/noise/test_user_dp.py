"""User-level differential privacy: bounds, calibration and thresholds, and what cannot be promised."""

import sys
from collections import defaultdict
from pathlib import Path

import h3
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placed_cities import City, cities, city
from product_example import small_product

from odanon import door
from odanon.anonymizers.noise.user_dp import Noise, UserDp, _bounded_counts
from odanon.errors import OdanonError
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.plugin import parameters_of
from odanon.testing.parameters import check_parameters
from odanon.zoning.h3 import H3Zoning

SURE = {"epsilon": 1000.0, "delta": 1e-6}  # so little noise that counts are exact


def people(n: int, trips: int = 1) -> City:
    """n people between two tiles."""
    return city([(0, 1, trips, person) for person in range(n)], [0, 1], [0, 0])


def trips_by_person(town: City, keys: np.ndarray) -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for pair, person, trips in zip(town.od.row_pair, town.od.person, town.od.trips, strict=True):
        found[int(person)][int(keys[pair])] += int(trips)
    return found


@given(cities(), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4))
def test_nobody_counts_for_more_than_the_bounds(town: City, max_flows: int, cap: int, n_keys: int):
    pair_key = np.arange(len(town.od.pairs.trips)) % n_keys
    keys, counts = _bounded_counts(town.od, pair_key, max_flows, cap)
    by_person = trips_by_person(town, pair_key)
    most = [sorted((min(trips, cap) for trips in mine.values()), reverse=True) for mine in by_person.values()]
    assert counts.sum() <= sum(sum(mine[:max_flows]) for mine in most)
    assert counts.sum() >= sum(sum(mine[::-1][:max_flows]) for mine in most)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        assert 0 < count <= sum(min(mine[key], cap) for mine in by_person.values() if key in mine)


@given(cities(), st.integers(1, 3))
def test_with_room_for_all_flows_the_counts_are_the_capped_trips(town: City, cap: int):
    pair_key = np.arange(len(town.od.pairs.trips)) // 2
    keys, counts = _bounded_counts(town.od, pair_key, 1000, cap)
    expected: dict[int, int] = defaultdict(int)
    for mine in trips_by_person(town, pair_key).values():
        for key, trips in mine.items():
            expected[key] += min(trips, cap)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == expected


def test_the_flows_of_a_person_are_drawn_at_random():
    town = city([(0, tile, 1, person) for person in range(400) for tile in range(4)], range(4), [0] * 4)
    _, counts = _bounded_counts(town.od, np.arange(4), 1, 1)
    assert counts.sum() == 400
    assert counts.min() > 60


@pytest.mark.parametrize(
    "wanted",
    [
        {"epsilon": 1.0, "delta": 1e-6, "max_flows": 4},
        {"epsilon": 0.3, "delta": 1e-8, "max_flows": 7, "contribution_cap": 3},
        {"epsilon": 10.0, "delta": 1e-4, "max_flows": 1},
    ],
)
def test_noise_is_the_least_that_keeps_epsilon_and_delta(wanted: dict):
    promised = UserDp(k=2, **wanted)
    noise = Noise.calibrated(promised)
    bounds = promised.max_flows, promised.max_flows * promised.contribution_cap, promised.contribution_cap
    epsilon, delta = noise.measurement().map(bounds)
    assert epsilon <= promised.epsilon
    assert delta <= promised.delta
    assert Noise(0.99 * noise.scale, noise.threshold).measurement().map(bounds)[0] > promised.epsilon
    if noise.threshold > promised.k:
        assert Noise(noise.scale, noise.threshold - 1).measurement().map(bounds)[1] > promised.delta


def test_noise_has_its_scale_and_no_bias():
    noise = Noise(4.0, 60)
    values = np.array(list(noise.add(np.arange(2000), np.full(2000, 500)).values()))
    assert abs(values.mean() - 500) < 1
    assert values.std() == pytest.approx(4 * 2**0.5, rel=0.1)


@pytest.mark.parametrize(("n", "flows"), [(9, 0), (10, 1), (11, 1)])
def test_no_count_below_k_is_shown(n: int, flows: int):
    town = people(n)
    promised = UserDp(k=10, **SURE)
    if n < 10:
        with pytest.raises(OdanonError, match="fewer than k = 10 persons"):
            promised.anonymize(town.od, town.tree, town.tree)
        town = city([(0, 1, 1, p) for p in range(n)] + [(1, 0, 1, n)], [0, 1], [0, 0])
    release = promised.anonymize(town.od, town.tree, town.tree)
    assert len(release.flows) == flows
    assert release.flows["trips"].tolist() == [n] * flows


def test_counts_are_trips_up_to_the_cap_and_people_are_not_told():
    town = people(50, trips=5)
    release = UserDp(k=2, contribution_cap=3, **SURE).anonymize(town.od, town.tree, town.tree)
    assert release.flows["trips"].tolist() == [150]
    assert release.flows["persons"].isna().all()
    assert release.assignment["flow"].tolist() == [0]


def test_small_flows_all_stay_below_the_threshold():
    town = city([(i, j, 1, 10 * i + j) for i in range(5) for j in range(5)], range(5), [0] * 5)
    release = door.release({None: town.od}, town.tree, UserDp(k=2)).releases[None]
    assert len(release.flows) == 0
    assert (release.assignment["flow"] == -1).all()


def test_two_runs_differ_because_there_is_no_seed():
    town = people(5000)
    runs = {UserDp(epsilon=0.1).anonymize(town.od, town.tree, town.tree).flows["trips"].iloc[0] for _ in range(6)}
    assert len(runs) > 1
    assert "seed" not in parameters_of(UserDp())


def test_the_release_states_epsilon_delta_and_the_caps():
    town = people(300)
    release = UserDp(epsilon=2.0, delta=1e-7).anonymize(town.od, town.tree, town.tree)
    stated = {name: release.parameters[name] for name in ("epsilon", "delta", "contribution_cap", "max_flows")}
    assert stated == {"epsilon": 2.0, "delta": 1e-7, "contribution_cap": 1, "max_flows": 4}
    assert release.metrics["threshold"] > release.metrics["noise_scale"] == 2
    assert UserDp(epsilon=2.0, delta=1e-7).sentence.startswith(
        "(2, 1e-07)-differential privacy for each of the persons"
    )


def test_a_level_publishes_the_fixed_areas_of_that_level():
    rng = np.random.default_rng(0)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 5)), dtype=object)
    ends = cells[rng.integers(0, len(cells), (2, 3000))]
    rows = pd.DataFrame({"origin": ends[0], "destination": ends[1], "person": range(3000)})
    tiles = H3Zoning(resolution=8).tiles(cells)
    tree = H3Hierarchy().build(tiles)
    od = ODMatrix.from_frame(rows, tree, tree, trips=None)
    release = door.release({None: od}, tree, UserDp(level=6, epsilon=4.0)).releases[None]
    assert {h3.get_resolution(cell) for cell in release.flows["origin"].astype(str)} == {6}
    assert (release.flows["origin_tiles"] == 49).all()
    observed = H3Hierarchy(coverage="observed").build(tiles)
    with pytest.raises(OdanonError, match="which is no fixed zoning; leave level out"):
        UserDp(level=6).anonymize(ODMatrix.from_frame(rows, observed, observed, trips=None), observed, observed)


def test_matrices_of_a_window_share_the_budget():
    town = people(500)
    one, two = UserDp(), UserDp(matrices=2)
    assert Noise.calibrated(two).scale == 2 * Noise.calibrated(one).scale
    assert Noise.calibrated(two).threshold > 2 * Noise.calibrated(one).threshold
    assert len(two.anonymize_window([town.od] * 2, town.tree, town.tree)) == 2
    with pytest.raises(OdanonError, match="the window has 2 matrices and epsilon is shared by 1; set matrices: 2"):
        one.anonymize_window([town.od] * 2, town.tree, town.tree)


def test_without_opendp_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    town = people(20)
    with pytest.raises(OdanonError, match=r"pip install 'odanon\[dp\]'"):
        UserDp().anonymize(town.od, town.tree, town.tree)


def test_the_pipeline_does_not_publish_noise(tmp_path: Path):
    with pytest.raises(OdanonError, match="user-dp makes noisy counts, which the verifier cannot prove"):
        small_product(tmp_path, anonymize={"plugin": "user-dp"})


@pytest.mark.parametrize(
    "wrong", [{"min_tiles": 2}, {"max_tiles": 4}, {"k_areas": 4}, {"max_dominance": 0.5}, {"report_small": True}]
)
def test_limits_that_look_at_people_are_refused(wrong: dict):
    with pytest.raises(ValueError, match="cannot look at who is behind a flow"):
        UserDp(**wrong)


def test_trips_cannot_be_the_unit():
    with pytest.raises(ValueError, match="Input should be 'persons' or 'vehicles'"):
        UserDp(unit="trips")


def test_parameters_conform():
    check_parameters(UserDp())
