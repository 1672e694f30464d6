"""Rests of ATG-Lattice: what the optimum suppresses, told as coarsely as the promise asks and no more."""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from unittest.mock import patch

import numpy as np
from enumeration import Instance, allowed, counted_trips, instances, limits, possible, units
from hypothesis import assume, given
from hypothesis import strategies as st

from odanon.anonymizers.lattice import lattice
from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.lattice.solver import Lattice
from odanon.anonymizers.trees.problem import Problem
from odanon.model.release import Release

promises = limits(AtgLattice)


def in_parts(problem: Problem, counted: bool) -> Iterator[Lattice]:
    """As where the whole lattice does not fit in memory."""
    return (Lattice.of(problem, counted, limit) for limit in count(2))


def anonymized(instance: Instance, promise: AtgLattice, parts: bool) -> Release:
    with patch.object(lattice, "lattices", in_parts) if parts else nullcontext():
        return promise.anonymize(instance.od, instance.origins, instance.destinations)


def regions(instance: Instance, release: Release) -> list[np.ndarray]:
    """The matrix rows between the areas of every row of a release, whoever counts them."""
    at = {label: node for node, label in enumerate(instance.origins.label)}
    to = {label: node for node, label in enumerate(instance.destinations.label)}
    return [instance.below(at[flow.origin], to[flow.destination]) for flow in release.flows.itertuples()]


def own_rows(instance: Instance, release: Release) -> np.ndarray:
    """The release row of every matrix row, -1 = left out."""
    return release.assignment["flow"].to_numpy()[instance.od.row_pair]


@given(instances(), promises, st.booleans())
def test_every_rest_keeps_the_promise_by_what_no_finer_row_counts(instance: Instance, promise: AtgLattice, parts: bool):
    assume(possible(instance, promise))
    release, od = anonymized(instance, promise, parts), instance.od
    owner, inside = own_rows(instance, release), regions(instance, release)
    smallest = [
        min(range(len(inside)), key=lambda i: (not inside[i][row], inside[i].sum()), default=-1)
        for row in range(len(owner))
    ]
    for number, flow in enumerate(release.flows.itertuples()):
        mine = owner == number
        assert allowed(od, mine, promise)
        assert flow.trips == sum(counted_trips(od, mine, promise))
        assert flow.persons == len(set(od.person[mine].tolist()))
        assert promise.min_tiles <= min(flow.origin_tiles, flow.destination_tiles)
        assert max(flow.origin_tiles, flow.destination_tiles) <= (promise.max_tiles or 10**9)
        if flow.kind == "flow":
            assert np.array_equal(mine, inside[number])
    for row, number in enumerate(owner):  # innermost
        if number >= 0:
            assert inside[number][row]
            assert inside[number].sum() == inside[smallest[row]].sum()


@given(instances(), promises, st.booleans())
def test_rows_are_disjoint_or_inside_a_rest(instance: Instance, promise: AtgLattice, parts: bool):
    assume(possible(instance, promise))
    release = anonymized(instance, promise, parts)
    T, U = instance.origins, instance.destinations
    at = {label: node for node, label in enumerate(T.label)}
    to = {label: node for node, label in enumerate(U.label)}
    rows = [(at[flow.origin], to[flow.destination], flow.kind) for flow in release.flows.itertuples()]
    for i, (o, d, kind) in enumerate(rows):
        for o2, d2, _ in rows[:i] + rows[i + 1 :]:
            meet = (T.is_ancestor(o, o2) or T.is_ancestor(o2, o)) and (U.is_ancestor(d, d2) or U.is_ancestor(d2, d))
            within = T.is_ancestor(o, o2) and U.is_ancestor(d, d2)
            without = T.is_ancestor(o2, o) and U.is_ancestor(d2, d)
            assert not meet or within or without
            assert not within or kind == "rest"


@given(instances(), promises, st.booleans())
def test_only_what_falls_short_at_the_top_is_left_out(instance: Instance, promise: AtgLattice, parts: bool):
    assume(possible(instance, promise))
    assume(promise.max_tiles is None and promise.max_dominance is None)  # else the top may publish nothing
    release = anonymized(instance, promise, parts)
    left_out = own_rows(instance, release) < 0
    assert not left_out.any() or not allowed(instance.od, left_out, promise)
    if promise.unit == "trips" and promise.min_visited == 1:
        assert units(instance.od, left_out, promise) < promise.k


@given(instances(), promises)
def test_rests_change_no_flow(instance: Instance, promise: AtgLattice):
    assume(possible(instance, promise))
    parameters = {
        "k": promise.k,
        "unit": promise.unit,
        "suppression": promise.suppression,
        "k_population": promise.k_population,
    }
    sides = instance.od, instance.origins, instance.destinations
    without = AtgLattice(**parameters, rests=False).anonymize(*sides).flows
    flows = AtgLattice(**parameters).anonymize(*sides).flows
    flows = flows[flows["kind"] == "flow"]
    shown = ["origin", "destination", "trips", "persons"]
    assert flows[shown].astype(str).values.tolist() == without[shown].astype(str).values.tolist()
