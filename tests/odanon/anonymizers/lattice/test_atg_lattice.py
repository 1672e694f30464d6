"""ATG-Lattice against all guillotine partitions of small products, and the properties that a release promises."""

from unittest.mock import patch

import numpy as np
import pytest
from enumeration import MULTIPLIERS, Instance, assert_keeps_promise, instances, limits, map_is_large_enough, possible
from guillotine import Cost, loss_cost, partitions, recursion, tiles_cost, worth
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from odanon.anonymizers.lattice import products
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.lattice.solver import Costs, Lattice
from odanon.anonymizers.trees.problem import Problem
from odanon.model.matrix import ODMatrix

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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60, deadline=None)
@given(instances(7, 7), promises, objectives, st.sampled_from(MULTIPLIERS), st.booleans())
def test_the_value_is_that_of_the_plain_recursion(
    instance: Instance, promise: AtgLattice, objective: tuple[str, float], multiplier: float, in_parts: bool
):
    assume(map_is_large_enough(instance, promise))
    with patch.object(products, "_WHOLE_UP_TO", 3 if in_parts else 20_000):
        lattice, costs, cost = costs_of(instance, promise, objective)
    best = recursion(instance, promise, cost, multiplier)
    assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)
