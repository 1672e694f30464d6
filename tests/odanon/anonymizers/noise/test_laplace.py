"""Laplace noise against a dense literal version, and that it is nowhere mistaken for a protection."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placed_cities import City, cities, city
from product_example import small_product

from odanon import door
from odanon.anonymizers.noise import laplace as module
from odanon.anonymizers.noise.laplace import Laplace
from odanon.errors import OdanonError
from odanon.gate.release import release_findings
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.plugin import parameters_of
from odanon.testing.trial.cities import random_city


def flat(n: int) -> Hierarchy:
    return Hierarchy.from_parents([*(f"t{i:04}" for i in range(n)), "all"], [n] * n + [-1], kind="test")


@given(cities(), st.sampled_from([0.1, 1.0, 5.0]), st.integers(0, 99), st.sampled_from([3, 1 << 22]))
def test_every_pair_of_tiles_gets_rounded_noise_and_stays_above_zero(town: City, epsilon: float, seed: int, block: int):
    od = ODMatrix.from_arrays(town.od.origin, town.od.destination, 10 * town.od.trips)
    n = town.tree.n_leaves
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)  # drawn in pieces or at once: the same numbers
        release = Laplace(k=2, epsilon=epsilon, seed=seed).anonymize(od, town.tree, town.tree)
    dense = np.zeros((n, n))
    np.add.at(dense, (od.origin, od.destination), od.trips)
    dense += np.random.default_rng(seed).laplace(scale=1 / epsilon, size=(n, n))
    expected = np.maximum(np.rint(dense), 0)
    found = np.zeros((n, n))
    origin, destination = (town.tree.ranks(release.flows[side]) for side in ("origin", "destination"))
    found[origin, destination] = release.flows["trips"]
    assert np.array_equal(found, expected)
    published = release.assignment["flow"].to_numpy() >= 0
    assert np.array_equal(published, expected[od.pairs.origin, od.pairs.destination] > 0)


def test_a_third_of_the_empty_pairs_appear_at_epsilon_one():
    tree = flat(400)
    od = ODMatrix.from_arrays(np.array([0]), np.array([0]), np.array([50]))
    release = door.release({None: od}, tree, Laplace()).releases[None]
    assert len(release.flows) / 400**2 == pytest.approx(0.3033, abs=0.01)  # 003 section 3.5
    assert release.metrics["E"] > 100


def test_the_seed_decides_and_the_row_order_does_not():
    tree, rows = random_city(4)
    od = ODMatrix.from_frame(rows, tree, tree)
    shuffled = ODMatrix.from_frame(rows.sample(frac=1, random_state=1), tree, tree)
    first, again, other = (
        Laplace(seed=seed).anonymize(matrix, tree, tree).flows for seed, matrix in ((1, od), (1, shuffled), (2, od))
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_it_says_that_it_protects_nobody():
    assert "NOT A PROTECTION" in (Laplace.__doc__ or "")
    assert "not a protection" in Laplace().sentence
    assert not Laplace.verifiable


def test_the_verifier_refuses_it():
    tree, rows = random_city(4)
    plugin = Laplace(k=2)
    made = plugin.anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    findings = release_findings(
        rows, made, tree, tree, Promise.of(parameters_of(plugin)), overlapping=False, leaves_out=False
    )
    assert "volumes" in {finding.rule for finding in findings}


def test_the_pipeline_refuses_it(tmp_path: Path):
    with pytest.raises(OdanonError, match="laplace makes noisy counts, which the verifier cannot prove"):
        small_product(tmp_path, anonymize={"plugin": "laplace"}, publish={"accept_unit_trips": True})


@pytest.mark.parametrize(
    "wrong", [{"unit": "persons"}, {"min_tiles": 2}, {"max_tiles": 4}, {"k_areas": 4}, {"report_small": True}]
)
def test_what_it_cannot_do_is_refused(wrong: dict):
    with pytest.raises(ValueError, match=r"Input should be 'trips'|joins nothing"):
        Laplace(**wrong)


def test_more_noise_than_a_file_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MOST_FLOWS", 1_000_000)
    tree = flat(2000)
    od = ODMatrix.from_arrays(np.array([0]), np.array([0]), np.array([50]))
    with pytest.raises(OdanonError, match="use coarser tiles"):
        Laplace().anonymize(od, tree, tree)


def test_a_single_flow_and_flows_below_k_get_noise_like_all_others():
    town = city([(0, 0, 1000, 1)], [0], [0])
    release = Laplace(epsilon=1).anonymize(town.od, town.tree, town.tree)
    assert abs(release.flows["trips"].iloc[0] - 1000) < 30
    small = city([(0, 1, 5, 1), (1, 0, 6, 2)], [0, 1], [0, 0])
    release = Laplace(epsilon=100).anonymize(small.od, small.tree, small.tree)
    assert sorted(release.flows["trips"]) == [5, 6]
