"""ATG-Homogeneous: one partition of origins and one of destinations for all flows (ALGORITHMS, ATG-Homogeneous).

For fixed areas of one side the best cut of the other, at any multiplier and hence within the budget, is a pass over
costs that one sweep of the matrix collects (kernels.shared). Sides alternate until the cost G stops falling, from
several starts, among them the best uniform cut.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymize.forest import Forest, largest_size, top_multiplier
from odanon.anonymize.groups import publishable
from odanon.anonymize.kernels.cut import topmost
from odanon.anonymize.kernels.shared import add_node_costs, shared_cut, shared_fill, sum_subtrees
from odanon.anonymize.origins import areas_emitting
from odanon.anonymize.problem import Problem
from odanon.anonymize.sba import Line, search
from odanon.anonymize.solution import Solution
from odanon.anonymize.uniform import cut_at, sums_by_step, uniform_steps
from odanon.errors import OdanonError
from odanon.hierarchy.tree import Hierarchy

_FILL_STEP = 0.9
_DESCENTS = 4  # starts that are followed to the end
_TARGET_STEP = 4  # ratio of the outflows of the starting origin areas

Cut = npt.NDArray[np.int64]  # nodes that partition a tree


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
    """The matrices of a window (one or more bins) by origin, without tile limits; `fits` says which nodes obey these."""

    bins: list[Problem]
    origin_fits: npt.NDArray[np.bool_]
    destination_fits: npt.NDArray[np.bool_]
    least: int
    sweeps: list[int]  # one entry per look at the matrices

    @classmethod
    def of(cls, problems: list[Problem]) -> "View":
        promise = problems[0].protection
        free = replace(promise, min_tiles=1, max_tiles=None)
        volume = sum(problem.volume for problem in problems)
        return cls(
            [replace(problem, protection=free) for problem in problems],
            problems[0].fits,
            problems[0].transposed.fits,
            volume - promise.budget(volume),
            [],
        )

    @cached_property
    def flipped(self) -> "View":
        bins = [problem.transposed for problem in self.bins]
        return View(bins, self.destination_fits, self.origin_fits, self.least, self.sweeps)

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
            add_node_costs(candidates, self.origins.n_tiles[areas], volume, weighted, stack)
        for values in (volume, weighted):
            sum_subtrees(tree.parent, values)
        K = np.where(self.destination_fits, volume, 0)
        return K, np.where(self.destination_fits, weighted + tree.n_tiles * volume, 0)

    def best_destinations(self, areas: Cut) -> Pair | None:
        """The best destination cut within the budget for fixed origin areas; None where even the root suppresses more."""
        tree = self.destinations
        K, A = self.costs(areas)
        whole, inner = np.empty(len(tree), dtype=np.bool_), np.empty((2, len(tree)), dtype=np.int64)
        n_children = np.diff(tree.child_start)

        def best(lambda_: float, *_: Line[None] | None) -> Line[None]:
            k, a = shared_cut(tree.parent, n_children, K, A, lambda_, whole, inner)
            return Line(int(k), int(a), lambda_, None)

        found = search(best, self.least, float(len(tree)) ** 0.5, self._top)
        if found is None:
            return None
        left, right = found.left, found.right
        best(right.lambda_)
        cut = np.zeros(len(tree), dtype=np.bool_)
        cut[topmost(tree.parent, whole)] = True
        rest, lambda_ = right.K - self.least, left.lambda_
        while rest > 0 and lambda_ > 1:
            best(lambda_)
            rest = shared_fill(tree.size, K, cut, whole, inner, rest)
            lambda_ *= _FILL_STEP
        nodes = np.flatnonzero(cut)
        return Pair(int(K[nodes].sum()), int(A[nodes].sum()), right.lambda_, areas, nodes)


def best_uniform(view: View) -> Pair | None:
    """The cheapest pair of uniform cuts within the budget.

    Coarser cuts publish more and cost more, on either side, so for each origin step the finest destination step within
    the budget is best, and the steps between two known ones cannot cost less than the finer one with the
    destinations of the coarser one: whole runs of steps are left out.
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
        if high - low < 2 or hopeless:
            continue
        middle = (low + high) // 2
        known = middle, *look(middle)
        runs += [(low, low_A, low_u, *known), (*known, high, high_A, high_u)]
    return best


def descend(view: View, pair: Pair) -> Pair:
    """Improve one side after the other until neither helps."""
    while True:
        other = view.flipped.best_destinations(pair.destinations)
        if other is not None and other.A < pair.A:
            pair = other.flipped
        again = view.best_destinations(pair.origins)
        if again is None or again.A >= pair.A:
            return pair
        pair = again


def starts(view: View) -> list[Pair]:
    """Best answers to origin areas and to destination areas of about equal outflow, from fine to coarse."""
    found: list[Pair] = []
    for side in (view, view.flipped):
        emitted = np.sum([problem.emitted for problem in side.bins], axis=0)
        target = float(side.bins[0].protection.k)
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


def publish(problem: Problem, pair: Pair, figures: dict[str, Any]) -> Solution:
    """The cells of two partitions that keep the promise."""
    pairs, n_destinations = problem.od.pairs, len(problem.destinations)
    origin = problem.origins.owners(pair.origins)[pairs.origin]
    destination = problem.destinations.owners(pair.destinations)[pairs.destination]
    cell, cells = pd.factorize(origin.astype(np.int64) * n_destinations + destination)
    good = publishable(problem.od, cell, len(cells), problem.protection)
    good &= problem.fits[cells // n_destinations] & problem.transposed.fits[cells % n_destinations]
    kept = good[cell]
    nodes = np.where(kept, origin, -1), np.where(kept, destination, -1)
    return Solution(problem, pair.origins, *nodes, pair.K, pair.A, figures)


def solve_window(problems: list[Problem]) -> list[Solution]:
    """One pair of partitions for all time bins of a window."""
    view = View.of([problem for problem in problems if problem.volume > 0])
    pair = solve(view)
    figures = {"lambda": pair.lambda_, "evaluations": len(view.sweeps), "direction": "homogeneous"}
    return [publish(problem, pair, figures) for problem in problems]
