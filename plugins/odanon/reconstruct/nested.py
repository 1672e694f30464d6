"""Areas and rows that lie inside each other, and how a row spreads over what no finer row counts.

The areas of a side nest like nodes of a tree: listed children first, those inside area `n` are the run `first[n]` to `n`. What an
area has for itself is its *own* part: the tiles that lie in no other area. A weight on own parts gives every
area the sum of what lies in it; even spreading is the weight of one a tile.

A rest counts the trips of its areas that no row inside it counts. With the weights of both sides, a row stands for the product
of its areas' weights less those of the rows directly inside it, and its *density* is its trips by that. A tile pair has the
density of its innermost row. Rows being nested, that is the sum, over all rows around the pair, of their *steps*: a row's
density less that of the row directly around it. Sums of steps serve every reading that is bilinear in the two sides.
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


def rows_around(origins: Nested, destinations: Nested, origin: Ints, destination: Ints, is_rest: npt.NDArray) -> Ints:
    """The rest directly around every row, -1 for none; rows are pairs of areas by number."""
    by_origin = np.argsort(origin, kind="stable")
    sorted_origin = origin[by_origin]
    rests = np.flatnonzero(is_rest)
    cells = origins.tiles[origin[rests]] * destinations.tiles[destination[rests]]
    around = np.full(len(origin), -1, dtype=np.int64)
    for rest in rests[np.argsort(-cells, kind="stable")].tolist():  # smaller ones overwrite larger ones
        a, b = origin[rest], destination[rest]
        low, high = np.searchsorted(sorted_origin, [origins.first[a], a + 1])
        near = by_origin[low:high]
        inside = near[(destination[near] >= destinations.first[b]) & (destination[near] <= b)]
        around[inside[inside != rest]] = rest
    return around


def steps(product: Floats, trips: Floats, around: Ints) -> Floats:
    """How much denser every row is than the row directly around it; `product` is the weight of its two areas."""
    inner = np.flatnonzero(around >= 0)
    alone = product.copy()
    np.subtract.at(alone, around[inner], product[inner])
    density = trips / alone
    step = density.copy()
    step[inner] -= density[around[inner]]
    return step
