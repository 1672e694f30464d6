"""Areas that lie inside each other, and weights on what each has for itself.

The areas of a side nest like nodes of a tree: listed children first, those inside area `n` are the run `first[n]` to `n`. What an
area has for itself is its *own* part: the tiles that lie in no other area. A weight on own parts gives every area the sum of
what lies in it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Nested:
    """Areas of one side, listed children first."""

    first: Ints  # areas first[n]..n lie in area n, itself included
    tiles: Floats  # of the whole area

    @classmethod
    def of_runs(cls, start: Ints, end: Ints, tiles: npt.NDArray) -> "Nested":
        """From the runs of tile ranks that areas of a tree cover, in the order of its nodes."""
        return cls(np.searchsorted(end, start, side="right").astype(np.int64), np.asarray(tiles, np.float64))

    @classmethod
    def of_parents(cls, around: Ints, tiles: npt.NDArray) -> "Nested":
        """From the area directly around each, -1 for none."""
        first = np.arange(len(around))
        for area, up in enumerate(around.tolist()):
            if up >= 0:
                first[up] = min(first[up], first[area])
        return cls(first, np.asarray(tiles, np.float64))

    @property
    def own(self) -> Floats:
        """Tiles that lie in no other area."""
        own = self.tiles.copy()
        inner = self.around >= 0
        np.subtract.at(own, self.around[inner], self.tiles[inner])
        return own

    @property
    def around(self) -> Ints:
        """The area directly around each, -1 for none."""
        around = np.full(len(self.first), -1, dtype=np.int64)
        for area, first in enumerate(self.first.tolist()):
            inner = area - 1
            while inner >= first:
                around[inner] = area
                inner = int(self.first[inner]) - 1
        return around

    def total(self, weight: Floats) -> Floats:
        """The weight of every area from those of own parts."""
        sums = np.concatenate([[0.0], np.cumsum(weight)])
        return sums[1:] - sums[self.first]

    def received(self, given: Floats) -> Floats:
        """For every own part the sum of what is given to the areas around it, its own area included."""
        change = np.zeros(len(given) + 1)
        np.add.at(change, self.first, given)
        change[1:] -= given
        return np.cumsum(change)[:-1]
