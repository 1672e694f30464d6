"""Small random instances and full enumeration of their cuts: the truth that the optimisers are held against."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
from hypothesis import strategies as st

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

MULTIPLIERS = (0.0, 1.0, 2.0, 2.5, 3.0, 3.7, 4.0, 5.0, 6.3, 8.0, 11.0, 20.0, 400.0)


@st.composite
def trees(draw: st.DrawFn, max_tiles: int) -> Hierarchy:
    """Trees with unequal depths, wide and single-child nodes, sometimes with tiles that nobody visits."""
    n_tiles = draw(st.integers(1, max_tiles))
    label, parent = [f"t{i}" for i in range(n_tiles)], [-1] * n_tiles
    roots, chains = list(range(n_tiles)), draw(st.integers(0, 2))
    while len(roots) > 1 or chains > 0:
        arity = draw(st.integers(1 if chains > 0 else 2, 3))
        chains -= arity == 1
        chosen = [roots.pop(draw(st.integers(0, len(roots) - 1))) for _ in range(min(arity, len(roots)))]
        label.append(f"n{len(label)}")
        parent.append(-1)
        for node in chosen:
            parent[node] = len(label) - 1
        roots.append(len(label) - 1)
    tree = Hierarchy.from_parents(label, parent, kind="test")
    if not draw(st.booleans()):
        return tree
    extra = np.array([draw(st.integers(0, 2)) if size > 1 else 0 for size in tree.size])
    counts = tree.n_tiles.copy()
    for node in range(len(tree)):
        below = counts[tree.parent == node].sum()
        counts[node] = (below or 1) + extra[node]
    return Hierarchy(tree.parent, counts, tree.level, tree.label, "test", "full")


@dataclass(frozen=True)
class Instance:
    od: ODMatrix
    origins: Hierarchy
    destinations: Hierarchy

    @property
    def flipped(self) -> "Instance":
        od = self.od
        flipped = ODMatrix.from_arrays(od.destination, od.origin, od.trips, od.person, od.weight)
        return Instance(flipped, self.destinations, self.origins)

    @cached_property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.od.origin, self.od.destination, self.od.trips, self.od.person, self.od.weight

    def below(self, o: int, d: int) -> np.ndarray:
        """Rows of the matrix below a node pair."""
        od, T, U = self.od, self.origins, self.destinations
        return (
            (T.tile_start[o] <= od.origin)
            & (od.origin < T.tile_end[o])
            & (U.tile_start[d] <= od.destination)
            & (od.destination < U.tile_end[d])
        )

    def flow(self, o: int, d: int, promise: Anonymizer) -> tuple[int, int]:
        """(K, A) of a node pair, (0, 0) when it must be suppressed."""
        rows = self.below(o, d)
        volume = int(self.od.trips[rows].sum())
        if not volume or not allowed(self.od, rows, promise):
            return 0, 0
        sizes = int(self.origins.n_tiles[o]), int(self.destinations.n_tiles[d])
        if min(sizes) < promise.min_tiles or max(sizes) > (promise.max_tiles or 10**9):
            return 0, 0
        if promise.k_areas is not None and not self.areas_hold(o, d, promise):
            return 0, 0
        return volume, volume * sum(sizes)

    def areas_hold(self, o: int, d: int, promise: Anonymizer) -> bool:
        """Whether enough units leave the one node and enter the other, wherever they go to and come from."""
        leaving, entering = self.below(o, self.destinations.root), self.below(self.origins.root, d)
        return all(units(self.od, rows, promise) >= promise.k_areas for rows in (leaving, entering))

    def row_lines(self, o: int, promise: Anonymizer) -> set[tuple[int, int]]:
        """(K, A) of every destination cut of one origin node."""
        flows = [self.flow(o, d, promise) for d in range(len(self.destinations))]
        return {
            (sum(flows[d][0] for d in cut), sum(flows[d][1] for d in cut))
            for cut in cuts(self.destinations, self.destinations.root)
        }


def units(od: ODMatrix, rows: np.ndarray, promise: Anonymizer) -> int:
    """What k counts, with sets."""
    return int(od.trips[rows].sum()) if promise.unit == "trips" else len(set(od.person[rows].tolist()))


def allowed(od: ODMatrix, rows: np.ndarray, promise: Anonymizer) -> bool:
    """The promise of a flow."""
    enough = units(od, rows, promise) >= promise.k
    enough = (
        enough and min(len(set(side[rows].tolist())) for side in (od.origin, od.destination)) >= promise.min_visited
    )
    if promise.k_population is not None:
        enough = enough and float(od.weight[rows].sum()) >= promise.k_population
    if promise.max_dominance is not None:
        for counted in (counted_trips(od, rows, promise), weights(od, rows) if promise.unit == "population" else [0]):
            enough = enough and max(counted) <= promise.max_dominance * sum(counted)
    return enough


def weights(od: ODMatrix, rows: np.ndarray) -> list[float]:
    """What each person behind a flow weighs."""
    by_person: dict[int, float] = {}
    for person, weight in zip(od.person[rows].tolist(), od.weight[rows].tolist(), strict=True):
        by_person[person] = by_person.get(person, 0) + weight
    return list(by_person.values())


def counted_trips(od: ODMatrix, rows: np.ndarray, promise: Anonymizer) -> list[int]:
    """Trips of each person behind a flow, up to the cap."""
    by_person: dict[int, int] = {}
    for person, trips in zip(od.person[rows].tolist(), od.trips[rows].tolist(), strict=True):
        by_person[person] = by_person.get(person, 0) + trips
    return [min(trips, promise.contribution_cap or trips) for trips in by_person.values()]


def cuts(tree: Hierarchy, node: int) -> list[tuple[int, ...]]:
    """All partitions of a subtree into nodes."""
    children = np.flatnonzero(tree.parent == node).tolist()
    below = itertools.product(*(cuts(tree, child) for child in children)) if children else ()
    return [(node,), *(tuple(itertools.chain.from_iterable(parts)) for parts in below)]


@st.composite
def instances(draw: st.DrawFn, max_origins: int = 5, max_destinations: int = 6) -> Instance:
    """A matrix of few people with several trips each, over two random trees."""
    origins, destinations = draw(trees(max_origins)), draw(trees(max_destinations))
    row = st.tuples(
        st.integers(0, origins.n_leaves - 1),
        st.integers(0, destinations.n_leaves - 1),
        st.integers(1, 6),
        st.integers(0, 11),
        st.integers(1, 8),
    )
    rows = np.array(draw(st.lists(row, min_size=3, max_size=50)))
    od = ODMatrix.from_arrays(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] / 4)
    return Instance(od, origins, destinations)


def best_value(lines: set[tuple[int, int]], lambda_: float) -> float:
    return max(lambda_ * K - A for K, A in lines)


def assert_keeps_promise(instance: Instance, release: Release, promise: Anonymizer) -> None:
    """Every flow is publishable, no pair is covered twice, volumes add up, suppression is within the budget."""
    flows, od = release.flows, instance.od
    at = {label: node for node, label in enumerate(instance.origins.label)}
    to = {label: node for node, label in enumerate(instance.destinations.label)}
    covered = np.zeros(len(od.trips), dtype=int)
    for flow in flows.itertuples():
        rows = instance.below(at[flow.origin], to[flow.destination])
        covered += rows
        assert allowed(od, rows, promise)
        assert promise.k_areas is None or instance.areas_hold(at[flow.origin], to[flow.destination], promise)
        assert flow.trips == sum(counted_trips(od, rows, promise))
        assert promise.min_tiles <= min(flow.origin_tiles, flow.destination_tiles)
        assert max(flow.origin_tiles, flow.destination_tiles) <= (promise.max_tiles or 10**9)
    assert covered.max() <= 1
    suppressed = int(od.trips[covered == 0].sum())
    assert suppressed == release.metrics["S"]
    assert suppressed + flows["trips"].sum() + release.metrics.get("capped_trips", 0) == od.volume
    assert suppressed <= promise.budget(od.volume) or not promise.budgeted
    if promise.contribution_cap is None:
        assert release.metrics["G"] == ((flows["origin_tiles"] + flows["destination_tiles"]) * flows["trips"]).sum()


def assert_row_order_does_not_matter(instance: Instance, promise: Anonymizer, random: Random) -> None:
    """Rows in another order give the same release to the byte."""
    order = list(range(len(instance.od.trips)))
    random.shuffle(order)
    shuffled = ODMatrix.from_arrays(*(part[order] for part in instance.parts))
    ours, theirs = (promise.anonymize(od, instance.origins, instance.destinations) for od in (instance.od, shuffled))
    assert ours.flows.equals(theirs.flows)
    assert ours.assignment.equals(theirs.assignment)
    assert ours.metrics == theirs.metrics


def two_levels(n: int) -> Hierarchy:
    """n x n tiles in n areas."""
    label = [f"t{i}" for i in range(n * n)] + [f"n{i}" for i in range(n)] + ["map"]
    return Hierarchy.from_parents(label, [*(n * n + np.arange(n * n) // n), *[n * n + n] * n, -1], kind="test")


def map_is_large_enough(instance: Instance, promise: Anonymizer) -> bool:
    large = promise.min_tiles <= min(instance.origins.n_tiles[-1], instance.destinations.n_tiles[-1])
    return large and promise.units_in(instance.od) >= (promise.k_areas or 0)


def multipliers(instance: Instance, promise: Anonymizer) -> list[float]:
    """Multipliers to compare at.

    With max_tiles or max_dominance only those at which no tile is published at a loss: below, full enumeration suppresses publishable flows
    on purpose by joining them to an area that breaks the limit, which the optimisers never do.
    """
    free = promise.max_tiles is None and promise.max_dominance is None
    lowest = 0 if free else int(instance.origins.n_tiles[-1]) + 1
    return [lambda_ for lambda_ in MULTIPLIERS if lambda_ >= lowest]


def possible(instance: Instance, promise: Anonymizer) -> bool:
    """Whether the whole matrix in one flow keeps the promise."""
    root = instance.flow(instance.origins.root, instance.destinations.root, promise)
    return root[0] == instance.od.volume


def limits(cls: type) -> st.SearchStrategy:
    """Promises of a plugin with at most one extra constraint that it keeps."""
    extras = [
        {"unit": "trips"},
        {"unit": "persons"},
        {"unit": "vehicles"},
        {"unit": "population", "k_population": 3.25},
        {"unit": "persons", "min_tiles": 2},
        {"unit": "trips", "min_tiles": 3},
        {"unit": "persons", "min_visited": 2},
        {"unit": "trips", "min_visited": 2},
        {"unit": "persons", "k_areas": 5, "report_small": False},
        {"unit": "trips", "k_areas": 12, "report_small": False},
        {"unit": "persons", "max_tiles": 3},
        {"unit": "persons", "max_dominance": 0.4},
        {"unit": "population", "k_population": 3.25, "max_dominance": 0.4},
        {"unit": "persons", "max_dominance": 0.4, "contribution_cap": 2},
    ]
    # What levels say of visited tiles that nobody can reach is tested apart.
    searched = cls.__module__.startswith(("odanon.anonymizers.atg.", "odanon.anonymizers.lattice."))
    kept = [extra for extra in extras if "min_visited" not in extra or searched]
    return st.builds(
        lambda k, suppression, extra: cls(k=k, suppression=suppression, **extra),
        st.integers(2, 8),
        st.sampled_from([0.0, 0.05, 0.1, 0.3]),
        st.sampled_from(kept),
    )
