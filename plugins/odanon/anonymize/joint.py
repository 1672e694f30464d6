"""The joint problem J of 000: the best origin cut and, for each origin area, the best destination cut.

For a multiplier the two nest: B_o is the best destination pruning of the row of origin node o, and a bottom-up
pass over the origin tree takes J_o = min(B_o, sum of the children's J). The multiplier is found as in ATG-Dual.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from odanon.anonymize.forest import Forest, largest_size, top_multiplier
from odanon.anonymize.kernels.evaluate import best_cut
from odanon.anonymize.problem import Problem
from odanon.anonymize.rowset import CAPACITY, RowSet, Sums, unsettled
from odanon.anonymize.sba import Found, Line, search
from odanon.errors import OdanonError

_FIRST_LIMIT = 32


class JointRows:
    """Rows of every origin node that can pay below the multiplier `limit`."""

    def __init__(self, problem: Problem, limit: int, capacity: int = CAPACITY) -> None:
        self.problem = problem
        tree, smallest = problem.origins, int(problem.destinations.n_tiles.min())
        can_pay = (tree.n_tiles + smallest < limit) | (tree.size == 1)
        self.rows = RowSet(problem, can_pay, limit, capacity)

    def best(self, lambda_: float, left: Line[Sums] | None = None, right: Line[Sums] | None = None) -> Line[Sums]:
        """The best solution at a multiplier up to the limit."""
        nowhere = unsettled(len(self.problem.origins))
        low, high = (left.state, right.state) if left and right else nowhere
        sums = self.rows.evaluate(lambda_, low, high)
        K, A, _ = self._cut(lambda_, sums)
        return Line(K, A, lambda_, sums)

    def areas(self, line: Line[Sums]) -> npt.NDArray[np.int64]:
        """The origin areas of a solution, with the nodes that publish nothing left out."""
        whole = self._cut(line.lambda_, line.state)[2]
        return topmost(self.problem.origins.parent, whole)

    def _cut(self, lambda_: float, sums: Sums) -> tuple[int, int, npt.NDArray[np.bool_]]:
        tree = self.problem.origins
        whole = np.empty(len(tree), dtype=np.bool_)
        K, A = best_cut(tree.parent, tree.size, self.rows.emitted, sums, lambda_, np.empty_like(sums), whole)
        return int(K), int(A), whole


def topmost(parent: npt.NDArray[np.int32], marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Marked nodes without a marked node above."""
    covered = marked.tolist()
    up = parent.tolist()
    top = []
    for node in range(len(up) - 1, -1, -1):
        above = up[node] >= 0 and covered[up[node]]
        if covered[node] and not above:
            top.append(node)
        covered[node] = covered[node] or above
    return np.array(top[::-1], dtype=np.int64)


def find_multiplier(problem: Problem) -> tuple[JointRows, Found[Sums]]:
    """Rows up to a proven bound of the multiplier (doubled until it satisfies the budget) and the optimum."""
    limit, largest = _FIRST_LIMIT, largest_size(problem)
    evaluations = 0
    while True:
        # above the largest |o| + |d| all rows exist and any multiplier may be asked for
        complete = limit > largest
        joint = JointRows(problem, limit)
        right = joint.best(top_multiplier(problem) if complete else float(limit))
        evaluations += 1
        if problem.least <= right.K:
            break
        if complete:
            raise OdanonError(
                "no release stays within the budget under these limits; raise suppression or max_tiles, or lower k"
            )
        limit *= 2
    left = joint.best(0.0)
    evaluations += 1
    if problem.least <= left.K:
        return joint, Found(left, left, evaluations)
    found = search(left, right, problem.least, joint.best)
    return joint, Found(found.left, found.right, evaluations + found.evaluations)


@dataclass(frozen=True, eq=False)
class Solution:
    """Where every pair is published (-1 = suppressed), the cost G, the volume published and the search's figures."""

    pair_origin: npt.NDArray[np.int32]
    pair_destination: npt.NDArray[np.int32]
    G: int
    published: int
    lambda_: float
    bound: float
    evaluations: int

    def metrics(self, volume: int) -> dict[str, float | int]:
        """Release-level figures; `G_bound` is what no release of this direction can undercut."""
        return {
            "G": self.G,
            "Gbar": self.G / self.published,
            "S": volume - self.published,
            "S_share": 1 - self.published / volume,
            "lambda": self.lambda_,
            "evaluations": self.evaluations,
            "G_bound": self.bound,
        }


def solve(problem: Problem) -> Solution:
    """Origin-first: the cut at the optimum, then its destinations at their own multiplier, then the rest of the budget."""
    joint, found = find_multiplier(problem)
    areas = joint.areas(found.right)
    forest = Forest.grow(problem, areas, joint.rows.limit)
    inner = forest.within_budget(found.right.lambda_)
    pair_origin, pair_destination = forest.assign(forest.publish(inner))
    kept = pair_origin >= 0
    trips = problem.od.pairs.trips[kept]
    sizes = problem.origins.n_tiles[pair_origin[kept]] + problem.destinations.n_tiles[pair_destination[kept]]
    return Solution(
        pair_origin,
        pair_destination,
        int((trips * sizes).sum()),
        int(trips.sum()),
        found.right.lambda_,
        found.bound(problem.least),
        found.evaluations + inner.evaluations,
    )


def solve_both(problem: Problem) -> tuple[Solution, str]:
    """Solve origin-first and destination-first on two threads; the finer one and its name (origin-first on ties)."""
    with ThreadPoolExecutor(2) as threads:
        by_origin, by_destination = threads.map(solve, (problem, problem.transposed))
    if by_destination.G * by_origin.published < by_origin.G * by_destination.published:
        flipped = replace(
            by_destination,
            pair_origin=problem.back(by_destination.pair_destination),
            pair_destination=problem.back(by_destination.pair_origin),
        )
        return flipped, "destination-first"
    return by_origin, "origin-first"
