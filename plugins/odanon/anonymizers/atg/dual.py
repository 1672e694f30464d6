"""ATG-Dual: origin areas of about equal outflow, then destinations under the suppression budget (000 section 3)."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg.forest import Forest, largest_size
from odanon.anonymizers.atg.origins import Solve, Trial, publish_best
from odanon.anonymizers.trees.problem import Problem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

_TRIAL_PRECISION = 1000  # the budget of a trial may be left unspent by this part of the volume


@plugin
class AtgDual(Anonymizer):
    """Origin areas that emit about v_target trips, then the best destinations of each within the budget."""

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins, find the multiplier of the destinations, spend the rest of the budget."""

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_dual(problem)).release("atg-dual")


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
