"""ATG-Dual and ATG-Soft: origin areas that emit about `v_target` trips, then their destinations (000 section 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.atg.forest import BudgetError, Forest
from odanon.anonymizers.atg.rows import Sums
from odanon.anonymizers.atg.search import Found
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.model.hierarchy import Hierarchy


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


def areas_emitting(
    tree: Hierarchy, emitted: npt.NDArray[np.int64], fits: npt.NDArray[np.bool_], v_target: float
) -> npt.NDArray[np.int64]:
    """The cut whose areas' outflows are closest to `v_target`, as squares add up, without its empty areas.

    `emitted` is by tile (Problem P of 000 section 3.2).
    """
    running = np.concatenate([[0], np.cumsum(emitted)])
    outflow = running[tree.tile_end] - running[tree.tile_start]
    whole = tree_kernels.even_cut(tree.parent, tree.n_tiles, outflow, fits, float(v_target))
    areas = tree_kernels.topmost(tree.parent, whole)
    return areas[outflow[areas] > 0]


def publish_best(problem: Problem, v_target: float | Literal["auto"], solve: Solve) -> Solution:
    """Solve for a given `v_target`, or for the one of a geometric grid that balances both sides best.

    Larger values make origins larger and destinations smaller, so the sign change of the imbalance is found by
    bisection; values whose origin areas alone exceed the budget count as too small.
    """

    def trial(value: float) -> Trial:
        return solve(areas_emitting(problem.origins, problem.emitted, problem.fits, value))

    if v_target != "auto":
        return trial(v_target).publish(v_target)
    grid = [float(problem.anonymizer.k)]
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
