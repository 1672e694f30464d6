"""The lattice over two trees and times, against all guillotine partitions of small products."""

from unittest.mock import patch

import numpy as np
import pytest
from enumeration import MULTIPLIERS, allowed, counted_trips, limits, map_is_large_enough, possible
from guillotine_in_time import (
    Cost,
    TimedInstance,
    in_loss,
    in_tiles,
    one_pair_in_time,
    partitions,
    recursion,
    timed_instances,
    worth,
)
from hypothesis import assume, example, given
from hypothesis import strategies as st

from odanon.anonymizers.lattice import products
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.lattice.solver import Costs, Lattice
from odanon.anonymizers.trees.problem import Problem
from odanon.door import release
from odanon.errors import OdanonError
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.release import Release
from odanon.plugin import parameters_of

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


@given(timed_instances(2, 2, 2), promises, objectives)
def test_no_guillotine_partition_in_space_and_time_is_better_at_any_multiplier(
    instance: TimedInstance, promise: AtgLattice, objective: tuple[str, float]
):
    assume(map_is_large_enough(instance, promise))
    assume(np.prod([len(tree) for tree in instance.trees]) <= 27)  # a chain in each tree, and there are too many
    lattice, costs, cost = costs_of(instance, promise, objective)
    every, flow = partitions(instance), worth(instance, promise, cost)
    for multiplier in MULTIPLIERS:
        best = max(sum(flow(node, multiplier) for node in partition) for partition in every)
        assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)


@given(timed_instances(4, 4, 4), promises, objectives, st.sampled_from(MULTIPLIERS), st.booleans())
def test_the_value_is_that_of_the_plain_recursion(
    instance: TimedInstance, promise: AtgLattice, objective: tuple[str, float], multiplier: float, in_parts: bool
):
    assume(map_is_large_enough(instance, promise))
    with patch.object(products, "_WHOLE_UP_TO", 3 if in_parts else 20_000):
        lattice, costs, cost = costs_of(instance, promise, objective)
    best = recursion(instance, promise, cost, multiplier)
    assert value_at(lattice, costs, multiplier) == pytest.approx(best, abs=1e-6)


def through_the_door(instance: TimedInstance, promise: AtgLattice) -> Release:
    """The release, which the verifier accepted."""
    made = release({0: instance.od}, instance.origins, promise, destinations=instance.destinations, metrics=())
    return made.releases[0]


def boxes(instance: TimedInstance, made: Release) -> list[tuple[slice, slice, slice]]:
    """The ranks of tiles and bins that every row is a product of."""
    sides = zip(instance.trees, ("origin", "destination", "time"), strict=True)
    at = [[{name: n for n, name in enumerate(tree.label)}[label] for label in made.flows[side]] for tree, side in sides]
    return [
        tuple(slice(tree.tile_start[n], tree.tile_end[n]) for tree, n in zip(instance.trees, nodes, strict=True))
        for nodes in zip(*at, strict=True)
    ]


def owners(instance: TimedInstance, made: Release) -> np.ndarray:
    """The innermost row around every cell, -1 for none; rows are disjoint, or inside a rest."""
    found, kind = np.full([tree.n_leaves for tree in instance.trees], -1), made.flows["kind"].to_numpy()
    places = boxes(instance, made)
    size = {number: found[place].size for number, place in enumerate(places)}
    for number in sorted(size, key=lambda each: -size[each]):
        around = set(np.unique(found[places[number]])) - {-1}
        assert len(around) <= 1
        assert all(kind[outer] == "rest" and size[outer] > size[number] for outer in around)
        found[places[number]] = number
    return found


@given(timed_instances(4, 4, 4), promises, st.booleans())
def test_what_passes_the_door_keeps_the_promise_in_three_dimensions(
    instance: TimedInstance, promise: AtgLattice, rests: bool
):
    assume(possible(instance, promise))
    promise = AtgLattice(**{**parameters_of(promise), "rests": rests})
    made, od = through_the_door(instance, promise), instance.od
    owner = owners(instance, made)[od.origin, od.destination, od.time]
    assert np.array_equal(owner, made.assignment["flow"].to_numpy()[od.row_pair])
    for number, flow in enumerate(made.flows.itertuples()):
        mine = owner == number
        assert allowed(od, mine, promise)
        assert flow.trips == sum(counted_trips(od, mine, promise))
        assert flow.persons == len(set(od.person[mine].tolist()))
    lost = int(od.trips[owner < 0].sum())
    assert lost == made.metrics["S"]
    assert rests or lost <= promise.budget(od.volume)


@given(timed_instances(4, 4, 4), st.booleans())
@example(instance=one_pair_in_time([4, 1, 0]), rests=False)  # the second bin is worth more than all tiles of all trips
def test_the_loss_is_that_of_single_cells_in_space_and_time(instance: TimedInstance, rests: bool):
    """Every row spreads over the cells that it counts, bins in proportion to their lengths."""
    promise = AtgLattice(k=4, unit="trips", rests=rests)
    assume(possible(instance, promise))
    assume(all(tree.n_tiles[-1] == tree.n_leaves for tree in instance.trees[:2]))
    made, od = through_the_door(instance, promise), instance.od
    owner = owners(instance, made)
    weight = np.broadcast_to(od.times.weight, owner.shape)
    given_back, truth = np.zeros(owner.shape), np.zeros(owner.shape)
    np.add.at(truth, (od.origin, od.destination, od.time), od.trips)
    for number, trips in enumerate(made.flows["trips"]):
        mine = owner == number
        given_back[mine] = trips * weight[mine] / weight[mine].sum()
    E = np.abs(given_back - truth).sum() / od.volume
    assert Reconstruction().evaluate(od, made)["E"] == pytest.approx(E)


class Leaver(AtgLattice):
    """Says that it may leave pairs out of its flows."""

    leaves_out = True


@given(timed_instances(3, 3, 3))
def test_who_leaves_pairs_out_of_flows_splits_no_time(instance: TimedInstance):
    """Later audits find out from areas and intervals alone what a flow counts."""
    origins, destinations, _ = instance.trees
    with pytest.raises(OdanonError, match="splits no time"):
        release({None: instance.od}, origins, Leaver(k=2, unit="trips"), destinations=destinations)
