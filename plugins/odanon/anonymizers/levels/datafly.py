"""Datafly: generalise the side with more areas, level by level, until few trips are left below k (000 section 2.2)."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.trees.cells import Cells, first_within_budget
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.steps import cut_at, sums_by_step, uniform_steps
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin


@plugin
class Datafly(Anonymizer):
    """Raises the side with more distinct areas by one level until the rest fits the budget, then suppresses it.

    The heuristic ancestor of OIGH on the same uniform levels; equal numbers raise the origins. All units and limits are
    honoured.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Walk up the lattice of levels and publish at the first pair within the budget."""

        problem = Problem.checked(od, origins, destinations, self)
        steps = uniform_steps(origins), uniform_steps(destinations)
        walk = levels_walked(
            distinct_areas(origins, steps[0], od.origin), distinct_areas(destinations, steps[1], od.destination)
        )

        def cells(turn: int) -> Cells:
            t, u = walk[turn]
            return Cells(problem, cut_at(origins, steps[0], t), cut_at(destinations, steps[1], u))

        turn = first_within_budget(problem, len(walk), cells)
        figures = {"origin_level": walk[turn][0], "destination_level": walk[turn][1]}
        return cells(turn).solution(figures).release("datafly")


def distinct_areas(tree: Hierarchy, steps: npt.NDArray[np.int64], tiles: npt.NDArray[np.int32]) -> list[int]:
    """How many areas of the uniform cut of every level have trips."""
    visited = np.concatenate([[0], np.cumsum(np.bincount(tiles, minlength=tree.n_leaves) > 0)])
    present = visited[tree.tile_end] > visited[tree.tile_start]
    return sums_by_step(tree, steps, present.astype(np.int64)).tolist()


def levels_walked(origins: list[int], destinations: list[int]) -> list[tuple[int, int]]:
    """The pairs of levels in the order they are tried, given the distinct areas at each level of a side.

    What falls below k does not steer the walk, only ends it, so all of it is known beforehand.
    """
    t, u = 0, 0
    walk = [(0, 0)]
    while t + u < len(origins) + len(destinations) - 2:
        if u == len(destinations) - 1 or (t < len(origins) - 1 and origins[t] >= destinations[u]):
            t += 1
        else:
            u += 1
        walk.append((t, u))
    return walk
