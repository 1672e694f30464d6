"""OIGH: the finest pair of uniform cuts that keeps k within the budget (000 section 2.2 and appendix B; 002 2.5.2)."""

from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg.homogeneous import View
from odanon.anonymizers.trees.cells import NO_LEVEL, Cells, joins_keep_promise
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.steps import cut_at, sums_by_step, uniform_steps
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

Values = npt.NDArray[np.int64]


class Levels(NamedTuple):
    """A pair of uniform cuts, in order of preference: lowest level sum, then least cost G, then finer origins."""

    height: int
    G: int
    origin: int

    @property
    def destination(self) -> int:
        return self.height - self.origin


@plugin
class Oigh(Anonymizer):
    """One level for all origins and one for all destinations: the lowest sum of levels within the budget.

    The original method suppresses nothing (`suppression: 0`). All units and limits are honoured. Where tiles lie at
    unequal depths, one level up merges only the areas of fewest tiles.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Search the lattice of levels and publish the cells of the pair found that keep the promise."""

        problem = Problem.checked(od, origins, destinations, self)
        steps = uniform_steps(origins), uniform_steps(destinations)
        levels, looked = lowest_levels(problem, *steps)
        if levels is None:
            raise OdanonError(NO_LEVEL)
        figures = {"origin_level": levels.origin, "destination_level": levels.destination, "evaluations": looked}
        cuts = cut_at(origins, steps[0], levels.origin), cut_at(destinations, steps[1], levels.destination)
        return Cells(problem, *cuts).solution(figures).release("oigh")


class Row(NamedTuple):
    """The lattice at one origin level: the costs of all destination levels and the lowest one within the budget."""

    origin: int
    G: Values
    lowest: int  # one past the last if there is none


def lowest_levels(problem: Problem, o_steps: Values, d_steps: Values) -> tuple[Levels | None, int]:
    """The preferred pair of levels within the budget, and the number of origin levels that were looked at.

    Higher levels publish more and cost more on either side. So between two known origin levels no pair is lower than the
    level after the first with the lowest destinations of the second, nor cheaper than the first with these; whole runs
    are left out by that (they are not when areas may be too large or persons too dominant).
    """

    view = View.of([problem])
    monotone = joins_keep_promise(problem)
    best: Levels | None = None

    def look(t: int) -> Row:
        nonlocal best
        costs = view.costs(cut_at(problem.origins, o_steps, t))
        K, G = (sums_by_step(problem.destinations, d_steps, values) for values in costs)
        within = np.flatnonzero(view.least <= K)
        if len(within) == 0:
            return Row(t, G, len(G))
        lowest = int(within[0])
        found = Levels(t + lowest, int(G[lowest]), t)
        best = found if best is None else min(best, found)
        return Row(t, G, lowest)

    last = int(o_steps.max())
    top = look(last)
    runs = [(look(0), top)] if last else []
    while runs:
        low, high = runs.pop()
        d = high.lowest if monotone else 0
        if high.origin - low.origin < 2 or d == len(high.G):
            continue
        bound = Levels(low.origin + 1 + d, int(low.G[d]) if monotone else 0, low.origin + 1)
        if best is not None and bound >= best:
            continue
        middle = look((low.origin + high.origin) // 2)
        runs += [(middle, high), (low, middle)]
    return best, len(view.sweeps)
