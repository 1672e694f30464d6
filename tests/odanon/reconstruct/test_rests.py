"""Rests: which rest lies around every row, and what each row counts for itself, against dense tables of cells."""

import numpy as np
import pandas as pd
import pytest
import told_town
from enumeration import Instance, instances
from hypothesis import given
from hypothesis import strategies as st
from pooled import Pooled

from odanon.model.hierarchy import Hierarchy
from odanon.model.release import REST, Release
from odanon.reconstruct.even import over_ground
from odanon.reconstruct.rests import Regions


def dense_owner(made: Release, origins: Hierarchy, destinations: Hierarchy) -> np.ndarray:
    """By pair of tiles: the innermost row that holds it, -1 for none."""
    owner = np.full((origins.n_leaves, destinations.n_leaves), -1)
    size = np.full(owner.shape, np.inf)
    for number, block in enumerate(dense_blocks(made, origins, destinations)):
        held = owner[block]
        inner = held.size < size[block]
        owner[block] = np.where(inner, number, held)
        size[block] = np.where(inner, held.size, size[block])
    return owner


def dense_blocks(made: Release, origins: Hierarchy, destinations: Hierarchy) -> list[tuple]:
    ranks = [
        {label: tree.ranks(tree.members(node)) for node, label in enumerate(tree.label)}
        for tree in (origins, destinations)
    ]
    ends = zip(made.flows["origin"], made.flows["destination"], strict=True)
    return [np.ix_(ranks[0][origin], ranks[1][destination]) for origin, destination in ends]


@given(instances(), st.integers(2, 5))
def test_regions_are_those_of_dense_cells(instance: Instance, k: int) -> None:
    od, origins, destinations = instance.od, instance.origins, instance.destinations
    if (od.n_people or 0) < k:
        return
    made = Pooled(k=k).anonymize(od, origins, destinations)
    regions, owner = Regions.of(made), dense_owner(made, origins, destinations)
    blocks = dense_blocks(made, origins, destinations)
    rests = np.flatnonzero(made.flows["kind"] == REST)
    for number, block in enumerate(blocks):
        cells = {tuple(cell) for cell in np.argwhere(_mask(owner, block))}
        outer = [
            rest
            for rest in rests
            if rest != number and cells <= {tuple(cell) for cell in np.argwhere(_mask(owner, blocks[rest]))}
        ]
        innermost = min(outer, key=lambda rest: regions.whole[rest], default=-1)
        assert regions.around[number] == innermost
    if origins.coverage == destinations.coverage == "observed":
        assert regions.own.tolist() == [(owner == number).sum() for number in range(len(blocks))]
    assert (regions.own >= 1).all()
    assert (regions.share <= 1).all()


@given(instances(), st.integers(2, 5))
def test_layered_densities_add_up_to_the_innermost_row(instance: Instance, k: int) -> None:
    od, origins, destinations = instance.od, instance.origins, instance.destinations
    if (od.n_people or 0) < k:
        return
    made = Pooled(k=k).anonymize(od, origins, destinations)
    regions, volume = Regions.of(made), made.flows["trips"].to_numpy(float)
    layers = regions.layered(volume)
    total = np.zeros((origins.n_leaves, destinations.n_leaves))
    for block, layer in zip(dense_blocks(made, origins, destinations), layers, strict=True):
        total[block] += layer
    owner = dense_owner(made, origins, destinations)
    expected = np.append(volume / regions.own, 0.0)[owner]
    np.testing.assert_allclose(total, expected, atol=1e-9)
    assert np.isclose((layers * regions.whole).sum(), volume.sum())


def _mask(owner: np.ndarray, block: tuple) -> np.ndarray:
    mask = np.zeros(owner.shape, dtype=bool)
    mask[block] = True
    return mask


def test_a_place_without_trips_inside_a_rest_takes_off_what_the_rest_would_put_there() -> None:
    """Numbers with noise may be 0, in one segment or in all."""
    start = pd.Timestamp("2026-03-02", tz="UTC")
    rows = [("4:00", "rest", "all", 30), ("2:00", "flow", "F", 0), ("2:00", "flow", "M", 0), ("2:22", "flow", "all", 8)]
    flows = pd.DataFrame(rows, columns=["origin_zone", "kind", "segment", "trips"])
    flows = flows.assign(destination_zone="4:00", time_start=start, time_end=start + pd.Timedelta(hours=1))
    zones = told_town.zones_of(["2:00", "2:22", "4:00"])
    spread = over_ground(flows, zones, told_town.TREE)
    # The rest is of two quarters of the map, so it has 15 on each quarter that it leaves to others.
    assert spread == pytest.approx([60, -15, 0, 8 - 15], rel=1e-3)
