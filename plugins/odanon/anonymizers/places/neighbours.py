"""The nearest-neighbour graph of points (000 appendix B: it bounds which flows are compared)."""

import numpy as np
import numpy.typing as npt

_CHUNK = 1 << 16  # points asked for at a time, which bounds memory


def neighbour_graph(
    points: npt.NDArray[np.int64], neighbours: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(start, neighbour): the neighbours of point p are `neighbour[start[p]:start[p + 1]]`, sorted.

    Two points are neighbours when one is among the `neighbours` nearest of the other by L1 distance.
    """
    from scipy.sparse import coo_array
    from scipy.spatial import cKDTree

    n = points.shape[1]
    places = points.T.astype(np.float64)
    k = min(neighbours, n - 1)
    if k == 0:
        return np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    tree = cKDTree(places)
    found = np.empty((n, k), dtype=np.int32)
    for at in range(0, n, _CHUNK):
        rows = slice(at, at + _CHUNK)
        found[rows] = _others(tree.query(places[rows], k=k + 1, p=1)[1], at)
    source = np.repeat(np.arange(n, dtype=np.int32), k)
    edges = coo_array((np.ones(n * k, dtype=np.int8), (source, found.ravel())), shape=(n, n)).tocsr()
    graph = (edges + edges.T).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int32)


def _others(found: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.int64]:
    """The answers without the point itself, or without the farthest where many points in one place crowded it out."""
    own = found == (first + np.arange(len(found)))[:, None]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(len(found), -1)
