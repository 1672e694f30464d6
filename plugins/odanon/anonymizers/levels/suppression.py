"""Suppression only: tile pairs that reach k are published as they are, the others are not (ALGORITHMS, Baselines)."""

from typing import ClassVar

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.trees.cells import Cells, refuse_over_budget
from odanon.anonymizers.trees.problem import Problem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin


@plugin
class Suppression(Anonymizer):
    """Publishes the tile pairs that reach k and nothing else; nothing is generalised.

    Most matrices lose much: a loss above the budget is refused with the share that `suppression` must allow. All
    units and limits are honoured, but `min_tiles` and `min_visited`.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS - {"min_tiles", "min_visited"}
    why_not: ClassVar[str] = "suppression publishes tiles as they are and joins nothing"

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Publish every tile pair that keeps the promise, if the others are within the budget."""

        cells = Cells(Problem.checked(od, origins, destinations, self), origins.tiles, destinations.tiles)
        refuse_over_budget(cells, "tile pairs", "an algorithm that generalises")
        return cells.solution({}).release("suppression")
