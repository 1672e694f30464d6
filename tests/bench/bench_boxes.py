"""Methods that work on places, and the quadtree knapsack, at the sizes of the papers.

CPU time in seconds and in units of `numpy.lexsort` of the same trips, measured in the same run. Targets: Mondrian on 1.67
million trips (the larger set of 002 Table 5.1) at most 30 x, the knapsack on a 64 x 64 grid seconds a matrix, Glove on 18
thousand flows minutes. The exit code tells whether they were met.
"""

import resource
import sys
import time
from typing import Any

import numpy as np
from generate import City, flows, person_rows

from odanon.anonymizers.atg.knapsack import QuadtreeKnapsack
from odanon.anonymizers.places.glove import Glove
from odanon.anonymizers.places.glove_sk import GloveSk
from odanon.anonymizers.places.mondrian import Mondrian
from odanon.hierarchies.quadtree import QuadtreeHierarchy
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.zoning.grid import GridZoning

MONDRIAN_LEXSORTS = 30
KNAPSACK_SECONDS = 10
GLOVE_SECONDS = 120


def placed(city: City) -> Hierarchy:
    """The tree of a city with its tiles 500 m apart, in Lyon."""
    tree = city.tree
    return tree.placed(tree.label[tree.tiles], 45.7 + 0.0045 * city.centre[:, 1], 4.8 + 0.0064 * city.centre[:, 0])


def measure(title: str, lexsort: float, plugin: Any, od: ODMatrix, tree: Hierarchy, most: float) -> bool:
    """Print CPU seconds, lexsorts, the release and the highest memory so far; a small matrix compiles everything first."""
    few = slice(0, 2000)
    person = None if od.person is None else od.person[few]
    plugin.anonymize(ODMatrix.from_arrays(od.origin[few], od.destination[few], od.trips[few], person), tree, tree)
    began = time.process_time()
    release = plugin.anonymize(od, tree, tree)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fine = seconds <= most
    print(
        f"{title:<44} {seconds:>7.2f} CPU-s {seconds / lexsort:>8.1f} x lexsort {len(release.flows):>8,} flows"
        f" Gbar {release.metrics['Gbar']:>8.2f} {peak:>6.0f} MB peak {'' if fine else '  TOO SLOW'}",
        flush=True,
    )
    return fine


def sorting(*keys: np.ndarray) -> float:
    """CPU seconds of one `numpy.lexsort`."""
    times = max(1, 1_000_000 // len(keys[0]))
    began = time.process_time()
    for _ in range(times):
        np.lexsort(keys)
    return (time.process_time() - began) / times


def mondrian() -> list[bool]:
    rng = np.random.default_rng(1)
    city = City.make(3600, rng)
    o, d, _, person = person_rows(city, 1_670_000, rng)
    lexsort = sorting(person, d, o)
    od = ODMatrix.from_arrays(o, d, np.ones(len(o), dtype=np.int64), person)
    most = MONDRIAN_LEXSORTS * lexsort
    return [
        measure(f"mondrian, 1.67 M trips, {unit}", lexsort, Mondrian(unit=unit), od, placed(city), most)
        for unit in ("persons", "trips")
    ]


def glove() -> list[bool]:
    rng = np.random.default_rng(1)
    city = City.make(1666, rng)
    o, d, trips = flows(city, 18_000, rng)
    od = ODMatrix.from_arrays(o, d, trips)
    return [
        measure(f"{name}, 18 k flows", sorting(d, o), plugin, od, placed(city), GLOVE_SECONDS)
        for name, plugin in (("glove", Glove(unit="trips")), ("glove-sk", GloveSk(unit="trips")))
    ]


def knapsack() -> list[bool]:
    """Hourly matrices as in 001: 64 x 64 tiles of 200 m, 30 thousand trips."""
    rng = np.random.default_rng(0)
    side = 64
    labels = [f"200mN{row + side}E{col + side}" for row in range(side) for col in range(side)]
    tree = QuadtreeHierarchy().build(GridZoning(cell_m=200, crs="EPSG:32618").tiles(labels))
    assert tree.lat is not None
    assert tree.lon is not None
    away = np.hypot(tree.lat - tree.lat.mean(), tree.lon - tree.lon.mean())
    pull = np.exp(-8 * away / away.max()) * rng.pareto(1.5, side**2)
    passed = []
    for n in (30_000, 100_000):
        o, d = rng.choice(side**2, (2, n), p=pull / pull.sum())
        od = ODMatrix.from_arrays(o, d, np.ones(n, dtype=np.int64))
        title, plugin = f"quadtree-knapsack, 64 x 64, {n:,} trips", QuadtreeKnapsack(k=11, unit="trips")
        passed.append(measure(title, sorting(d, o), plugin, od, tree, KNAPSACK_SECONDS))
    return passed


if __name__ == "__main__":
    sys.exit(0 if all([*knapsack(), *glove(), *mondrian()]) else 1)
