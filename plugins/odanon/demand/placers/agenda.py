"""An agenda as a walk over places that are to be found: home, work, study, and one for each secondary activity (003 section 5.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from odanon.demand.agendas import HOME, PRIMARY

Exponent = Literal["trips", "factors"]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Agenda:
    """Purposes in order, and the time step in which the trip to each sets out. The day begins at home."""

    purposes: tuple[str, ...]
    steps: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The number of the place of each activity, home first: 0 is home, and equal primary purposes are one place."""
        known, made = {HOME: 0}, [0]
        for number, purpose in enumerate(self.purposes):
            key = purpose if purpose in PRIMARY else f"{purpose} {number}"
            made.append(known.setdefault(key, len(known)))
        return tuple(made)

    @property
    def size(self) -> int:
        """How many places there are, home included."""
        return max(self.places) + 1

    @cached_property
    def trips(self) -> tuple[tuple[int, int, int], ...]:
        """From, to and step of every trip."""
        return tuple((a, b, step) for (a, b), step in zip(pairwise(self.places), self.steps, strict=True))

    def counted(self, exponent: Exponent) -> dict[Pair, list[tuple[int, bool, int]]]:
        """The factors between two places (the smaller number first): step, whether it runs from the smaller, how often it counts.

        `trips`: each trip once. `factors`: as often as it lies on a way there and back, which is a factor of three variables that is split
        into pairs (003 figure 5.8), and once where on none.
        """
        found: dict[Pair, list[tuple[int, bool, int]]] = {}
        for number, (a, b, step) in enumerate(self.trips):
            returns = [
                self.places[at] == self.places[at + 2] for at in (number - 1, number) if 0 <= at < len(self.trips) - 1
            ]
            times = max(1, sum(returns)) if exponent == "factors" else 1
            found.setdefault((min(a, b), max(a, b)), []).append((step, a < b, times))
        return found


def tree_order(pairs: Sequence[Pair]) -> list[tuple[int, int | None]] | None:
    """Places other than home, each before its parent, as (place, parent); None where the pairs close a loop.

    Home is known, so that what leads there closes none.
    """
    around: dict[int, set[int]] = {}
    for a, b in pairs:
        for place, other in ((a, b), (b, a)):
            if place:
                around.setdefault(place, set()).update({other} - {0})
    order: list[tuple[int, int | None]] = []
    seen: set[int] = set()
    for root in sorted(around):
        if root in seen:
            continue
        here: list[tuple[int, int | None]] = [(root, None)]
        seen.add(root)
        for place, parent in here:
            for other in sorted(around[place] - {parent}):
                if other in seen:
                    return None
                seen.add(other)
                here.append((other, place))
        order += reversed(here)
    return order
