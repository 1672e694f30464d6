"""The lattice over two trees and times, against all guillotine partitions of small products."""

from unittest.mock import patch

import numpy as np
import pytest
from enumeration import MULTIPLIERS, limits, map_is_large_enough
from guillotine_in_time import (
    Cost,
    TimedInstance,
    in_loss,
    in_tiles,
    partitions,
    recursion,
    timed_instances,
    worth,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from odanon.anonymizers.lattice import products
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.lattice.solver import Costs, Lattice
from odanon.anonymizers.trees.problem import Problem

promises = limits(AtgLattice)
objectives = st.sampled_from([("tiles", 0.0), ("loss", 0.0), ("loss", 0.03), ("loss", 0.5)])


def costs_of(instance: TimedInstance, promise: AtgLattice, objective: tuple[str, float]) -> tuple[Lattice, Costs, Cost]:
    """The lattice with its costs, and the same costs flow by flow."""
    lattice = Lattice.of(Problem(instance.od, instance.origins, instance.destinations, promise), counted=True)
    name, price = objective
    if name == "tiles":
        return lattice, lattice.in_tiles(), in_tiles(instance)
    return lattice, lattice.in_loss(price), in_loss(instance, price)


def value_at(lattice: Lattice, costs: Costs, multiplier: float) -> float:
    """What the best partition is worth, in trips."""
    room = np.empty((len(lattice), 8), dtype=np.int64), np.empty(len(lattice), dtype=np.int8)
    K, C = lattice.decide(costs, multiplier * costs.unit, *room)
    return multiplier * K - C / costs.unit


@settings(max_examples=30, deadline=None)
@given(timed_instances(2, 2, 2), promises, objectives)
def test_no_guillotine_partition_in_space_and_time_is_better_at_any_multiplier(
    instance: TimedInstance, promise: AtgLattice, objective: tuple[str, float]
):
    assume(map_is_large_enough(instance, promise))
    lattice, costs, cost = costs_of(instance, promise, objective)
    every, flow = partitions(instance), worth(instance, promise, cost)
    for multiplier in MULTIPLIERS:
        best = max(sum(flow(node, multiplier) for node in partition) for partition in every)
        assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(timed_instances(4, 4, 4), promises, objectives, st.sampled_from(MULTIPLIERS), st.booleans())
def test_the_value_is_that_of_the_plain_recursion(
    instance: TimedInstance, promise: AtgLattice, objective: tuple[str, float], multiplier: float, in_parts: bool
):
    assume(map_is_large_enough(instance, promise))
    with patch.object(products, "_WHOLE_UP_TO", 3 if in_parts else 20_000):
        lattice, costs, cost = costs_of(instance, promise, objective)
    best = recursion(instance, promise, cost, multiplier)
    assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)
