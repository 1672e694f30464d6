"""Destinations of a fixed set of origin areas: one destination tree per area, one multiplier for all (000 section 3.4)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.atg import kernels
from odanon.anonymizers.atg.rows import Sums, new_candidates, unsettled
from odanon.anonymizers.atg.search import Found, Line, search
from odanon.anonymizers.trees.arrays import Candidates
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.errors import OdanonError


class BudgetError(OdanonError):
    """Given origin areas leave out too much whatever the destinations."""


OVER_BUDGET = (
    "these origin areas leave out more than the budget allows whatever the destinations;"
    " raise v_target, suppression or max_tiles, or lower k"
)

_FILL_STEP = 0.9  # ratio of the multipliers at which the rest of the budget is offered


@dataclass(frozen=True, eq=False)
class Forest:
    """The candidate rows of the disjoint origin nodes `areas`; row i is that of areas[i]."""

    problem: Problem
    areas: npt.NDArray[np.int64]
    candidates: Candidates

    @classmethod
    def grow(cls, problem: Problem, areas: npt.NDArray[np.int64], limit: int) -> "Forest":
        """Build the rows; inner candidates have |o| + |d| < `limit`, areas beyond the tile limits have none."""
        tree = problem.origins
        number = np.full(len(tree) + 1, -1, dtype=np.int32)  # the last one for tiles in no area
        number[areas] = np.where(problem.fits[areas], np.arange(len(areas)), -1)
        lengths = problem.entry_start[tree.tile_end[areas]] - problem.entry_start[tree.tile_start[areas]]
        start = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        end, rows, shift = start.copy(), problem.room(), problem.shift
        by_destination = problem.transposed
        matrix, entries = by_destination.rows, by_destination.entries
        person = np.empty(0, dtype=np.int64) if matrix.person is None else matrix.person
        owner = number[tree.owners(areas)]
        kernels.deal(matrix.origin, matrix.destination, person, entries.volume, entries.weight, owner, shift, rows, end)
        out = new_candidates(problem, 2 * int((end - start).sum()), len(areas))
        sizes = tree.n_tiles[areas]
        n = kernels.sweep_areas(
            rows, start, end, sizes, limit, shift, problem.side, problem.test, problem.scratch(), out
        )
        return cls(problem, areas, Candidates(out.node[:n], out.volume[:n], out.below[:n], out.first, out.end))

    def best(self, lambda_: float, left: Line[Sums] | None = None, right: Line[Sums] | None = None) -> Line[Sums]:
        """The best solution at one multiplier."""
        n = len(self.areas)
        low, high = (left.state, right.state) if left and right else unsettled(n)
        sums = np.empty((2, n), dtype=np.int64)
        kernels.evaluate_rows(self.candidates, 0, n, *self._sizes, lambda_, low, high, sums, self._stack)
        return Line(int(sums[0].sum()), int(sums[1].sum()), lambda_, sums)

    def within_budget(self, guess: float, slack: int = 0) -> Found[Sums]:
        """The best multiplier whose solution suppresses no more than the budget (ATG-Dual), searched from a guess.

        With `slack`, one that leaves so many trips of the budget will do.
        """
        found = search(self.best, self.problem.least, guess, top_multiplier(self.problem), slack)
        if found is None:
            raise BudgetError(OVER_BUDGET)
        return found

    def publish(self, found: Found[Sums]) -> npt.NDArray[np.bool_]:
        """The candidates published by the right end of the optimum, with the rest of the budget spent."""
        published = self.publish_at(found.right.lambda_)
        rest = found.right.K - self.problem.least
        lambda_, mean = found.left.lambda_, found.right.A / max(found.right.K, 1)
        while rest > 0 and lambda_ > mean:  # a split that saves less than the mean would raise Gbar
            rest = kernels.fill(self.candidates, *self._sizes, lambda_, rest, *self._marks(published))
            lambda_ *= _FILL_STEP
        return published

    def publish_at(self, lambda_: float) -> npt.NDArray[np.bool_]:
        """The candidates published by the best solution at a multiplier."""
        published = np.zeros(len(self.candidates.node), dtype=np.bool_)
        kernels.select(self.candidates, *self._sizes, lambda_, *self._marks(published))
        return published

    def solution(self, published: npt.NDArray[np.bool_], figures: dict[str, Any]) -> Solution:
        """Where the published candidates put every tile pair."""
        problem, pairs = self.problem, self.problem.od.pairs
        nodes = np.full((2, len(pairs.trips)), -1, dtype=np.int32)
        origins, destinations = problem.origins, problem.destinations
        K, A = kernels.assign(
            self.candidates,
            self.areas,
            *self._sizes,
            (origins.tile_start, origins.tile_end),
            (destinations.tile_start, destinations.tile_end),
            problem.pair_start,
            pairs.destination,
            published,
            nodes,
        )
        return Solution(problem, self.areas, nodes[0], nodes[1], int(K), int(A), figures)

    @property
    def _sizes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return self.problem.origins.n_tiles[self.areas], self.problem.side.size

    @cached_property
    def _stack(self) -> npt.NDArray[np.int64]:
        return np.empty((2, len(self.candidates.node) + 1), dtype=np.int64)

    @cached_property
    def _start(self) -> npt.NDArray[np.int64]:
        start = np.empty(len(self.candidates.node), dtype=np.int64)
        kernels.subtree_start(self.candidates, start, self._stack)
        return start

    def _marks(self, published: npt.NDArray[np.bool_]) -> tuple[npt.NDArray, ...]:
        n = len(published)
        return self._start, published, np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int64), self._stack


def largest_size(problem: Problem) -> int:
    """No |o| + |d| is larger."""
    return int(problem.origins.n_tiles[-1] + problem.destinations.n_tiles[-1])


def top_multiplier(problem: Problem) -> float:
    """A multiplier at which no saving of tiles pays for one suppressed trip, so that suppression is least."""
    return float(problem.volume * largest_size(problem) + 1)
