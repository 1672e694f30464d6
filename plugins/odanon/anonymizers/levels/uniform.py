"""Uniform aggregation: both sides at one level of the hierarchy, small cells suppressed (ALGORITHMS, Baselines)."""

from typing import ClassVar, Literal

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.trees.cells import Cells, first_within_budget, refuse_over_budget
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class UniformLevel(Anonymizer):
    """Origins and destinations at one level (an H3 resolution, a grid size, a depth); cells below k are suppressed.

    A given level whose small cells exceed the budget is refused with the share it needs; `auto` takes the finest
    level within the budget. Tiles that end above a level stand for themselves. All units and limits are honoured.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    level: int | Literal["auto"] = parameter(
        "auto",
        "level of the hierarchy (h3: the resolution, with fine steps three times that; else 0 at the root); auto: the finest within the budget",
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Aggregate at the level and publish the cells that keep the promise."""

        problem = Problem.checked(od, origins, destinations, self)
        finest = max(int(tree.level[tree.tiles].max()) for tree in (origins, destinations))
        coarsest = min(int(tree.level[tree.root]) for tree in (origins, destinations))

        def cells(level: int) -> Cells:
            return Cells(problem, origins.cut_at_level(level), destinations.cut_at_level(level))

        if self.level == "auto":
            level = finest - first_within_budget(problem, finest - coarsest + 1, lambda up: cells(finest - up))
        else:
            level = self.level
            if not coarsest <= level <= finest:
                raise OdanonError(f"the hierarchy has no level {level}; choose one from {coarsest} to {finest}")
            refuse_over_budget(cells(level), f"level {level}", "a coarser level")
        return cells(level).solution({"level": level}).release("uniform")
