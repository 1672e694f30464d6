"""OIGH: the pair of levels is that of the whole lattice, whatever the limits."""

import numpy as np
import pytest
from enumeration import Instance, assert_keeps_promise, instances, limits, map_is_large_enough
from hypothesis import assume, given
from lattice import levels, published

from odanon.anonymizers.levels.oigh import Oigh
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.testing import check_anonymizer


@given(instances(7, 7), limits(Oigh))
def test_levels_are_the_lowest_of_the_lattice_then_the_cheapest(instance: Instance, promise: Oigh):
    assume(map_is_large_enough(instance, promise) and promise.units_in(instance.od) >= promise.k)
    volume = instance.od.volume
    found = []
    for t, origins in enumerate(levels(instance.origins)):
        for u, destinations in enumerate(levels(instance.destinations)):
            K, G = published(instance, promise, origins, destinations)
            if volume - K <= promise.budget(volume):
                found.append((t + u, G, t))
    if not found:
        with pytest.raises(OdanonError, match="no level stays within the budget"):
            promise.anonymize(instance.od, instance.origins, instance.destinations)
        return
    release = promise.anonymize(instance.od, instance.origins, instance.destinations)
    height, G, t = min(found)
    assert (release.metrics["origin_level"], release.metrics["destination_level"]) == (t, height - t)
    assert release.metrics["G"] == G
    assert_keeps_promise(instance, release, promise)


def deep_tree(n_tiles: int, rng: np.random.Generator) -> Hierarchy:
    """Neighbouring pairs joined at random: many steps."""
    label, parent = [f"t{i:03d}" for i in range(n_tiles)], [-1] * n_tiles
    tops = list(range(n_tiles))
    while len(tops) > 1:
        i = int(rng.integers(0, len(tops) - 1))
        label.append(f"w{len(label):03d}")
        parent.append(-1)
        parent[tops[i]] = parent[tops[i + 1]] = len(label) - 1
        tops[i : i + 2] = [len(label) - 1]
    return Hierarchy.from_parents(label, parent, kind="test")


@pytest.mark.parametrize("seed", range(3))
def test_runs_of_levels_that_cannot_be_lowest_are_not_looked_at(seed: int):
    rng = np.random.default_rng(seed)
    tree, n = deep_tree(60, rng), 2000
    od = ODMatrix.from_arrays(*(rng.integers(0, 60, (2, n)) ** 2 // 60), rng.integers(1, 3, n))
    promise = Oigh(k=6, unit="trips")
    instance = Instance(od, tree, tree)
    cuts = levels(tree)
    release = promise.anonymize(od, tree, tree)
    t, u = release.metrics["origin_level"], release.metrics["destination_level"]
    assert release.metrics["evaluations"] < len(cuts)
    for lower in range(t + u + 1):
        K, G = published(instance, promise, cuts[lower], cuts[min(t + u - lower, len(cuts) - 1)])
        assert od.volume - K > promise.budget(od.volume) or release.metrics["G"] <= G
        if lower < t + u:
            K, _ = published(instance, promise, cuts[lower], cuts[min(t + u - lower - 1, len(cuts) - 1)])
            assert od.volume - K > promise.budget(od.volume)


def test_one_step_up_an_uneven_tree_merges_the_smallest_parents_only():
    tree = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c", "d", "e"], [-1, 0, 0, 1, 1, 2, 2, 2], kind="test")
    uneven = Hierarchy.from_parents(["r", "x", "a", "b", "c"], [-1, 0, 1, 1, 0], kind="test")
    assert [sorted(tree.label[list(cut)]) for cut in levels(tree)][1] == ["x", "y"]
    assert [sorted(uneven.label[list(cut)]) for cut in levels(uneven)] == [["a", "b", "c"], ["c", "x"], ["r"]]
    od = ODMatrix.from_arrays(uneven.ranks(["a", "b", "c"]), uneven.ranks(["c", "c", "c"]), np.array([4, 4, 9]))
    release = Oigh(k=8, unit="trips", suppression=0).anonymize(od, uneven, uneven)
    assert release.flows[["origin", "destination", "trips"]].to_numpy().tolist() == [["c", "c", 9], ["x", "c", 8]]


def test_a_level_below_one_with_too_large_areas_is_found():
    tree = Hierarchy.from_parents(["r", "x", "y", "a", "b", "c", "d"], [-1, 0, 0, 1, 1, 2, 2], kind="test")
    od = ODMatrix.from_arrays(tree.ranks(["a", "b", "c", "d"]), tree.ranks(["a"] * 4), np.full(4, 2))
    metrics = Oigh(k=4, unit="trips", suppression=0, max_tiles=2).anonymize(od, tree, tree).metrics
    assert (metrics["origin_level"], metrics["destination_level"]) == (1, 0)


def test_conformance_with_small_volumes_reported():
    check_anonymizer(Oigh, report_small=True)
