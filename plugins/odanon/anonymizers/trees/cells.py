"""Cells of one set of origin areas and one of destination areas, shared by all flows: what they leave out."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.trees import kernels
from odanon.anonymizers.trees.groups import publishable
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy

_SHARES = [*(digit / 10**power for power in (3, 2, 1) for digit in range(1, 10)), 0.99]
NO_LEVEL = "no level stays within the budget under these limits; raise suppression or max_tiles, or lower k"

Nodes = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Cells:
    """Areas that are tree nodes and do not overlap on either side; tiles in none of them are left out."""

    problem: Problem
    origins: Nodes
    destinations: Nodes

    def left_out(self, at_most: int) -> int:
        """Trips in cells that break the promise; a result above `at_most` may be short of the full sum."""
        problem = self.problem
        return int(
            kernels.volume_left_out(
                problem.rows.origin,
                problem.entries,
                problem.shift,
                _area_numbers(problem.origins, self.origins, problem.fits),
                _area_numbers(problem.destinations, self.destinations, problem.destination_fits),
                len(self.destinations),
                problem.test,
                problem.marks(),
                at_most,
            )
        )

    def solution(self, figures: dict[str, Any]) -> Solution:
        """Every pair at the areas of its cell, or nowhere when the cell breaks the promise."""
        problem, pairs = self.problem, self.problem.od.pairs
        o = _area_numbers(problem.origins, self.origins, problem.fits)[pairs.origin]
        d = _area_numbers(problem.destinations, self.destinations, problem.destination_fits)[pairs.destination]
        inside = np.flatnonzero((o >= 0) & (d >= 0))
        cell = np.full(len(o), -1, dtype=np.int64)
        cell[inside], cells = pd.factorize(o[inside].astype(np.int64) * len(self.destinations) + d[inside])
        kept = inside[publishable(problem.od, cell, len(cells), problem.anonymizer)[cell[inside]]]
        nodes = np.full((2, len(o)), -1, dtype=np.int64)
        nodes[:, kept] = self.origins[o[kept]], self.destinations[d[kept]]
        trips = pairs.trips[kept]
        sizes = problem.origins.n_tiles[nodes[0, kept]] + problem.destinations.n_tiles[nodes[1, kept]]
        K, A = int(trips.sum()), int((trips * sizes).sum())
        return Solution(problem, self.origins.astype(np.int64), nodes[0], nodes[1], K, A, figures)


def first_within_budget(problem: Problem, choices: int, cells: Callable[[int], Cells]) -> int:
    """The first of the choices, ordered from fine to coarse, that leaves out no more than the budget.

    A coarser choice joins cells, so what is published stays so and bisection finds the first, except where areas may be
    too large or persons too dominant: there every choice is tried in order.
    """
    budget = problem.anonymizer.budget(problem.volume)

    def fine(choice: int) -> bool:
        return cells(choice).left_out(budget) <= budget

    if joins_keep_promise(problem):
        found = bisect_left(range(choices), True, key=fine)
    else:
        found = next((choice for choice in range(choices) if fine(choice)), choices)
    if found == choices:
        raise OdanonError(NO_LEVEL)
    return found


def refuse_over_budget(cells: Cells, what: str, remedy: str) -> None:
    """An error with a share that `suppression` must allow when the cells leave out more than it does.

    It has one digit: more of them, beside the flows, would tell the trips of the few who are left out.
    """
    volume = cells.problem.volume
    lost = cells.left_out(volume)
    if lost <= cells.problem.anonymizer.budget(volume):
        return
    enough = next((share for share in _SHARES if lost <= share * volume), None)
    if enough is None:
        raise OdanonError(f"no flow between {what} keeps the promise, or next to none does; choose {remedy}")
    raise OdanonError(
        f"flows between {what} leave out more of the trips than the budget allows;"
        f" raise it to suppression: {enough:g}, or choose {remedy}"
    )


def joins_keep_promise(problem: Problem) -> bool:
    """Whether a flow joined from publishable ones is publishable as well."""
    return problem.anonymizer.max_tiles is None and problem.anonymizer.max_dominance is None


def _area_numbers(tree: Hierarchy, areas: Nodes, fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """The number of the area of every tile, -1 without one or where the limits on areas forbid it."""
    number = np.full(len(tree) + 1, -1, dtype=np.int32)  # the last one for tiles in no area
    number[areas] = np.where(fits[areas], np.arange(len(areas)), -1)
    return number[tree.owners(areas)]
