"""Matrices of trips between zones by time step, and the chances that follow from them (003 section 5.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError

Floats = npt.NDArray[np.float64]
_KEPT = 60  # matrices to some power that are kept
_UNSEEN = 1e-3  # share of trips that may be between pairs without any, where nobody tells another one
_FAINT = 1e-9  # of use only where nothing else is possible


@dataclass(frozen=True, eq=False)
class Matrices:
    """trips[t, o, d]: trips that set out in step t from zone o to zone d, of a typical day."""

    trips: Floats

    def __post_init__(self) -> None:
        steps, origins, destinations = self.trips.shape
        if not steps or origins != destinations or not np.isfinite(self.trips).all() or self.trips.min(initial=0) < 0:
            raise OdanonError("the matrices must be square, one a step, and hold numbers of trips; check the input")
        if not self.trips.sum() > 0:
            raise OdanonError("the matrices hold no trips; check zones and steps of the input")

    @property
    def shares(self) -> Floats:
        """The part of all trips that sets out in each step."""
        by_step = self.trips.sum(axis=(1, 2))
        return by_step / by_step.sum()

    def smoothed(self, share: float) -> Floats:
        """Trips with a small share spread by what leaves and enters zones in the step, or over the day: what a release does not show may
        still be, so that no agenda is impossible. In which unit trips are counted changes nothing."""
        if not share:
            return self.trips.copy()
        made = np.empty_like(self.trips)
        day = self.trips.sum(axis=0)
        least = share * day.sum() / len(day)  # as if this left, and entered, each zone besides
        for step, here in enumerate(self.trips):
            leaving, entering = (here.sum(axis=side) + share * (day.sum(axis=side) + least) for side in (1, 0))
            spread = np.outer(leaving, entering)
            made[step] = (1 - share) * here + share * (here.sum() or 1.0) * spread / spread.sum()
        return made

    @cached_property
    def powers(self) -> Callable[[float, int, float], Floats]:
        """Smoothed trips (by a share) of a step to some power; the last few are kept, since many agendas ask for the same."""
        smoothed = lru_cache(maxsize=1)(self.smoothed)
        return lru_cache(maxsize=_KEPT)(lambda share, step, power: smoothed(share)[step] ** power)

    @cached_property
    def transitions(self) -> tuple[Floats, dict[str, int]]:
        """P[t, o, d], the chance to go to d from o in step t; and how many origins had to take theirs from elsewhere.

        Without trips in a step they take those of the steps next to it, else of the whole day; else everybody stays.
        """
        chances, day = self.trips.copy(), self.trips.sum(axis=0)
        found = dict.fromkeys(("neighbouring steps", "whole day", "stays"), 0)
        for step, here in enumerate(self.trips):
            around = self.trips[max(step - 1, 0) : step + 2].sum(axis=0)
            for origin in np.flatnonzero(here.sum(axis=1) == 0):
                for name, other in (("neighbouring steps", around), ("whole day", day), ("stays", None)):
                    row = np.eye(len(day))[origin] if other is None else other[origin]
                    if row.sum() > 0:
                        chances[step, origin], found[name] = row, found[name] + 1
                        break
        return chances / chances.sum(axis=2, keepdims=True), found

    @cached_property
    def possible(self) -> Floats:
        """The same chances with a faint one of every trip, so that no agenda is impossible."""
        every = self.smoothed(_UNSEEN)
        return self.transitions[0] + _FAINT * every / every.sum(axis=2, keepdims=True)
