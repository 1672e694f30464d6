"""ATG-Dual and ATG-Soft: origin areas that emit about `v_target` trips, then their destinations (000 section 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.atg.forest import OVER_BUDGET, BudgetError, Forest, largest_size, top_multiplier
from odanon.anonymizers.atg.rows import Sums
from odanon.anonymizers.atg.search import Found
from odanon.anonymizers.trees.kernels.cut import even_cut, topmost
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.model.hierarchy import Hierarchy

_TRIAL_PRECISION = 1000  # the budget of a trial may be left unspent by this part of the volume
_SOFT_SHARE = 0.1  # of all tiles: the multiplier of ATG-Soft (000 section 3.6)


@dataclass(frozen=True, eq=False)
class Trial:
    """The destinations found for the origin areas of one `v_target`."""

    forest: Forest
    found: Found[Sums]
    spend: bool  # whether the budget is to be spent to the last trip

    @property
    def imbalance(self) -> float:
        """Mean origin size minus mean destination size of the published trips, in tiles."""
        line = self.found.right
        sizes = self.forest.problem.origins.n_tiles[self.forest.areas]
        origins = int((line.state[0] * sizes).sum())
        return (2 * origins - line.A) / line.K if line.K else -np.inf

    def publish(self, v_target: float) -> Solution:
        if self.forest.problem.least > self.found.right.K:
            raise BudgetError("lambda_ leaves out more than the budget allows; raise lambda_ or suppression")
        forest, found = self.forest, self.found
        if self.spend:
            found = forest.within_budget(found.right.lambda_)
        figures = {
            "lambda": found.right.lambda_,
            "evaluations": found.evaluations,
            "direction": "origin-first",
            "v_target": v_target,
        }
        return forest.solution(forest.publish(found) if self.spend else forest.publish_at(found.right.lambda_), figures)


Solve = Callable[[npt.NDArray[np.int64]], Trial]


def solve_dual(problem: Problem) -> Solve:
    """Destinations of given origin areas within the budget, nearly spent; each search starts where the last one ended."""
    slack = problem.volume // _TRIAL_PRECISION
    guess = float(problem.destinations.n_tiles[-1]) ** 0.5

    def solve(areas: npt.NDArray[np.int64]) -> Trial:
        nonlocal guess
        forest = Forest.grow(problem, areas, largest_size(problem) + 1)
        found = forest.within_budget(guess, slack)
        guess = found.right.lambda_
        return Trial(forest, found, spend=True)

    return solve


def solve_soft(problem: Problem, lambda_: float | None) -> Solve:
    """Destinations of given origin areas at a given multiplier, or at the default one, doubled until the budget holds."""

    def solve(areas: npt.NDArray[np.int64]) -> Trial:
        multiplier, evaluations = lambda_ or _SOFT_SHARE * float(problem.destinations.n_tiles[-1]), 0
        while True:
            forest = Forest.grow(problem, areas, min(int(multiplier), largest_size(problem)) + 1)
            line = forest.best(multiplier)
            evaluations += 1
            if problem.least <= line.K or lambda_ is not None:
                return Trial(forest, Found(line, line, evaluations), spend=False)
            if multiplier >= top_multiplier(problem):
                raise BudgetError(OVER_BUDGET)
            multiplier = 2 * multiplier if multiplier <= largest_size(problem) else top_multiplier(problem)

    return solve


def areas_emitting(
    tree: Hierarchy, emitted: npt.NDArray[np.int64], fits: npt.NDArray[np.bool_], v_target: float
) -> npt.NDArray[np.int64]:
    """The cut whose areas' outflows are closest to `v_target`, as squares add up; `emitted` is by tile."""
    running = np.concatenate([[0], np.cumsum(emitted)])
    outflow = running[tree.tile_end] - running[tree.tile_start]
    return topmost(tree.parent, even_cut(tree.parent, tree.size, outflow, fits, float(v_target)))


def publish_best(problem: Problem, v_target: float | Literal["auto"], solve: Solve) -> Solution:
    """Solve for a given `v_target`, or for the one of a geometric grid that balances both sides best.

    Larger values make origins larger and destinations smaller, so the sign change of the imbalance is found by
    bisection; values whose origin areas alone exceed the budget count as too small.
    """

    def trial(value: float) -> Trial:
        return solve(areas_emitting(problem.origins, problem.emitted, problem.fits, value))

    if v_target != "auto":
        return trial(v_target).publish(v_target)
    grid = [float(problem.protection.k)]
    while grid[-1] < problem.volume:
        grid.append(2 * grid[-1])
    best: tuple[Trial, float] | None = None
    low, high = 0, len(grid) - 1
    while low <= high:
        middle = (low + high) // 2
        try:
            latest = trial(grid[middle])
        except BudgetError:
            if middle == len(grid) - 1:  # one area for all origins: nothing larger is left to try
                raise
            low = middle + 1
            continue
        if best is None or abs(latest.imbalance) < abs(best[0].imbalance):
            best = latest, grid[middle]
        if latest.imbalance < 0:
            low = middle + 1
        else:
            high = middle - 1
    assert best is not None  # the largest value was tried or a smaller one held
    return best[0].publish(best[1])
