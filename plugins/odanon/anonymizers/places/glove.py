"""Glove: greedy clusters of flows that lie close together (000 section 4.2 and appendix B; 003 section 3.5)."""

from typing import ClassVar

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.compilation import announce_compilation
from odanon.anonymizers.places import kernels
from odanon.anonymizers.places.neighbours import neighbour_graph
from odanon.anonymizers.places.points import BOX_LIMITS, PointProblem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class Glove(Anonymizer):
    """Merges the closest two flows, one of them below k, until all but the budget are safe; areas are boxes.

    All units are honoured, `min_tiles` by the tiles in use on each side. Boxes may grow to any size, so `max_tiles` is
    refused, and so is `report_small`, because there is no partition whose rest could be told.
    """

    keeps: ClassVar[frozenset[str]] = BOX_LIMITS
    why_not: ClassVar[str] = "glove draws boxes of any size around flows and promises each of them k people only"
    overlapping: ClassVar[bool] = True

    neighbours: int = parameter(100, "nearest flows of each flow that it may be merged with", ge=1)

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Merge the tile pairs into clusters and publish each cluster as a flow between two boxes."""

        problem = PointProblem.checked(od, origins, destinations, self)
        points, budget = problem.points, self.budget(od.volume)
        start, neighbour = neighbour_graph(points, self.neighbours)
        evidence = od.pairs.trips, problem.evidence, problem.room()
        announce_compilation(kernels.merge_closest)
        cluster, merges = kernels.merge_closest(points, start, neighbour, *evidence, budget)
        return problem.release(cluster, "glove", {"merges": int(merges)})
