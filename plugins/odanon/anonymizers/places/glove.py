"""Glove: greedy clusters of flows that lie close together (000 section 4.2 and appendix B; 003 section 3.5)."""

from typing import ClassVar

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import parameter, plugin


@plugin
class Glove(Protection):
    """Merges the closest two flows, one of them below k, until all but the budget are safe; areas are boxes.

    All units are honoured, `min_tiles` by the tiles in use on each side. Boxes may grow to any size, so `max_tiles` is
    refused, and so is `report_small`, because there is no partition whose rest could be told.
    """

    overlapping: ClassVar[bool] = True

    neighbours: int = parameter(100, "nearest flows of each flow that it may be merged with", ge=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse("max_tiles", why="glove merges remote flows into areas of any size")
        self.refuse("k_areas", why="glove draws boxes around flows and promises each of them k people only")
        self.refuse("report_small", why="glove has no areas whose rest could be reported")

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Merge the tile pairs into clusters and publish each cluster as a flow between two boxes."""
        from odanon.anonymizers.compilation import announce_compilation
        from odanon.anonymizers.places.kernels.glove import merge_closest
        from odanon.anonymizers.places.neighbours import neighbour_graph
        from odanon.anonymizers.places.points import PointProblem

        problem = PointProblem.checked(od, origins, destinations, self)
        points, budget = problem.points, self.budget(od.volume)
        start, neighbour = neighbour_graph(points, self.neighbours)
        evidence = od.pairs.trips, problem.rows, problem.limits, problem.scratch()
        announce_compilation(merge_closest)
        cluster, merges = merge_closest(points, start, neighbour, *evidence, budget)
        return problem.release(cluster, "glove", {"merges": int(merges)})
