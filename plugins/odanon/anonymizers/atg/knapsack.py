"""Destinations of given origin areas by an exact knapsack: which flows to split with the trips that may be lost."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg import kernels
from odanon.anonymizers.atg.forest import OVER_BUDGET, BudgetError, Forest, largest_size
from odanon.anonymizers.atg.origins import Solve, Trial, publish_best
from odanon.anonymizers.atg.search import Found, Line
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

Frontier = npt.NDArray[np.int64]  # (2, n): suppressed trips and the least cost they allow

_NO_GOAL = np.array([-1, -1])


@plugin
class QuadtreeKnapsack(Anonymizer):
    """Origin areas that emit about v_target trips; what each leaves out is told as one flow to the rest of the map.

    The paper's hierarchy is the quadtree of a square grid; any other works as well. All units and limits are honoured. Work
    grows with trips times budget: for matrices of about an hour, not a month.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )
    delta: float = parameter(0.01, "cost of a suppressed trip, as a share of publishing it from map to map", ge=0, lt=1)
    report_small: bool = parameter(
        True, "publish what is left out of each area as one flow to the rest of the map, where that reaches k"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins, pack the destinations, report the small volumes."""

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_knapsack(problem, self.delta)).release("quadtree-knapsack")


@dataclass(frozen=True, eq=False)
class Packed(Trial):
    """A trial whose published candidates are known."""

    published: npt.NDArray[np.bool_]

    def publish(self, v_target: float) -> Solution:
        return self.forest.solution(self.published, {"direction": "origin-first", "v_target": v_target})


def solve_knapsack(problem: Problem, delta: float) -> Solve:
    """Destinations that minimise G plus `delta` times the worst cost of what is suppressed, within the budget.

    The paper allows S trips a matrix (001 section 3), so the areas share one budget: theirs are the branches of one tree.
    """
    price = delta * largest_size(problem)

    def solve(areas: npt.NDArray[np.int64]) -> Trial:
        packing = Packing(problem, Forest.grow(problem, areas, largest_size(problem) + 1), price)
        goals = packing.goals()
        published = packing.published(goals)
        sums = np.stack([packing.outflow - goals[0], goals[1]])
        line = Line(int(sums[0].sum()), int(sums[1].sum()), price, sums)
        return Packed(packing.forest, Found(line, line, 1), spend=False, published=published)

    return solve


@dataclass(frozen=True, eq=False)
class Packing:
    """One knapsack over the destination trees of all areas of a forest; `price` is the cost of a suppressed trip."""

    problem: Problem
    forest: Forest
    price: float

    @property
    def budget(self) -> int:
        return self.problem.volume - self.problem.least

    @cached_property
    def outflow(self) -> npt.NDArray[np.int64]:
        """Trips that leave each area."""
        tree, areas = self.problem.origins, self.forest.areas
        running = np.concatenate([[0], np.cumsum(self.problem.emitted)])
        return running[tree.tile_end[areas]] - running[tree.tile_start[areas]]

    def goals(self) -> npt.NDArray[np.int64]:
        """(2, areas): suppressed trips and cost of every area in the best solution."""
        room = np.empty(self.budget + 1, dtype=np.int64)
        single = [self._row(row, _NO_GOAL, np.empty(0, dtype=np.bool_), room) for row in range(len(self.outflow))]
        joined = [single[0]]
        for frontier in single[1:]:
            joined.append(kernels.join(joined[-1], frontier, self.budget, self.price, room))
        if joined[-1].shape[1] == 0:
            raise BudgetError(OVER_BUDGET)
        trips, cost = joined[-1][:, -1].tolist()  # every further trip on a frontier pays its price
        goals = np.empty((2, len(single)), dtype=np.int64)
        for row in range(len(single) - 1, 0, -1):
            i = kernels.part_of(joined[row - 1], single[row], trips, cost)
            goals[:, row] = single[row][:, i]
            trips, cost = trips - goals[0, row], cost - goals[1, row]
        goals[:, 0] = trips, cost
        return goals

    def published(self, goals: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """The candidates that reach the goals of their areas."""
        marks = np.zeros(len(self.forest.candidates.node), dtype=np.bool_)
        room = np.empty(self.budget + 1, dtype=np.int64)
        for row in range(goals.shape[1]):
            self._row(row, goals[:, row].copy(), marks, room)
        return marks

    def _row(
        self, row: int, goal: npt.NDArray[np.int64], marks: npt.NDArray[np.bool_], room: npt.NDArray[np.int64]
    ) -> Frontier:
        sizes = self.problem.origins.n_tiles[self.forest.areas], self.problem.destinations.n_tiles
        outflow = int(self.outflow[row])
        return kernels.row_frontier(
            self.forest.candidates, row, *sizes, outflow, self.budget, self.price, goal, marks, room
        )
