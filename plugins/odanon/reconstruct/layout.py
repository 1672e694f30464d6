"""The rows of a release laid out over nested areas, ready for any way to read it back."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.areas import Areas
from odanon.model.release import Release
from odanon.reconstruct.fitted import fitted_weights
from odanon.reconstruct.nested import Floats, Ints, Nested
from odanon.reconstruct.rests import Regions, lengths


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows as pairs of areas by number, the areas of both sides, and the row directly around every row."""

    areas: tuple[Areas, Areas]  # of both sides, children first
    origins: Nested
    destinations: Nested
    origin: Ints
    destination: Ints
    around: Ints
    length: Floats  # of the interval of each row, 1 without times

    @classmethod
    def of(cls, release: Release) -> "Layout | None":
        """None where areas do not nest, as boxes do not."""
        out, into = _children_first(release.origins), _children_first(release.destinations)
        if out is None or into is None:
            return None
        (o_areas, origins), (d_areas, destinations) = out, into
        flows = release.flows
        origin, destination = _numbers(o_areas, flows["origin"]), _numbers(d_areas, flows["destination"])
        around = Regions.of(release).around
        return cls((o_areas, d_areas), origins, destinations, origin, destination, around, lengths(release))

    def layered(self, trips: Floats, leave: Floats | None = None, enter: Floats | None = None) -> Floats:
        """The trips of every row as a density over weights of areas, or over tiles (`Regions.layered`)."""
        out = self.origins.tiles if leave is None else leave
        into = self.destinations.tiles if enter is None else enter
        whole = out[self.origin] * into[self.destination] * self.length
        return Regions.measured(self.around, whole).layered(trips)

    def fitted(self, trips: Floats) -> tuple[Floats, Floats]:
        """Weights of the own parts of both sides that fit the published numbers (`odanon.reconstruct.fitted`)."""
        return fitted_weights(self.origins, self.destinations, self.origin, self.destination, trips, self.around)

    def by_tile(self, side: int, weight: Floats, tiles: npt.NDArray[np.integer]) -> Floats:
        """The weight of each of the given tiles (ranks): an equal part of that of the smallest area around it, 0 outside."""
        areas, nested = self.areas[side], (self.origins, self.destinations)[side]
        smallest = np.full(int(max(tiles.max(initial=0), areas.members.max(initial=0))) + 1, -1)
        number = np.repeat(np.arange(len(areas.label)), np.diff(areas.start))
        smallest[areas.members[::-1]] = number[::-1]  # areas come children first, and the last one written stays
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.append(np.where(nested.own > 0, weight / nested.own, 0.0), 0.0)
        return each[smallest[tiles]]


def _numbers(areas: Areas, names: pd.Series) -> Ints:
    return pd.Index(areas.label).get_indexer(pd.Index(names.astype("str"))).astype(np.int64)


def _children_first(areas: Areas) -> tuple[Areas, Nested] | None:
    """Areas in the order of the nodes of a tree, if they are runs of tiles that nest."""
    if not len(areas.label):
        return areas, Nested.of_runs(areas.start[:0], areas.start[:0], areas.n_tiles)
    start, end = (
        areas.members[areas.start[:-1]].astype(np.int64),
        areas.members[areas.start[1:] - 1].astype(np.int64) + 1,
    )
    steps_of_one = np.diff(areas.members) == 1
    steps_of_one[areas.start[1:-1] - 1] = True  # from one area to the next
    if not steps_of_one.all() or (end - start != np.diff(areas.start)).any():
        return None
    order = np.lexsort((areas.n_tiles, -start, end))
    nested = Nested.of_runs(start[order], end[order], areas.n_tiles[order])
    return (areas.take(order), nested) if _nest(start[order], end[order]) else None


def _nest(start: npt.NDArray, end: npt.NDArray) -> bool:
    """Whether no two runs cross; they are sorted by their ends."""
    first = np.searchsorted(end, start, side="right")
    return all(start[low : n + 1].min() >= start[n] for n, low in enumerate(first.tolist()))
