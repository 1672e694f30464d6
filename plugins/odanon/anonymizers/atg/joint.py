"""The joint problem J of 000: the best origin cut and, for each origin area, the best destination cut.

For a multiplier the two nest: B_o is the best destination pruning of the row of origin node o, and a bottom-up
pass over the origin tree takes J_o = min(B_o, sum of the children's J). The multiplier is found as in ATG-Dual.

Two sizes minimise two things. Small problems (`exact.is_small`) are solved over suppressed trips and give the release of
least Gbar, tiles per published trip, within the budget. Large ones follow the multiplier and give the least G found, tiles
times trips, at a published volume as near to the budget as they get.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg import kernels
from odanon.anonymizers.atg.exact import is_small, solve_exactly
from odanon.anonymizers.atg.forest import Forest, largest_size, top_multiplier
from odanon.anonymizers.atg.rows import CAPACITY, RowSet, Sums, unsettled
from odanon.anonymizers.atg.search import Found, Line, search
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FIRST_LIMIT = 32
_SAMPLE_FROM = 10_000  # entries
_SAMPLE_PARTS = 512
_SAMPLE_STEP = 16


@plugin
class AtgJoint(Anonymizer):
    """Finest areas per origin (or per destination, whichever is finer): origins and destinations solved together."""

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Solve origin-first and destination-first, keep the finer release and say which it is."""

        return solve_both(Problem.checked(od, origins, destinations, self)).release("atg-joint")


class JointRows:
    """Rows of every origin node (of those in `within`) that can pay below the multiplier `limit`."""

    def __init__(
        self,
        problem: Problem,
        limit: int,
        capacity: int = CAPACITY,
        within: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.problem = problem
        tree, smallest = problem.origins, int(problem.destinations.n_tiles.min())
        can_pay = (tree.n_tiles + smallest < limit) | (tree.size == 1)
        self.rows = RowSet(problem, can_pay if within is None else can_pay & within, limit, capacity)

    def best(self, lambda_: float, left: Line[Sums] | None = None, right: Line[Sums] | None = None) -> Line[Sums]:
        """The best solution at a multiplier up to the limit."""
        nowhere = unsettled(len(self.problem.origins))
        low, high = (left.state, right.state) if left and right else nowhere
        sums = self.rows.evaluate(lambda_, low, high)
        K, A, _ = self._cut(lambda_, sums)
        return Line(K, A, lambda_, sums)

    def areas(self, line: Line[Sums]) -> npt.NDArray[np.int64]:
        """The origin areas of a solution; nodes below which nothing is published have none."""
        whole = self._cut(line.lambda_, line.state)[2]
        return tree_kernels.topmost(self.problem.origins.parent, whole)

    def _cut(self, lambda_: float, sums: Sums) -> tuple[int, int, npt.NDArray[np.bool_]]:
        tree = self.problem.origins
        whole = np.empty(len(tree), dtype=np.bool_)
        K, A = kernels.best_cut(tree.parent, tree.size, self.rows.emitted, sums, lambda_, np.empty_like(sums), whole)
        return int(K), int(A), whole


def find_multiplier(problem: Problem) -> tuple[JointRows, Found[Sums]]:
    """Rows up to a proven bound of the multiplier and the optimum.

    The bound is proven by its own solution, which satisfies the budget. It is first tried a little above the optimum of
    a sample of origins (large matrices), since every bound that turns out too low costs a build of all rows.
    """
    limit, guess = _FIRST_LIMIT, float(_FIRST_LIMIT)
    if len(problem.entries.key) > _SAMPLE_FROM:
        inside, least = sample(problem)
        sampled = _search_below(problem, limit, guess, least, inside)
        if sampled is not None:  # the sampled subtrees may be too small for any flow
            guess = sampled[1].right.lambda_
            limit = int(min(1.2 * guess + 8, largest_size(problem) + 1))
    found = _search_below(problem, limit, guess, problem.least)
    if found is None:
        raise OdanonError(
            "no release stays within the budget under these limits; raise suppression or max_tiles, or lower k"
        )
    return found


def _search_below(
    problem: Problem, limit: int, guess: float, least: int, within: npt.NDArray[np.bool_] | None = None
) -> tuple[JointRows, Found[Sums]] | None:
    """Search from a guess; as long as the optimum is above `limit`, double that. None when nothing is within the budget."""
    while True:
        # above the largest |o| + |d| all rows exist and any multiplier may be asked for
        complete = limit > largest_size(problem)
        top = top_multiplier(problem) if complete else float(limit)
        joint = JointRows(problem, limit, within=within)
        found = search(joint.best, least, guess, top)
        if found is not None:
            return joint, found
        if complete:
            return None
        limit, guess = 2 * limit, 2.0 * limit


def sample(problem: Problem) -> tuple[npt.NDArray[np.bool_], int]:
    """The nodes of every sixteenth of many small origin subtrees, and their part of the volume to publish."""
    tree = problem.origins
    n_entries = problem.entry_start[tree.tile_end] - problem.entry_start[tree.tile_start]
    small = (n_entries <= len(problem.entries.key) / _SAMPLE_PARTS) | (tree.size == 1)
    tops = tree_kernels.topmost(tree.parent, small)[_SAMPLE_STEP // 2 :: _SAMPLE_STEP]
    inside = np.zeros(len(tree), dtype=np.bool_)
    inside[tops] = True
    emitted = np.concatenate([[0], np.cumsum(problem.emitted)])
    volume = int((emitted[tree.tile_end[tops]] - emitted[tree.tile_start[tops]]).sum())
    return tree_kernels.at_or_below(tree.parent, inside), volume * problem.least // problem.volume


def solve(problem: Problem) -> Solution:
    """Origin-first: exactly where that is cheap; else the cut at the optimum, its destinations at their own multiplier,
    then the rest of the budget."""
    joint, found = find_multiplier(problem)
    figures = {
        "lambda": found.right.lambda_,
        "evaluations": found.evaluations,
        "G_bound": found.bound(problem.least),
    }
    if is_small(problem):
        exact = solve_exactly(problem, JointRows(problem, largest_size(problem) + 1).rows, figures)
        if exact is not None:
            return exact
    forest = Forest.grow(problem, joint.areas(found.right), joint.rows.limit)
    inner = forest.within_budget(found.right.lambda_)
    figures["evaluations"] += inner.evaluations
    return forest.solution(forest.publish(inner), figures)


def solve_both(problem: Problem) -> Solution:
    """Solve origin-first and destination-first on two threads and keep the finer (origin-first on ties)."""
    with ThreadPoolExecutor(2) as threads:
        by_origin, by_destination = threads.map(solve, (problem, problem.transposed))
    best = by_destination.seen_from(problem) if by_destination.finer_than(by_origin) else by_origin
    direction = "destination-first" if best.by_destination else "origin-first"
    return replace(best, figures={**best.figures, "direction": direction})
