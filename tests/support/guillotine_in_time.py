"""All guillotine partitions of a product of two small trees and a tree of times: the truth that the lattice is held against."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
from enumeration import Instance, allowed, trees
from guillotine import children
from hypothesis import strategies as st

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.window import Times

Node = tuple[int, int, int]
Cost = Callable[[Node], float]


@dataclass(frozen=True)
class TimedInstance(Instance):
    """An instance whose rows have times."""

    @property
    def times(self) -> Hierarchy:
        return self.od.times.tree

    @property
    def trees(self) -> tuple[Hierarchy, Hierarchy, Hierarchy]:
        return self.origins, self.destinations, self.times

    @property
    def root(self) -> Node:
        return self.origins.root, self.destinations.root, self.times.root

    def within(self, node: Node) -> np.ndarray:
        """Rows of the matrix below a product node."""
        at, tree = self.od.time, self.times
        return self.below(*node[:2]) & (tree.tile_start[node[2]] <= at) & (at < tree.tile_end[node[2]])

    def splits(self, node: Node) -> Iterator[list[Node]]:
        """What a node falls into on each side that can be split."""
        for side, tree in enumerate(self.trees):
            if below := children(tree, node[side]):
                yield [(*node[:side], child, *node[side + 1 :]) for child in below]

    def volume(self, node: Node, promise: Anonymizer) -> int:
        """Trips of a product node, 0 when it must be suppressed."""
        rows = self.within(node)
        volume = int(self.od.trips[rows].sum())
        if not volume or not allowed(self.od, rows, promise):
            return 0
        return volume if self._fits(node, promise) else 0

    def _fits(self, node: Node, promise: Anonymizer) -> bool:
        """Whether the limits on areas allow a node; who leaves or enters them counts whenever that is."""
        sizes = int(self.origins.n_tiles[node[0]]), int(self.destinations.n_tiles[node[1]])
        if min(sizes) < promise.min_tiles or max(sizes) > (promise.max_tiles or 10**9):
            return False
        return promise.k_areas is None or self.areas_hold(*node[:2], promise)


def in_tiles(instance: TimedInstance) -> Cost:
    """Trips times tiles of both sides and the length of the interval."""
    return lambda node: (
        int(instance.od.trips[instance.within(node)].sum())
        * sum(int(tree.n_tiles[at]) for tree, at in zip(instance.trees, node, strict=True))
    )


def in_loss(instance: TimedInstance, price: float) -> Cost:
    """Sum over all tile pairs and bins of |trips - share|, where shares are as long as bins, and the price of every tile of a trip."""

    def cost(node: Node) -> float:
        od, rows = instance.od, instance.within(node)
        cells: dict[Node, int] = {}
        for cell, trips in zip(
            zip(od.origin[rows], od.destination[rows], od.time[rows], strict=True), od.trips[rows], strict=True
        ):
            cells[cell] = cells.get(cell, 0) + int(trips)
        o, d, t = (int(tree.n_tiles[at]) for tree, at in zip(instance.trees, node, strict=True))
        volume = sum(cells.values())
        shares = {cell: volume * int(od.times.weight[cell[2]]) / (o * d * t) for cell in cells}
        empty = volume - sum(shares.values())
        return sum(abs(cells[cell] - shares[cell]) for cell in cells) + empty + price * volume * (o + d)

    return cost


def partitions(instance: TimedInstance) -> set[frozenset[Node]]:
    """Every guillotine partition of the whole product."""

    @cache
    def of(node: Node) -> set[frozenset[Node]]:
        found = {frozenset({node})}
        for below in instance.splits(node):
            found |= {frozenset().union(*parts) for parts in itertools.product(*(of(child) for child in below))}
        return found

    return of(instance.root)


def worth(instance: TimedInstance, promise: Anonymizer, cost: Cost) -> Callable[[Node, float], float]:
    """What a product node is worth at a multiplier: published, or suppressed where it must be or that is better."""
    volume, price = cache(lambda node: instance.volume(node, promise)), cache(cost)
    return lambda node, multiplier: max(0.0, multiplier * volume(node) - price(node)) if volume(node) else 0.0


def recursion(instance: TimedInstance, promise: Anonymizer, cost: Cost, multiplier: float) -> float:
    """The value of the best partition by the recursion as it is written down."""
    flow = worth(instance, promise, cost)

    @cache
    def best(node: Node) -> float:
        return max(flow(node, multiplier), *(sum(map(best, below)) for below in instance.splits(node)), 0.0)

    return best(instance.root)


def times_of(tree: Hierarchy, hours: list[int]) -> Times:
    """Bins of so many hours, one after another."""
    running = np.concatenate([[0], np.cumsum(hours)])
    moments = [datetime(2026, 3, 2, tzinfo=UTC) + timedelta(hours=int(hour)) for hour in running]
    length = running[tree.tile_end] - running[tree.tile_start]
    tree = replace(tree, n_tiles=length, coverage="observed")
    return Times(tuple(moments[:-1]), tuple(moments[1:]), tree)


@st.composite
def some_times(draw: st.DrawFn, most: int) -> Times:
    """Bins of unequal lengths below a random tree."""
    tree = draw(trees(most))
    return times_of(tree, draw(st.lists(st.integers(1, 3), min_size=tree.n_leaves, max_size=tree.n_leaves)))


def one_pair_in_time(trips: list[int]) -> TimedInstance:
    """Trips of one person from one tile to itself, hour by hour."""
    n = len(trips)
    hours = Hierarchy.from_parents([*(f"t{hour}" for hour in range(n)), "day"], [n] * n + [-1], kind="test")
    tile, nowhere = Hierarchy.from_parents(["t0"], [-1], kind="test"), np.zeros(n, dtype=np.int64)
    rows = nowhere, nowhere, np.array(trips), nowhere, np.ones(n), np.arange(n), times_of(hours, [1] * n)
    return TimedInstance(ODMatrix.from_arrays(*rows), tile, tile)


@st.composite
def timed_instances(draw: st.DrawFn, n_origins: int, n_destinations: int, n_bins: int) -> TimedInstance:
    """A matrix of few people with several trips each, over three random trees."""
    origins, destinations, times = draw(trees(n_origins)), draw(trees(n_destinations)), draw(some_times(n_bins))
    row = st.tuples(
        st.integers(0, origins.n_leaves - 1),
        st.integers(0, destinations.n_leaves - 1),
        st.integers(1, 6),
        st.integers(0, 11),
        st.integers(1, 8),
        st.integers(0, len(times) - 1),
    )
    o, d, trips, person, weight, time = np.array(draw(st.lists(row, min_size=3, max_size=50))).T
    return TimedInstance(ODMatrix.from_arrays(o, d, trips, person, weight / 4, time, times), origins, destinations)
