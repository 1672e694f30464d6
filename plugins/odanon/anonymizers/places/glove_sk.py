"""Glove-sk: Glove as plain hierarchical clustering with scikit-learn (000 section 4.2 and appendix B)."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

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
class GloveSk(Anonymizer):
    """Complete-linkage clusters of flows at the lowest cut that leaves out no more than the budget; areas are boxes.

    Clustering does not look at volumes, so areas are much larger than those of glove. All units are honoured,
    `min_tiles` by the tiles in use on each side; `max_tiles` and `report_small` are refused as in glove.
    """

    keeps: ClassVar[frozenset[str]] = BOX_LIMITS
    why_not: ClassVar[str] = "glove-sk draws boxes of any size around flows and promises each of them k people only"
    overlapping: ClassVar[bool] = True

    neighbours: int = parameter(100, "nearest flows of each flow that it may be merged with", ge=1)

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Cluster the tile pairs, cut the dendrogram and publish each cluster as a flow between two boxes."""

        problem = PointProblem.checked(od, origins, destinations, self)
        merges = complete_linkage(problem.points, self.neighbours)
        evidence = od.pairs.trips, problem.evidence, problem.room()
        announce_compilation(kernels.lowest_cut)
        cluster, made = kernels.lowest_cut(merges, *evidence, self.budget(od.volume))
        return problem.release(cluster, "glove-sk", {"merges": int(made)})


def complete_linkage(points: npt.NDArray[np.int64], neighbours: int) -> npt.NDArray[np.int64]:
    """The two clusters of every merge in order; merge m of n points makes cluster n + m."""
    import warnings

    from scipy.sparse import csr_array
    from sklearn.cluster import AgglomerativeClustering

    n = points.shape[1]
    if n == 1:
        return np.empty((0, 2), dtype=np.int64)
    start, neighbour = neighbour_graph(points, neighbours)
    graph = csr_array((np.ones(len(neighbour)), neighbour, start), shape=(n, n))
    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=0, metric="l1", linkage="complete", connectivity=graph
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the number of connected components")  # it joins them by itself
        return model.fit(points.T.astype(np.float64)).children_.astype(np.int64)
