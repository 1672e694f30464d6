"""ATG-Soft: like ATG-Dual with a fixed price of suppression, one evaluation instead of a search (000 section 3.3)."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg.forest import Forest, largest_size
from odanon.anonymizers.atg.origins import Solve, Trial, publish_best
from odanon.anonymizers.atg.search import Found
from odanon.anonymizers.trees.problem import Problem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

_SOFT_SHARE = 0.1  # of all tiles: the default multiplier (000 section 3.6)


@plugin
class AtgSoft(Anonymizer):
    """Origin areas that emit about v_target trips; a flow is suppressed rather than blurred beyond lambda tiles.

    The price of suppression is fixed, so how much is suppressed is what it is: `suppression` is not promised.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS
    budgeted: ClassVar[bool] = False

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )
    lambda_: float | None = parameter(
        None, "tiles (origin plus destination) beyond which a flow is not blurred; none: a tenth of all tiles", gt=0
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins and prune the destinations once."""

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_soft(problem, self.lambda_)).release("atg-soft")


def solve_soft(problem: Problem, lambda_: float | None) -> Solve:
    """Destinations of given origin areas at one multiplier, however much that leaves out."""
    multiplier = lambda_ or _SOFT_SHARE * float(problem.destinations.n_tiles[-1])

    def solve(areas: npt.NDArray[np.int64]) -> Trial:
        forest = Forest.grow(problem, areas, min(int(multiplier), largest_size(problem)) + 1)
        line = forest.best(multiplier)
        return Trial(forest, Found(line, line, evaluations=1), spend=False)

    return solve
