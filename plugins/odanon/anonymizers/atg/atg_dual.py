"""ATG-Dual: origin areas of about equal outflow, then destinations under the suppression budget (000 section 3)."""

from typing import Literal

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class AtgDual(Protection):
    """Origin areas that emit about v_target trips, then the best destinations of each within the budget."""

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins, find the multiplier of the destinations, spend the rest of the budget."""
        from odanon.anonymizers.atg.origins import publish_best, solve_dual
        from odanon.anonymizers.trees.problem import Problem

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_dual(problem)).release("atg-dual")
