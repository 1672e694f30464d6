"""Mondrian: origins and destinations as points in four dimensions, cut in halves (000 appendix B; 002 section 2.5.1)."""

from typing import ClassVar

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import plugin


@plugin
class Mondrian(Protection):
    """Pairs of boxes cut at the median of their widest side while both halves keep k; nothing is left out.

    All units are honoured, `min_tiles` by the tiles in use on each side. There is no suppression, so `max_tiles` cannot be
    promised and is refused, as is `k_areas`: boxes are drawn per flow and know no more people than k.
    """

    overlapping: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse("max_tiles", why="mondrian leaves nothing out, so remote flows make areas of any size")
        self.refuse("k_areas", why="mondrian draws boxes around flows and promises each of them k people only")

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the tile pairs into cells and publish each cell as a flow between two boxes."""
        import numpy as np

        from odanon.anonymizers.compilation import announce_compilation
        from odanon.anonymizers.places.kernels.mondrian import partition
        from odanon.anonymizers.places.points import PointProblem

        problem = PointProblem.checked(od, origins, destinations, self)
        announce_compilation(partition)
        order, starts = partition(problem.points, od.pairs.trips, problem.rows, problem.limits, problem.scratch())
        cell = np.empty(len(order), dtype=np.int64)
        cell[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return problem.release(cell, "mondrian", {"cells": len(starts) - 1})
