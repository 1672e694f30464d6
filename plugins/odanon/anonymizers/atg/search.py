"""The multiplier whose best solution stays within the budget: intersecting tangents (000 appendix J, algorithm 3).

A solution with published volume K and cost A is the line lambda * K - A; the best profit is the upper envelope of these
lines. The search walks breakpoints of the envelope with exact integers until the segment that holds the least
published volume is found, and returns its right end, the one that satisfies the budget (appendix F).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_STRIDE = 1.1  # ratio of the first multiplier tried to the guess; squared at every further step
_LONGEST_STRIDE = 1000.0

State = TypeVar("State")


@dataclass(frozen=True)
class Line(Generic[State]):
    """A solution: published volume, cost, and the multiplier it was found at."""

    K: int
    A: int
    lambda_: float
    state: State


Evaluate = Callable[[float, Line[State] | None, Line[State] | None], Line[State]]


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


def search(
    evaluate: Evaluate[State], least: int, guess: float, top: float, slack: int = 0, bottom: float = 0.0
) -> Found[State] | None:
    """The segment that publishes `least` trips, started from a guess of its multiplier (at least 1 is tried).

    None when even at the multiplier `top` less is published; multipliers below `bottom` are of no interest. `evaluate` is told a line at a smaller and one at a larger
    multiplier as soon as both are known. With `slack`, a right end that publishes so many trips more will do.
    """
    left = right = evaluate(min(max(guess, 1.0), top), None, None)
    evaluations, stride = 1, _STRIDE
    while least <= left.K and left.lambda_ > bottom:
        lower = left.lambda_ / stride if left.lambda_ > 1 else 0.0
        right, left = left, evaluate(max(lower, bottom), None, None)
        evaluations, stride = evaluations + 1, min(stride**2, _LONGEST_STRIDE)
    while least > right.K:
        if right.lambda_ >= top:
            return None
        left, right = right, evaluate(min(right.lambda_ * stride, top), None, None)
        evaluations, stride = evaluations + 1, min(stride**2, _LONGEST_STRIDE)
    if least <= left.K:
        return Found(left, left, evaluations)
    while slack == 0 or right.K - least > slack:
        run, rise = right.K - left.K, right.A - left.A
        line = evaluate(rise / run, left, right)
        evaluations += 1
        above_chord = rise * (line.K - left.K) > (line.A - left.A) * run
        if not above_chord or not left.K < line.K < right.K:  # the segment is final
            break
        left, right = (left, line) if least <= line.K else (line, right)
    return Found(left, right, evaluations)
