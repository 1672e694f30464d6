"""The multiplier whose best solution stays within the budget: intersecting tangents (000 appendix J, algorithm 3).

A solution with published volume K and cost A is the line lambda * K - A; the best profit is the upper envelope of these
lines. The search walks breakpoints of the envelope with exact integers until the segment that holds the least
published volume is found, and returns its right end, the one that satisfies the budget (appendix F).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State")


@dataclass(frozen=True)
class Line(Generic[State]):
    """A solution: published volume, cost, and the multiplier it was found at."""

    K: int
    A: int
    lambda_: float
    state: State


Evaluate = Callable[[float, Line[State], Line[State]], Line[State]]


@dataclass(frozen=True)
class Found(Generic[State]):
    """The two ends of the segment at the optimum; `left` publishes too little unless it is `right` itself."""

    left: Line[State]
    right: Line[State]
    evaluations: int

    def bound(self, least: int) -> float:
        """The least cost that any solution of the same problem with published volume `least` can have."""
        if least <= self.left.K:
            return float(self.left.A)
        share = (least - self.left.K) / (self.right.K - self.left.K)
        return self.left.A + share * (self.right.A - self.left.A)


def search(left: Line[State], right: Line[State], least: int, evaluate: Evaluate[State]) -> Found[State]:
    """Narrow [left, right], which must bracket `least` (left.K < least <= right.K)."""
    evaluations = 0
    while True:
        run, rise = right.K - left.K, right.A - left.A
        line = evaluate(rise / run, left, right)
        evaluations += 1
        above_chord = rise * (line.K - left.K) > (line.A - left.A) * run
        if not above_chord or not left.K < line.K < right.K:  # the segment is final
            return Found(left, right, evaluations)
        if least <= line.K:
            right = line
        else:
            left = line
