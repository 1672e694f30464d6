"""Datafly: the same walk up the levels as the heuristic taken literally."""

import numpy as np
import pytest
from enumeration import Instance, assert_keeps_promise, instances, limits, map_is_large_enough
from hypothesis import assume, given
from lattice import Cut, levels, path, within

from odanon.anonymizers.levels.datafly import Datafly
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix


def distinct(tree: Hierarchy, cut: Cut, ranks: np.ndarray) -> int:
    """Areas of a cut that appear in the table."""
    return len({next(node for node in path(tree, int(tree.tiles[rank])) if node in cut) for rank in ranks})


def walk(instance: Instance, promise: Datafly) -> tuple[int, int] | None:
    """Raise the side with more distinct values until the budget holds; None where the top does not."""
    origins, destinations = levels(instance.origins), levels(instance.destinations)
    t = u = 0
    while not within(instance, promise, origins[t], destinations[u]):
        more = distinct(instance.origins, origins[t], instance.od.origin) >= distinct(
            instance.destinations, destinations[u], instance.od.destination
        )
        at_top = t == len(origins) - 1, u == len(destinations) - 1
        if all(at_top):
            return None
        if (more and not at_top[0]) or at_top[1]:
            t += 1
        else:
            u += 1
    return t, u


@given(instances(7, 7), limits(Datafly))
def test_levels_are_those_of_the_heuristic(instance: Instance, promise: Datafly):
    assume(map_is_large_enough(instance, promise) and promise.units_in(instance.od) >= promise.k)
    found = walk(instance, promise)
    if found is None:
        with pytest.raises(OdanonError, match="no level stays within the budget"):
            promise.anonymize(instance.od, instance.origins, instance.destinations)
        return
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    assert (release.metrics["origin_level"], release.metrics["destination_level"]) == found
    assert_keeps_promise(instance, release, promise)


TREE = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2], kind="test")


def test_the_side_with_more_values_goes_up_first_and_origins_where_equal():
    def levels_for(origins: list[str], destinations: list[str]) -> tuple[int, int]:
        od = ODMatrix.from_arrays(TREE.ranks(origins), TREE.ranks(destinations), np.full(len(origins), 2))
        metrics = Datafly(k=4, unit="trips", suppression=0).anonymize(od, TREE, TREE).metrics
        return metrics["origin_level"], metrics["destination_level"]

    assert levels_for(["a", "b", "c", "d"], ["a", "a", "a", "a"]) == (1, 0)
    assert levels_for(["a", "a", "a", "a"], ["a", "b", "c", "d"]) == (0, 1)
    assert levels_for(["a", "b", "a", "b"], ["a", "a", "b", "b"]) == (1, 0)
    assert levels_for(["a", "b"], ["a", "b"]) == (1, 1)


@pytest.mark.parametrize(("trips", "level"), [(4, 1), (5, 0), (6, 0)])
def test_a_flow_of_k_minus_1_trips_is_raised_and_one_of_k_is_not(trips: int, level: int):
    od = ODMatrix.from_arrays(TREE.ranks(["a", "b"]), TREE.ranks(["a", "a"]), np.array([trips, 9]))
    release = Datafly(k=5, unit="trips", suppression=0).anonymize(od, TREE, TREE)
    assert (release.metrics["origin_level"], release.metrics["destination_level"]) == (level, 0)
