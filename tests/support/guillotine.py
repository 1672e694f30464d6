"""All guillotine partitions of a product of two small trees, one by one: the truth that ATG-Lattice is held against."""

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
from enumeration import Instance

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.hierarchy import Hierarchy

Cost = Callable[[int, int], float]
Partition = frozenset[tuple[int, int]]  # product nodes


def children(tree: Hierarchy, node: int) -> list[int]:
    return np.flatnonzero(tree.parent == node).tolist()


def tiles_cost(instance: Instance) -> Cost:
    """Trips times tiles of both sides."""

    def cost(o: int, d: int) -> float:
        volume = instance.od.trips[instance.below(o, d)].sum()
        return int(volume) * int(instance.origins.n_tiles[o] + instance.destinations.n_tiles[d])

    return cost


def loss_cost(instance: Instance, price: float) -> Cost:
    """Sum over all cells of |trips - mean|, and the price of every tile of a trip."""
    tiles = tiles_cost(instance)

    def cost(o: int, d: int) -> float:
        od, rows = instance.od, instance.below(o, d)
        cells: dict[tuple[int, int], int] = {}
        for pair, trips in zip(zip(od.origin[rows], od.destination[rows], strict=True), od.trips[rows], strict=True):
            cells[pair] = cells.get(pair, 0) + int(trips)
        n_cells = int(instance.origins.n_tiles[o]) * int(instance.destinations.n_tiles[d])
        values = [*cells.values(), *[0] * (n_cells - len(cells))]
        mean = sum(values) / n_cells
        return sum(abs(value - mean) for value in values) + price * tiles(o, d)

    return cost


def partitions(instance: Instance) -> set[Partition]:
    """Every guillotine partition of the whole product."""

    @cache
    def of(o: int, d: int) -> set[Partition]:
        found = {frozenset({(o, d)})}
        for below in (
            [of(child, d) for child in children(instance.origins, o)],
            [of(o, child) for child in children(instance.destinations, d)],
        ):
            found |= {frozenset().union(*parts) for parts in itertools.product(*below)} if below else set()
        return found

    return of(instance.origins.root, instance.destinations.root)


def worth(instance: Instance, promise: Anonymizer, cost: Cost) -> Callable[[int, int, float], float]:
    """What a product node is worth at a multiplier: published, or suppressed where it must be or that is better."""
    volume = cache(lambda o, d: instance.flow(o, d, promise)[0])
    price = cache(cost)
    return lambda o, d, multiplier: max(0.0, multiplier * volume(o, d) - price(o, d)) if volume(o, d) else 0.0


def recursion(instance: Instance, promise: Anonymizer, cost: Cost, multiplier: float) -> float:
    """The value of the best partition by the recursion as it is written down."""
    flow = worth(instance, promise, cost)

    @cache
    def best(o: int, d: int) -> float:
        by_origin = sum(best(child, d) for child in children(instance.origins, o))
        by_destination = sum(best(o, child) for child in children(instance.destinations, d))
        return max(flow(o, d, multiplier), by_origin, by_destination)

    return best(instance.origins.root, instance.destinations.root)
