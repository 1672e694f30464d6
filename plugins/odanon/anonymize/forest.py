"""Destinations of a fixed set of origin areas: one destination tree per area, one multiplier for all (000 section 3.4)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.anonymize.kernels.extract import assign, fill, select, subtree_start
from odanon.anonymize.kernels.rows import Candidates
from odanon.anonymize.problem import Problem
from odanon.anonymize.rowset import RowSet, Sums, unsettled
from odanon.anonymize.sba import Found, Line, search
from odanon.anonymize.solution import Solution
from odanon.errors import OdanonError


class BudgetExceeded(OdanonError):
    """Given origin areas leave out too much whatever the destinations."""


OVER_BUDGET = (
    "these origin areas leave out more than the budget allows whatever the destinations;"
    " raise v_target, suppression or max_tiles, or lower k"
)

_FILL_STEP = 0.9  # ratio of the multipliers at which the rest of the budget is offered


@dataclass(frozen=True, eq=False)
class Forest:
    """The candidate rows of the origin nodes `areas`, which partition the origins."""

    problem: Problem
    areas: npt.NDArray[np.int64]
    rows: RowSet

    @classmethod
    def grow(cls, problem: Problem, areas: npt.NDArray[np.int64], limit: int) -> "Forest":
        """Build the rows; `limit` as in RowSet."""
        emit = np.zeros(len(problem.origins), dtype=np.bool_)
        emit[areas] = True
        return cls(problem, areas, RowSet(problem, emit, limit, 0))

    @cached_property
    def candidates(self) -> Candidates:
        return next(iter(self.rows))[0]

    def best(self, lambda_: float, left: Line[Sums] | None = None, right: Line[Sums] | None = None) -> Line[Sums]:
        """The best solution at one multiplier."""
        nowhere = unsettled(len(self.problem.origins))
        low, high = (left.state, right.state) if left and right else nowhere
        sums = self.rows.evaluate(lambda_, low, high)
        return Line(int(sums[0].sum()), int(sums[1].sum()), lambda_, sums)

    def within_budget(self, feasible: float) -> Found[Sums]:
        """The best multiplier whose solution suppresses no more than the budget (ATG-Dual).

        `feasible` is a multiplier known to satisfy it, or one at which the least possible is suppressed.
        """
        least = self.problem.least
        left = self.best(0.0)
        if least <= left.K:
            return Found(left, left, 1)
        right = self.best(feasible)
        if least > right.K:
            raise BudgetExceeded(OVER_BUDGET)
        found = search(left, right, least, self.best)
        return Found(found.left, found.right, found.evaluations + 2)

    def publish(self, found: Found[Sums]) -> npt.NDArray[np.bool_]:
        """The candidates published by the right end of the optimum, with the rest of the budget spent."""
        published = self.publish_at(found.right.lambda_)
        rest = found.right.K - self.problem.least
        lambda_ = found.left.lambda_ if found.left is not found.right else 0.0
        while rest > 0 and lambda_ > 1:
            rest = fill(self.candidates, self.areas, *self._sizes, lambda_, rest, *self._marks(published))
            lambda_ *= _FILL_STEP
        return published

    def publish_at(self, lambda_: float) -> npt.NDArray[np.bool_]:
        """The candidates published by the best solution at a multiplier."""
        published = np.zeros(self._n_candidates, dtype=np.bool_)
        select(self.candidates, self.areas, *self._sizes, lambda_, *self._marks(published))
        return published

    def solution(self, published: npt.NDArray[np.bool_], figures: dict[str, Any]) -> Solution:
        """Where the published candidates put every tile pair."""
        problem, pairs = self.problem, self.problem.od.pairs
        nodes = np.full((2, len(pairs.trips)), -1, dtype=np.int32)
        origins, destinations = problem.origins, problem.destinations
        K, A = assign(
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
        return self.problem.origins.n_tiles, self.problem.side.size

    @property
    def _n_candidates(self) -> int:
        return int(self.candidates.end[-1])

    @cached_property
    def _scratch(self) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray, npt.NDArray]:
        n = self._n_candidates
        stack = np.empty((2, n + 1), dtype=np.int64)
        start = np.empty(n, dtype=np.int64)
        subtree_start(self.candidates, self.areas, start, stack)
        return start, np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int64), stack

    def _marks(self, published: npt.NDArray[np.bool_]) -> tuple[npt.NDArray, ...]:
        start, whole, inner, stack = self._scratch
        return start, published, whole, inner, stack


def largest_size(problem: Problem) -> int:
    """No |o| + |d| is larger."""
    return int(problem.origins.n_tiles[-1] + problem.destinations.n_tiles[-1])


def top_multiplier(problem: Problem) -> float:
    """A multiplier at which no saving of tiles pays for one suppressed trip, so that suppression is least."""
    return float(problem.volume * largest_size(problem) + 1)
