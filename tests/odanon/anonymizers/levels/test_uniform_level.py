"""Uniform aggregation and suppression only: the published cells are those that reach k, the budget is kept or told."""

import re
from collections.abc import Iterable

import numpy as np
import pytest
from enumeration import Instance, assert_keeps_promise, instances, limits, map_is_large_enough
from hypothesis import assume, given
from lattice import Cut, path, published

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.levels.suppression import Suppression
from odanon.anonymizers.levels.uniform import UniformLevel
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.plugin import parameters_of
from odanon.testing import check_anonymizer


def at_level(tree: Hierarchy, level: int) -> Cut:
    """Every tile's highest ancestor that is not above the level, or the tile itself where it ends above."""
    return {[n for n in path(tree, int(tile)) if tree.level[n] >= level or n == tile][-1] for tile in tree.tiles}


def needed(instance: Instance, promise: Anonymizer, cuts: tuple[Cut, Cut]) -> int:
    """Trips that the cells of two cuts leave out."""
    return instance.od.volume - published(instance, promise, *cuts)[0]


def cuts_by_level(instance: Instance) -> dict[int, tuple[Cut, Cut]]:
    """Both sides at every level, finest first."""
    depth = max(int(tree.level.max()) for tree in (instance.origins, instance.destinations))
    return {
        level: (at_level(instance.origins, level), at_level(instance.destinations, level))
        for level in range(depth, -1, -1)
    }


def released(instance: Instance, promise: UniformLevel | Suppression):
    return promise.anonymize(instance.od, instance.origins, instance.destinations)


@given(instances(7, 7), limits(UniformLevel))
def test_auto_takes_the_finest_level_within_the_budget(instance: Instance, promise: UniformLevel):
    assume(map_is_large_enough(instance, promise) and promise.units_in(instance.od) >= promise.k)
    budget = promise.budget(instance.od.volume)
    fine: Iterable[int] = (
        level for level, cuts in cuts_by_level(instance).items() if needed(instance, promise, cuts) <= budget
    )
    finest = next(iter(fine), None)
    if finest is None:
        with pytest.raises(OdanonError, match="no level stays within the budget"):
            released(instance, promise)
        return
    release = released(instance, promise)
    assert release.metrics["level"] == finest
    assert_keeps_promise(instance, release, promise)


@given(instances(6, 6), limits(UniformLevel))
def test_a_given_level_or_tile_pairs_are_published_or_a_share_that_is_enough_is_told_with_one_digit(
    instance: Instance, base: UniformLevel
):
    assume(map_is_large_enough(instance, base) and base.units_in(instance.od) >= base.k)
    volume = instance.od.volume
    shared = {name: value for name, value in parameters_of(base).items() if name != "level"}
    tiles = {int(tile) for tile in instance.origins.tiles}, {int(tile) for tile in instance.destinations.tiles}
    choices: list[tuple[type, dict, tuple[Cut, Cut]]] = (
        [(Suppression, {}, tiles)] if base.min_tiles == base.min_visited == 1 else []
    )
    choices += [(UniformLevel, {"level": level}, cuts) for level, cuts in cuts_by_level(instance).items()]
    for cls, extra, cuts in choices:
        lost = needed(instance, base, cuts)
        if lost <= base.budget(volume):
            release = released(instance, cls(**shared, **extra))
            assert release.metrics["S"] == lost
            assert_keeps_promise(instance, release, base)
            continue
        with pytest.raises(OdanonError) as refusal:
            released(instance, cls(**shared, **extra))
        if lost > 0.99 * volume:
            assert "no flow between" in str(refusal.value)
            continue
        told = re.search(r"suppression: ([0-9.]+)", str(refusal.value))
        assert told is not None
        allowing = cls(**{**shared, "suppression": float(told[1])}, **extra)
        assert lost <= allowing.budget(volume)
        assert told[1] == "0.99" or len(told[1].lstrip("0.")) == 1
        assert released(instance, allowing).metrics["S"] == lost


TREE = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c"], [-1, 0, 0, 1, 1, 2], kind="test")


def flows(promise: Anonymizer, rows: list[tuple[str, str, int]]) -> list[list]:
    origin, destination, trips = zip(*rows, strict=True)
    od = ODMatrix.from_arrays(TREE.ranks(origin), TREE.ranks(destination), np.array(trips))
    table = promise.anonymize(od, TREE, TREE).flows  # type: ignore[attr-defined]
    return table[["origin", "destination", "trips"]].to_numpy().tolist()


def test_cells_of_k_minus_1_are_suppressed_and_cells_of_k_are_not():
    rows = [("a", "c", 4), ("b", "c", 5), ("c", "c", 6)]
    assert flows(Suppression(k=5, unit="trips", suppression=0.3), rows) == [["b", "c", 5], ["c", "c", 6]]
    assert flows(UniformLevel(k=5, unit="trips", level=1, suppression=0), rows) == [["x", "y", 9], ["y", "y", 6]]
    assert flows(UniformLevel(k=5, unit="trips", level=2, suppression=0.3), rows) == [["b", "c", 5], ["c", "c", 6]]


def test_the_budget_is_tested_after_small_volumes_are_reported():
    rows = [("a", "a", 9), ("a", "b", 3), ("a", "c", 3), ("b", "b", 9), ("c", "c", 9)]
    fine = [["a", "a", 9], ["b", "b", 9], ["c", "c", 9]]
    told = flows(UniformLevel(k=5, unit="trips", suppression=0, report_small=True), rows)
    assert [flow for flow in told if not flow[1].startswith("rest of")] == fine
    assert [flow[2] for flow in told if flow[1].startswith("rest of a")] == [6]
    assert flows(UniformLevel(k=5, unit="trips", suppression=0), rows) == [["r", "r", 33]]
    asked = {"k": 5, "unit": "trips", "suppression": 0, "report_small": True}
    for promise in (UniformLevel(level=2, **asked), Suppression(**asked)):
        assert sum(flow[2] for flow in flows(promise, rows)) == 33


def test_a_single_flow_and_areas_of_one_tile():
    assert flows(Suppression(k=5, unit="trips"), [("a", "c", 5)]) == [["a", "c", 5]]
    assert flows(UniformLevel(k=5, unit="trips"), [("a", "c", 5)]) == [["a", "c", 5]]
    assert flows(UniformLevel(k=5, unit="trips", level=1), [("c", "c", 5)]) == [["y", "y", 5]]


def test_all_flows_below_k():
    rows = [("a", "a", 2), ("b", "b", 2), ("c", "c", 2), ("a", "c", 2)]
    assert flows(UniformLevel(k=5, unit="trips"), rows) == [["r", "r", 8]]
    with pytest.raises(OdanonError, match="no flow between tile pairs keeps the promise"):
        flows(Suppression(k=5, unit="trips", suppression=0.9), rows)


def test_a_level_that_the_hierarchy_does_not_have_is_refused():
    for level in (-1, 3):
        with pytest.raises(OdanonError, match=f"no level {level}; choose one from 0 to 2"):
            flows(UniformLevel(k=2, unit="trips", level=level), [("a", "c", 5)])


@pytest.mark.thorough
def test_conformance_of_uniform_with_small_volumes_reported():
    check_anonymizer(UniformLevel, report_small=True)


@pytest.mark.thorough
def test_conformance_of_a_given_level():
    check_anonymizer(UniformLevel, level=0)


def test_conformance_of_methods_that_refuse_what_exceeds_the_budget():
    check_anonymizer(UniformLevel, level=1, may_refuse=True)
    check_anonymizer(Suppression, may_refuse=True)
