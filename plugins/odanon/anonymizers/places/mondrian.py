"""Mondrian: origins and destinations as points in four dimensions, cut in halves (000 appendix B; 002 section 2.5.1)."""

from typing import ClassVar

import numpy as np

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.compilation import announce_compilation
from odanon.anonymizers.places import kernels
from odanon.anonymizers.places.points import BOX_LIMITS, PointProblem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class Mondrian(Anonymizer):
    """Pairs of boxes cut at the median of their widest side while both halves keep k; nothing is left out.

    A cell whose widest side cannot be cut is final, and places with one coordinate stay together, as in 000; `relaxed` parts
    them too and tries the other sides. All units are honoured, `min_tiles` by the tiles in use on each side. There is no suppression, so `max_tiles` cannot be
    promised and is refused, as is `k_areas`: boxes are drawn per flow and know no more people than k.
    """

    keeps: ClassVar[frozenset[str]] = BOX_LIMITS
    why_not: ClassVar[str] = "mondrian draws boxes of any size around flows and promises each of them k people only"
    overlapping: ClassVar[bool] = True

    relaxed: bool = parameter(
        False, "part places with one coordinate, and try the next wider side where the widest cannot be cut"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cut the tile pairs into cells and publish each cell as a flow between two boxes."""

        problem = PointProblem.checked(od, origins, destinations, self)
        announce_compilation(kernels.partition)
        order, starts = kernels.partition(
            problem.points, od.pairs.trips, problem.evidence, problem.room(), self.relaxed
        )
        cell = np.empty(len(order), dtype=np.int64)
        cell[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return problem.release(cell, "mondrian", {"cells": len(starts) - 1})
