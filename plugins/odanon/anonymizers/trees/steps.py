"""Uniform cuts of a tree, as OIGH orders them (000 section 2.2 and appendix B)."""

import heapq

import numpy as np
import numpy.typing as npt

from odanon.model.hierarchy import Hierarchy


def uniform_steps(tree: Hierarchy) -> npt.NDArray[np.int64]:
    """The step at which each node appears when the tiles are merged uniformly; the cut of step t is `cut_at(t)`.

    With all tiles at one depth a step is a level. Otherwise one step merges, of the nodes whose children are all in
    the cut, those with the fewest tiles (appendix B).
    """
    depth = np.zeros(len(tree), dtype=np.int64)
    for node in range(len(tree) - 2, -1, -1):
        depth[node] = depth[tree.parent[node]] + 1
    if len(np.unique(depth[tree.tiles])) == 1:
        return depth.max() - depth
    return _steps_by_size(tree)


def _steps_by_size(tree: Hierarchy) -> npt.NDArray[np.int64]:
    sizes, parent = tree.n_tiles.tolist(), tree.parent.tolist()
    missing = np.diff(tree.child_start).tolist()
    step = [0] * len(tree)
    available: list[tuple[int, int]] = []

    def merge(node: int) -> None:
        if parent[node] >= 0:
            missing[parent[node]] -= 1
            if missing[parent[node]] == 0:
                heapq.heappush(available, (sizes[parent[node]], parent[node]))

    for tile in tree.tiles.tolist():
        merge(tile)
    now = 0
    while available:
        now += 1
        smallest = available[0][0]
        merged = []
        while available and available[0][0] == smallest:
            merged.append(heapq.heappop(available)[1])
        for node in merged:  # parents that this makes available wait for the next step
            step[node] = now
            merge(node)
    return np.array(step, dtype=np.int64)


def cut_at(tree: Hierarchy, steps: npt.NDArray[np.int64], t: int) -> npt.NDArray[np.int64]:
    """The nodes of the uniform cut of step t."""
    inside = steps <= t
    inside[:-1] &= steps[tree.parent[:-1]] > t
    return np.flatnonzero(inside)


def sums_by_step(tree: Hierarchy, steps: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sum of node values over the cut of every step."""
    change = np.zeros(int(steps.max()) + 2, dtype=np.int64)
    np.add.at(change, steps, values)
    np.add.at(change, steps[tree.parent[:-1]], -values[:-1])
    return np.cumsum(change)[:-1]
