"""ATG-Soft: like ATG-Dual with a fixed price of suppression, one evaluation instead of a search (000 section 3.3)."""

from typing import Literal

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class AtgSoft(Protection):
    """Origin areas that emit about v_target trips; a flow is suppressed rather than blurred beyond lambda tiles."""

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )
    lambda_: float | None = parameter(
        None,
        "tiles (origin plus destination) beyond which a flow is not blurred;"
        " none: a tenth of all tiles, doubled until the budget holds",
        gt=0,
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins and prune the destinations once."""
        from odanon.anonymizers.atg.origins import publish_best, solve_soft
        from odanon.anonymizers.trees.problem import Problem

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_soft(problem, self.lambda_)).release("atg-soft")
