"""The best guillotine partition of the product of two trees, or three, for every multiplier, and the one within the budget."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.atg.forest import largest_size, top_multiplier
from odanon.anonymizers.atg.search import Found, Line, search
from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.arrays import Axis, Products
from odanon.anonymizers.lattice.products import TooDeepError
from odanon.anonymizers.lattice.slices import Slices
from odanon.anonymizers.lattice.threads import on_threads
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError

_FIRST_GUESS = 32.0  # tiles
_FIRST_LIMIT = 64  # tiles of an area
_SPEND_STEP = 0.8  # ratio of the multipliers at which the rest of the budget is offered, squared in time
_LARGEST_COST = 2.0**60

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Costs:
    """What publishing every product node costs, in whole numbers, and the multipliers that make sense."""

    cost: Ints
    guess: float
    bottom: float  # below it trips are suppressed that nobody asked to suppress
    top: float  # a multiplier at which nothing is suppressed to save costs
    unit: float = 1.0  # parts that a cost is counted in
    ratio: bool = False  # whether costs per published trip count, not costs

    def lambda_at(self, multiplier: float) -> float:
        """The price of a suppressed trip beyond what it loses anyway."""
        return (multiplier - self.bottom) / self.unit


@dataclass(frozen=True, eq=False)
class Decisions:
    """What every product node does, and the decision whose split made it (-1: no split leads to it)."""

    choice: npt.NDArray[np.int8]
    parent: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Lattice:
    """The product nodes of a problem."""

    problem: Problem
    slices: Slices
    limit: int  # no area has so many tiles

    @classmethod
    def of(cls, problem: Problem, counted: bool, limit: int | None = None) -> "Lattice":
        """All of them, or those whose areas have fewer than `limit` tiles."""
        limit = largest_size(problem) + 1 if limit is None else limit
        return cls(problem, Slices.of(problem, counted, limit), limit)

    @property
    def is_whole(self) -> bool:
        """Whether multipliers have no bound."""
        return self.limit > largest_size(self.problem)

    @property
    def products(self) -> Products:
        return self.slices.products

    def __len__(self) -> int:
        return len(self.products.origin)

    @property
    def sizes(self) -> tuple[Ints, Ints]:
        return self.problem.origins.n_tiles, self.problem.destinations.n_tiles

    @cached_property
    def roots(self) -> Ints:
        """The topmost product node of every block, of which a whole lattice has one."""
        first = int(self.slices.bounds[-1][0])
        products = self.products
        return first + np.flatnonzero((products.above_origin[first:] < 0) & (products.above_destination[first:] < 0))

    def in_tiles(self) -> Costs:
        """Trips times tiles of both sides (ALGORITHMS, Costs)."""
        cost = np.empty(len(self), dtype=np.int64)
        for parts, length in zip(self.slices.parts, self.slices.lengths, strict=True):

            def fill(part: tuple[int, int], length: int = int(length)) -> None:
                kernels.cost_in_tiles(*part, self.products, *self.sizes, length, cost)

            on_threads(fill, parts)
        return Costs(cost, _FIRST_GUESS, 0.0, self._top_in_tiles(), ratio=True)

    def _top_in_tiles(self) -> float:
        """The limit; in a whole lattice no saving of tiles, nor of time, pays for one trip at this multiplier."""
        if not self.is_whole:
            return float(self.limit)
        return top_multiplier(self.problem) + float(self.problem.volume * int(max(self.slices.lengths)))

    def in_loss(self, price: float) -> Costs:
        """Trips spread to the wrong cells, plus `price` for every tile of a trip.

        Costs are rounded to whole parts so small that all of them together still fit in 60 bits.
        """
        problem, cost = self.problem, np.empty(len(self), dtype=np.int64)
        sides = [Axis(tree.n_tiles, tree.tile_start, tree.tile_end) for tree in (problem.origins, problem.destinations)]
        most = problem.volume * (2 + price * largest_size(problem))
        unit = float(2.0 ** np.floor(np.log2(_LARGEST_COST / most)))
        for parts, node in zip(self.slices.parts, self.slices.intervals, strict=True):
            when = tuple(int(column[node]) for column in self.slices.time)

            def fill(part: tuple[int, int], when: tuple[int, ...] = when) -> None:
                kernels.cost_in_loss(*part, self.products, *sides, when, self.slices.cells, price, unit, cost)

            on_threads(fill, parts)
        top = most * unit + 1 if self.is_whole else price * self.limit * unit
        return Costs(cost, 2 * unit, unit, top, unit)  # a suppressed trip is lost once

    def decide(self, costs: Costs, multiplier: float, best: Ints, choice: npt.NDArray[np.int8]) -> tuple[int, int]:
        """Fill the sums and the choices of the best partition at a multiplier; returns its (K, C)."""
        slices = self.slices
        if self.timed:
            best[:] = 0  # all at once: slices hand over to those above them
        for number, (parts, size) in enumerate(zip(slices.parts, slices.lengths, strict=True)):
            length = int(size) if self.timed else None

            def decide(part: tuple[int, int], length: int | None = length) -> None:
                kernels.decide(*part, self.products, costs.cost, *self.sizes, length, multiplier, best, choice)

            def decide_alone(part: tuple[int, int], decide: Callable[[tuple[int, int]], None] = decide) -> None:
                if not self.timed:
                    best[slice(*part)] = 0  # just before it is filled, so that it is in the cache
                decide(part)

            on_threads(decide_alone, parts[:-1])
            if not self.timed:
                best[slice(*parts[-1])] = 0
            kernels.hand_up(slices.tops[number], self.products, length, best)
            decide(parts[-1])
            if slices.above[number] != number:
                first, end = parts[0][0], parts[-1][1]
                kernels.hand_over(first, end, self.products, slices.above_time, best)
        K, C = best[self.roots, :2].sum(axis=0)
        return int(K), int(C)

    @property
    def timed(self) -> bool:
        """Whether there are slices, of which every pass takes several times as long."""
        return len(self.slices.intervals) > 1

    def find(self, costs: Costs, slack: int = 0) -> Found[None] | None:
        """The multiplier whose best partition stays within the budget; None where it is beyond what the limit allows.

        With `slack`, a partition that publishes so many trips more will do.
        """
        if costs.top < costs.bottom:
            return None
        best, choice = self._room()

        def evaluate(multiplier: float, *_: Line[None] | None) -> Line[None]:
            return Line(*self.decide(costs, multiplier, best, choice), multiplier, None)

        found = search(evaluate, self.problem.least, costs.guess, costs.top, slack, bottom=costs.bottom)
        if found is None and self.is_whole:
            raise OdanonError(
                "no release stays within the budget under these limits; raise suppression or max_tiles, or lower k"
            )
        return found

    def decisions(self, costs: Costs, found: Found[None]) -> Decisions:
        """The partition at the optimum, with the rest of the budget spent on what smaller multipliers would do."""
        best, choice = self._room()
        K, C = self.decide(costs, found.right.lambda_, best, choice)
        parent = np.full(len(self), -1, dtype=np.int32)
        parent[self.roots] = self.roots
        where = (
            self.slices.rows,
            (self.problem.origins.size, self.problem.destinations.size),
            parent,
            self.slices.row_of,
        )
        kernels.trace(self.products, choice, *where)
        budget, multiplier = K - self.problem.least, found.left.lambda_
        least = max(costs.bottom, C / max(K, 1)) if costs.ratio else costs.bottom
        other = np.empty_like(choice)
        while budget > 0 and multiplier > least:
            self.decide(costs, multiplier, best, other)
            kernels.sums_below(self.products, costs.cost, choice, parent, best)
            budget = kernels.spend(self.products, choice, other, best, budget, *where)
            multiplier *= _SPEND_STEP**2 if self.timed else _SPEND_STEP
        return Decisions(choice, parent)

    def _room(self) -> tuple[Ints, npt.NDArray[np.int8]]:
        columns = 8 if self.timed else 4
        return np.empty((len(self), columns), dtype=np.int64), np.empty(len(self), dtype=np.int8)


def lattices(problem: Problem, counted: bool) -> Iterator[Lattice]:
    """The whole lattice or, where that does not fit in memory, ever larger parts of it, good for ever larger multipliers."""
    try:
        yield Lattice.of(problem, counted)
        return
    except TooDeepError:
        limit = _FIRST_LIMIT
    while True:
        yield Lattice.of(problem, counted, limit)
        limit *= 2
