"""ATG-Lattice against all guillotine partitions of small products, and the properties that a release promises."""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from enumeration import (
    MULTIPLIERS,
    Instance,
    assert_keeps_promise,
    assert_row_order_does_not_matter,
    instances,
    limits,
    map_is_large_enough,
    possible,
    two_levels,
)
from guillotine import Cost, loss_cost, partitions, recursion, tiles_cost, worth
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.atg import joint
from odanon.anonymizers.atg.dual import AtgDual
from odanon.anonymizers.atg.homogeneous import AtgHomogeneous
from odanon.anonymizers.lattice import products, threads
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.lattice.solver import Costs, Lattice
from odanon.anonymizers.levels.odkanon import OdkAnon
from odanon.anonymizers.levels.oigh import Oigh
from odanon.anonymizers.levels.uniform import UniformLevel
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.plugin import parameters_of

promises = limits(AtgLattice)
objectives = st.sampled_from([("tiles", 0.0), ("loss", 0.0), ("loss", 0.03), ("loss", 0.5)])


def costs_of(instance: Instance, promise: AtgLattice, objective: tuple[str, float]) -> tuple[Lattice, Costs, Cost]:
    """The lattice with its costs, and the same costs flow by flow."""
    lattice = Lattice.of(Problem(instance.od, instance.origins, instance.destinations, promise), counted=True)
    name, price = objective
    if name == "tiles":
        return lattice, lattice.in_tiles(), tiles_cost(instance)
    return lattice, lattice.in_loss(price), loss_cost(instance, price)


def value_at(lattice: Lattice, costs: Costs, multiplier: float) -> float:
    """What the best partition is worth, in trips."""
    room = np.empty((len(lattice), 4), dtype=np.int64), np.empty(len(lattice), dtype=np.int8)
    K, C = lattice.decide(costs, multiplier * costs.unit, *room)
    return multiplier * K - C / costs.unit


@given(instances(3, 3), promises, objectives)
def test_no_guillotine_partition_is_better_at_any_multiplier(
    instance: Instance, promise: AtgLattice, objective: tuple[str, float]
):
    assume(map_is_large_enough(instance, promise))
    lattice, costs, cost = costs_of(instance, promise, objective)
    every, flow = partitions(instance), worth(instance, promise, cost)
    for multiplier in MULTIPLIERS:
        best = max(sum(flow(o, d, multiplier) for o, d in partition) for partition in every)
        assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)


@given(instances(7, 7), promises, objectives, st.sampled_from(MULTIPLIERS), st.booleans())
def test_the_value_is_that_of_the_plain_recursion(
    instance: Instance, promise: AtgLattice, objective: tuple[str, float], multiplier: float, in_parts: bool
):
    assume(map_is_large_enough(instance, promise))
    with patch.object(products, "_WHOLE_UP_TO", 3 if in_parts else 20_000):
        lattice, costs, cost = costs_of(instance, promise, objective)
    best = recursion(instance, promise, cost, multiplier)
    assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)


@given(instances(7, 7), promises, objectives, st.integers(2, 9), st.booleans())
def test_below_its_limit_a_part_of_the_lattice_is_as_good_as_the_whole(
    instance: Instance, promise: AtgLattice, objective: tuple[str, float], limit: int, in_parts: bool
):
    assume(map_is_large_enough(instance, promise))
    whole, costs, _ = costs_of(instance, promise, objective)
    with patch.object(products, "_WHOLE_UP_TO", 3 if in_parts else 20_000):
        part = Lattice.of(whole.problem, counted=True, limit=limit)
    of_part = part.in_tiles() if objective[0] == "tiles" else part.in_loss(objective[1])
    assert len(part) <= len(whole)
    assert part.is_whole or of_part.top <= limit * of_part.unit * (objective[1] or 1)
    for multiplier in MULTIPLIERS:
        if multiplier * of_part.unit <= of_part.top:
            assert value_at(part, of_part, multiplier) == pytest.approx(value_at(whole, costs, multiplier), abs=1e-6)


def caterpillar(n: int) -> Hierarchy:
    """Every tile but the last beside all that come after it."""
    label = [f"t{i}" for i in range(n)] + [f"n{i}" for i in range(n - 1)]
    inner = np.arange(n, 2 * n - 1)
    return Hierarchy.from_parents(label, [*inner, inner[-1], -1, *inner[:-1]], kind="caterpillar")


@pytest.mark.parametrize("objective", ["tiles", "loss"])
def test_deep_trees_are_solved_in_parts_that_fit_in_memory(objective: str, monkeypatch: pytest.MonkeyPatch):
    tree, rng = caterpillar(600), np.random.default_rng(4)
    ends = np.minimum(rng.geometric(0.05, (2, 8000)), 600) - 1  # most of them deep down
    ends[:, ::50] = rng.integers(0, 600, (2, 160))
    od = ODMatrix.from_arrays(*ends, rng.integers(1, 4, 8000))
    plugin = AtgLattice(unit="trips", objective=objective, suppression=0.2, rests=False)
    whole = plugin.anonymize(od, tree, tree)
    size = len(Lattice.of(Problem(od, tree, tree, plugin), counted=True))
    monkeypatch.setattr(products, "_MOST", size // 2)
    part = plugin.anonymize(od, tree, tree)
    assert part.metrics["lambda"] == pytest.approx(whole.metrics["lambda"])
    assert part.metrics["Gbar"] == pytest.approx(whole.metrics["Gbar"], rel=0.02)
    assert part.metrics["S"] <= plugin.budget(od.volume)
    with_rests = promise_with(plugin, rests=True).anonymize(od, tree, tree)
    assert with_rests.metrics["S"] < plugin.k


RIVALS = (AtgDual, AtgHomogeneous, Oigh, OdkAnon)


def rival_lines(instance: Instance, promise: AtgLattice) -> Iterator[tuple[int, int]]:
    """(K, A) of what the other tree algorithms publish under the same promise."""
    sides = instance.od, instance.origins, instance.destinations
    problem = Problem(*sides, joint.AtgJoint(k=promise.k, unit=promise.unit, suppression=promise.suppression))
    for solution in (joint.solve(problem), joint.solve(problem.transposed)):
        yield solution.K, solution.A
    asked = {"k": promise.k, "unit": promise.unit, "suppression": promise.suppression}
    levels = range(int(max(instance.origins.level.max(), instance.destinations.level.max())) + 1)
    rivals = [*(cls(**asked) for cls in RIVALS), *(UniformLevel(level=level, **asked) for level in levels)]
    for rival in rivals:
        try:
            release = rival.anonymize(*sides)
        except OdanonError:  # no release within the budget, or none that it can find
            continue
        yield instance.od.volume - release.metrics["S"], release.metrics["G"]


@given(instances(6, 6), st.sampled_from(["trips", "persons"]), st.integers(2, 6), st.sampled_from([0.0, 0.1, 0.3]))
def test_no_other_tree_algorithm_is_better_at_any_multiplier(instance: Instance, unit: str, k: int, suppression: float):
    promise = AtgLattice(k=k, unit=unit, suppression=suppression)
    assume(possible(instance, promise))
    lattice, costs, _ = costs_of(instance, promise, ("tiles", 0.0))
    lines = list(rival_lines(instance, promise))
    for multiplier in MULTIPLIERS:
        best = value_at(lattice, costs, multiplier)
        assert all(multiplier * K - A <= best + 1e-6 for K, A in lines)


def anonymized(instance: Instance, promise: AtgLattice, **changes):
    return promise_with(promise, **changes).anonymize(instance.od, instance.origins, instance.destinations)


def promise_with(promise: AtgLattice, **changes) -> AtgLattice:
    return AtgLattice(**{**parameters_of(promise), **changes})


@given(instances(), promises, st.sampled_from(["tiles", "loss"]))
def test_release_keeps_its_promise(instance: Instance, promise: AtgLattice, objective: str):
    assume(possible(instance, promise))
    release = anonymized(instance, promise, objective=objective, rests=False)
    assert_keeps_promise(instance, release, promise)


@given(instances(), promises, objectives)
def test_the_rest_of_the_budget_makes_the_optimum_better(
    instance: Instance, promise: AtgLattice, objective: tuple[str, float]
):
    assume(possible(instance, promise))
    lattice, costs, _ = costs_of(instance, promise, objective)
    found = lattice.find(costs)
    decisions = lattice.decisions(costs, found)
    published = (decisions.parent >= 0) & (decisions.choice == 0)
    K, C = int(lattice.products.volume[published].sum()), int(costs.cost[published].sum())
    assert lattice.problem.least <= K <= found.right.K
    assert found.bound(lattice.problem.least) - 1e-6 * costs.unit <= C <= found.right.A


@given(instances(), promises)
def test_loss_is_the_reconstruction_loss_of_the_release(instance: Instance, promise: AtgLattice):
    assume(possible(instance, promise) and promise.contribution_cap is None)
    release = anonymized(instance, promise, tile_price=0.0, rests=False)
    cost = loss_cost(instance, 0.0)
    at = {label: node for node, label in enumerate(instance.origins.label)}
    to = {label: node for node, label in enumerate(instance.destinations.label)}
    lost = sum(cost(at[flow.origin], to[flow.destination]) for flow in release.flows.itertuples())
    E = (lost + release.metrics["S"]) / instance.od.volume
    assert Reconstruction().evaluate(instance.od, release)["E"] == pytest.approx(E)


@given(instances(), promises, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(instance: Instance, promise: AtgLattice, random):
    assume(possible(instance, promise))
    assert_row_order_does_not_matter(instance, promise, random)


@pytest.mark.parametrize("unit", ["trips", "persons"])
def test_threads_do_not_matter(unit: str, monkeypatch: pytest.MonkeyPatch):
    tree, rng = two_levels(12), np.random.default_rng(5)
    ends = rng.integers(0, 144, (2, 30_000))
    od = ODMatrix.from_arrays(*ends, rng.integers(1, 9, 30_000), rng.integers(0, 900, 30_000))
    monkeypatch.setattr(products, "_WHOLE_UP_TO", 500)
    both = AtgLattice(unit=unit).anonymize(od, tree, tree)
    monkeypatch.setattr(threads, "THREADS", 1)
    one = AtgLattice(unit=unit).anonymize(od, tree, tree)
    assert both.flows.equals(one.flows)
    assert both.metrics == one.metrics


def test_room_grows_as_needed_and_no_further_than_memory(monkeypatch: pytest.MonkeyPatch):
    tree, rng = two_levels(8), np.random.default_rng(3)
    od = ODMatrix.from_arrays(*rng.integers(0, 64, (2, 3000)), rng.integers(1, 9, 3000))
    plain = AtgLattice(unit="trips").anonymize(od, tree, tree)
    monkeypatch.setattr(products, "_FIRST_ROOM", 1)
    assert AtgLattice(unit="trips").anonymize(od, tree, tree).flows.equals(plain.flows)
    monkeypatch.setattr(products, "_MOST", 0)
    with pytest.raises(OdanonError, match="do not fit in memory"):
        AtgLattice(unit="trips").anonymize(od, tree, tree)


def test_small_volumes_are_refused():
    with pytest.raises(ValueError, match="as rests"):
        AtgLattice(report_small=True)


def test_a_price_of_nothing_buys_loss_with_tiles():
    tree, rng = two_levels(6), np.random.default_rng(7)
    od = ODMatrix.from_arrays(*rng.integers(0, 36, (2, 900)), rng.geometric(0.3, 900))
    made = {price: AtgLattice(unit="trips", tile_price=price, rests=False) for price in (0.0, 0.05, 1.0)}
    releases = [plugin.anonymize(od, tree, tree) for plugin in made.values()]
    losses = [Reconstruction().evaluate(od, release)["E"] for release in releases]
    assert losses == sorted(losses)
    assert [release.metrics["Gbar"] for release in releases] == sorted(
        (r.metrics["Gbar"] for r in releases), reverse=True
    )
