"""ATG-Homogeneous: one partition of origins and one of destinations for all flows (ALGORITHMS, ATG-Homogeneous).

For fixed areas of one side the best cut of the other, at any multiplier and hence within the budget, is a pass over
costs that one sweep of the matrix collects (kernels.shared). Sides alternate until the cost G stops falling, from
several starts, among them the best uniform cut.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.atg import kernels
from odanon.anonymizers.atg.forest import Forest, largest_size, top_multiplier
from odanon.anonymizers.atg.origins import areas_emitting
from odanon.anonymizers.atg.search import Found, Line, search
from odanon.anonymizers.compilation import announce_compilation
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.anonymizers.trees.cells import Cells, joins_keep_promise
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution
from odanon.anonymizers.trees.steps import cut_at, sums_by_step, uniform_steps
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FILL_STEP = 0.9
_DESCENTS = 3  # starts that are followed to the end
_TARGET_STEP = 4  # ratio of the outflows of the starting origin areas

Cut = npt.NDArray[np.int64]  # nodes that partition a tree


@plugin
class AtgHomogeneous(Anonymizer):
    """Areas that never overlap: one partition of origins and one of destinations, shared by all flows."""

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """The best shared partitions of one matrix."""
        return self.anonymize_window([od], origins, destinations)[0]

    def anonymize_window(self, ods: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> list[Release]:
        """One release per time bin, all on the same partitions.

        The budget is that of the window: a quiet bin may lose a larger share, even all of it.
        """

        if not ods:
            raise OdanonError("the window has no matrix; there is nothing to anonymise")
        self.check(max(ods, key=self.units_in))
        problems = [Problem(od, origins, destinations, self) for od in ods]
        return [solution.release("atg-homogeneous") for solution in solve_window(problems)]


@dataclass(frozen=True, eq=False)
class Pair:
    """A partition of each side with its published volume and cost."""

    K: int
    A: int
    lambda_: float | None  # the multiplier it was found at; None for uniform cuts
    origins: Cut
    destinations: Cut

    @property
    def flipped(self) -> "Pair":
        return replace(self, origins=self.destinations, destinations=self.origins)


@dataclass(frozen=True, eq=False)
class View:
    """The matrices of a window (one or more bins) by origin, without limits on areas; `fits` says which nodes obey these."""

    bins: list[Problem]
    origin_fits: npt.NDArray[np.bool_]
    destination_fits: npt.NDArray[np.bool_]
    least: int
    monotone: bool  # whether coarser areas publish at least as much
    sweeps: list[int]  # one entry per look at the matrices

    @classmethod
    def of(cls, problems: list[Problem]) -> "View":
        promise = problems[0].anonymizer
        free = replace(promise, min_tiles=1, max_tiles=None, k_areas=None)
        volume = sum(problem.volume for problem in problems)
        return cls(
            [replace(problem, anonymizer=free) for problem in problems],
            np.logical_and.reduce([problem.fits for problem in problems]),
            np.logical_and.reduce([problem.destination_fits for problem in problems]),
            volume - promise.budget(volume),
            joins_keep_promise(problems[0]),
            [],
        )

    @cached_property
    def flipped(self) -> "View":
        bins = [problem.transposed for problem in self.bins]
        return View(bins, self.destination_fits, self.origin_fits, self.least, self.monotone, self.sweeps)

    @property
    def origins(self) -> Hierarchy:
        return self.bins[0].origins

    @property
    def destinations(self) -> Hierarchy:
        return self.bins[0].destinations

    @cached_property
    def _top(self) -> float:
        return float(sum(top_multiplier(problem) for problem in self.bins))

    def costs(self, areas: Cut) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(K, A) of every destination node for fixed origin areas, all bins added."""
        tree = self.destinations
        self.sweeps.append(len(areas))
        volume, weighted = np.zeros((2, len(tree)), dtype=np.int64)
        areas = areas[self.origin_fits[areas]]
        for problem in self.bins:
            candidates = Forest.grow(problem, areas, largest_size(problem) + 1).candidates
            stack = np.empty((1, len(candidates.node) + 1), dtype=np.int64)
            kernels.add_node_costs(candidates, self.origins.n_tiles[areas], volume, weighted, stack)
        for values in (volume, weighted):
            kernels.sum_subtrees(tree.parent, values)
        K = np.where(self.destination_fits, volume, 0)
        return K, np.where(self.destination_fits, weighted + tree.n_tiles * volume, 0)

    def best_destinations(self, areas: Cut) -> Pair | None:
        """The best destination cut within the budget for fixed origin areas; None where even the root suppresses more."""
        side = SharedTree(self.destinations, *self.costs(areas))
        found = search(side.best, self.least, float(len(side.tree)) ** 0.5, self._top)
        if found is None:
            return None
        nodes = side.spend(found, self.least)
        return Pair(int(side.K[nodes].sum()), int(side.A[nodes].sum()), found.right.lambda_, areas, nodes)

    def settle(self, areas: Cut, lambda_: float) -> Cut:
        """Origin areas that alternating both sides at one multiplier leads to, until the profit stops rising."""
        profit = -np.inf
        while True:
            _, destinations = SharedTree(self.destinations, *self.costs(areas)).cut(lambda_)
            line, origins = SharedTree(self.origins, *self.flipped.costs(destinations)).cut(lambda_)
            if lambda_ * line.K - line.A <= profit:
                return areas
            profit, areas = lambda_ * line.K - line.A, origins


@dataclass(frozen=True, eq=False)
class SharedTree:
    """One side's tree with the volume K and cost A that every node publishes under the other side's areas."""

    tree: Hierarchy
    K: npt.NDArray[np.int64]
    A: npt.NDArray[np.int64]

    def cut(self, lambda_: float) -> tuple[Line[None], Cut]:
        """The best partition at a multiplier."""
        line, whole, _ = self._prune(lambda_)
        return line, tree_kernels.topmost(self.tree.parent, whole)

    def best(self, lambda_: float, *_: Line[None] | None) -> Line[None]:
        """Its volume and cost."""
        return self._prune(lambda_)[0]

    def spend(self, found: Found[None], least: int) -> Cut:
        """The partition of the right end of the optimum, split further while the rest of the budget lasts."""
        nodes = np.zeros(len(self.tree), dtype=np.bool_)
        nodes[self.cut(found.right.lambda_)[1]] = True
        rest, lambda_ = found.right.K - least, found.left.lambda_
        while rest > 0 and lambda_ > 1:
            _, whole, inner = self._prune(lambda_)
            rest = kernels.shared_fill(self.tree.size, self.K, nodes, whole, inner, rest)
            lambda_ *= _FILL_STEP
        return np.flatnonzero(nodes)

    def _prune(self, lambda_: float) -> tuple[Line[None], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        whole, inner = np.empty(len(self.tree), dtype=np.bool_), np.empty((2, len(self.tree)), dtype=np.int64)
        n_children = np.diff(self.tree.child_start)
        K, A = kernels.shared_cut(self.tree.parent, n_children, self.K, self.A, lambda_, whole, inner)
        return Line(int(K), int(A), lambda_, None), whole, inner


def best_uniform(view: View) -> Pair | None:
    """The cheapest pair of uniform cuts within the budget.

    Coarser cuts publish more and cost more, on either side, so for each origin step the finest destination step within
    the budget is best, and the steps between two known ones cannot cost less than the finer one with the
    destinations of the coarser one: whole runs of steps are left out. Where areas may be too large or persons too
    dominant, that does not follow and every step is looked at.
    """
    steps = uniform_steps(view.origins), uniform_steps(view.destinations)
    best: Pair | None = None

    def look(t: int) -> tuple[npt.NDArray[np.int64], int]:
        """Costs by destination step, and the finest step within the budget (one past the last if none)."""
        nonlocal best
        areas = cut_at(view.origins, steps[0], t)
        K, A = (sums_by_step(view.destinations, steps[1], values) for values in view.costs(areas))
        within = np.flatnonzero(view.least <= K)
        if len(within) == 0:
            return A, len(A)
        u = int(within[np.argmin(A[within])])
        if best is None or A[u] < best.A:
            best = Pair(int(K[u]), int(A[u]), None, areas, cut_at(view.destinations, steps[1], u))
        return A, int(within[0])

    last = int(steps[0].max())
    runs = [(0, *look(0), last, *look(last))] if last else [(0, *look(0), 0, *look(0))]
    while runs:
        low, low_A, low_u, high, high_A, high_u = runs.pop()
        hopeless = high_u == len(high_A) or (best is not None and low_A[high_u] >= best.A)
        if high - low < 2 or (view.monotone and hopeless):
            continue
        middle = (low + high) // 2
        known = middle, *look(middle)
        runs += [(low, low_A, low_u, *known), (*known, high, high_A, high_u)]
    return best


def descend(view: View, pair: Pair) -> Pair:
    """Improve one side or the other, then both at a common price of suppression, until nothing helps.

    Sides that only answer each other get stuck where one pays far more for a suppressed trip than the other; the
    geometric mean of both prices as multiplier of both sides leads on.
    """
    while True:
        answers = [view.best_destinations(pair.origins)]
        flipped = view.flipped.best_destinations(pair.destinations)
        answers += [flipped.flipped if flipped else None]
        better = min((answer for answer in answers if answer), key=lambda answer: answer.A, default=pair)
        if better.A >= pair.A and all(answers):
            price = math.sqrt(math.prod(answer.lambda_ or 0.0 for answer in answers if answer))
            better = view.best_destinations(view.settle(pair.origins, price)) or pair
        if better.A >= pair.A:
            return pair
        pair = better


def starts(view: View) -> list[Pair]:
    """Best answers to origin areas and to destination areas of about equal outflow, from fine to coarse."""
    found: list[Pair] = []
    for side in (view, view.flipped):
        emitted = np.sum([problem.emitted for problem in side.bins], axis=0)
        target = float(side.bins[0].anonymizer.k)
        while target < _TARGET_STEP * emitted.sum():
            pair = side.best_destinations(areas_emitting(side.origins, emitted, side.origin_fits, target))
            if pair is not None:
                found.append(pair if side is view else pair.flipped)
            target *= _TARGET_STEP
    return found


def solve(view: View) -> Pair:
    """The best pair of partitions found."""
    uniform = best_uniform(view)
    pairs = sorted(starts(view), key=lambda pair: pair.A)[:_DESCENTS]
    pairs += [uniform] if uniform is not None else []
    if not pairs:
        raise OdanonError(
            "no release stays within the budget under these limits; raise suppression or max_tiles, or lower k"
        )
    return min((descend(view, pair) for pair in pairs), key=lambda pair: pair.A)


def solve_window(problems: list[Problem]) -> list[Solution]:
    """One pair of partitions for all time bins of a window."""
    announce_compilation(tree_kernels.sweep)
    view = View.of([problem for problem in problems if problem.volume > 0])
    pair = solve(view)
    figures = {"lambda": pair.lambda_, "evaluations": len(view.sweeps), "direction": "homogeneous"}
    return [Cells(problem, pair.origins, pair.destinations).solution(figures) for problem in problems]
