"""Quadtree knapsack: origin areas of about equal outflow, destinations by an exact tree knapsack (001)."""

from typing import Literal

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class QuadtreeKnapsack(Protection):
    """Origin areas that emit about v_target trips; what each leaves out is told as one flow to the rest of the map.

    The paper's hierarchy is the quadtree of a square grid; any other works as well. All units and limits are honoured. Work
    grows with trips times budget: for matrices of about an hour, not a month.
    """

    v_target: float | Literal["auto"] = parameter(
        "auto", "trips an origin area should emit; auto: the value that balances origin and destination sizes"
    )
    delta: float = parameter(0.01, "cost of a suppressed trip, as a share of publishing it from map to map", ge=0, lt=1)
    report_small: bool = parameter(
        True, "publish what is left out of each area as one flow to the rest of the map, where that reaches k"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the origins, pack the destinations, report the small volumes."""
        from odanon.anonymizers.atg.knapsack import solve_knapsack
        from odanon.anonymizers.atg.origins import publish_best
        from odanon.anonymizers.trees.problem import Problem

        problem = Problem.checked(od, origins, destinations, self)
        return publish_best(problem, self.v_target, solve_knapsack(problem, self.delta)).release("quadtree-knapsack")
