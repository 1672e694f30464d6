"""What rests leave to finer rows: the rest directly around every row, and the tile pairs that a row counts for itself.

Rows are disjoint as products of areas, or one lies inside the other and the outer one is a rest. So what a rest counts is its
product less the products of the rows directly inside it, however deep these are nested themselves; and whatever is added up
over all rows around a tile pair, each less what the rest around it adds, is what the innermost row says.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.areas import Areas
from odanon.model.release import REST, Release

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_NOTHING = 1e-9  # a share below this is rounding
Runs = tuple[
    Ints, Ints
]  # by row: the first tile of its area, in an order in which areas are runs, and one past the last


@dataclass(frozen=True, eq=False)
class Regions:
    """What every row of a release counts for itself; `around` is the rest directly around it, -1 for none.

    `whole` measures the product of a row's areas, `own` what the rows directly inside leave of it: in tile pairs, or in any
    other measure that adds up.
    """

    around: Ints
    whole: Floats
    own: Floats

    @classmethod
    def of(cls, release: Release) -> "Regions":
        """In tile pairs, those without traffic included where the hierarchy counts them, times the length of intervals."""
        flows = release.flows
        sizes = [flows[f"{side}_tiles"].to_numpy(np.float64) for side in ("origin", "destination")]
        sides = [(release.origins, flows["origin"]), (release.destinations, flows["destination"])]
        sides += [] if release.times is None else [(release.times, flows["time"])]
        rest = is_rest_row(flows)
        runs = [_runs(areas, labels) for areas, labels in sides] if rest.any() else []
        around = rest_around(runs[0], runs[1], rest, *runs[2:]) if runs else np.full(len(flows), -1, dtype=np.int64)
        return cls.measured(around, sizes[0] * sizes[1] * lengths(release))

    @classmethod
    def measured(cls, around: Ints, whole: Floats) -> "Regions":
        """From how the rows lie in each other and the measure of their products."""
        inside = around >= 0
        return cls(around, whole, whole - np.bincount(around[inside], whole[inside], len(whole)))

    @property
    def share(self) -> Floats:
        """Which share of the product of its areas a row counts for itself."""
        return self.own / self.whole

    def layered(self, volume: Floats) -> Floats:
        """The volume of every row, spread evenly over what it counts for itself, as a density over the whole of its areas.

        It is the row's own density less that of the rest around it, so that the sum over all rows that hold a tile pair is the
        density of the innermost. A rest that nothing is left of is spread over its whole areas.
        """
        density = self.density(volume)
        above = np.append(np.where(self.open, density, 0.0), 0.0)[self.around]
        return density - above

    def density(self, volume: Floats) -> Floats:
        """The volume of every row over what it counts for itself."""
        return volume / np.where(self.open, self.own, self.whole)

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Whether the rows inside leave anything of a row."""
        return self.own > self.whole * _NOTHING


def is_rest_row(flows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which rows are rests."""
    return (flows["kind"] == REST).to_numpy(dtype=np.bool_)


def lengths(release: Release) -> Floats:
    """How long the interval of every row is; 1 without times."""
    if release.times is None:
        return np.ones(len(release.flows))
    number = pd.Index(release.times.label).get_indexer(pd.Index(release.flows["time"].astype("str")))
    return release.times.n_tiles[number].astype(np.float64)


def rest_around(origin: Runs, destination: Runs, rest: npt.NDArray[np.bool_], time: Runs | None = None) -> Ints:
    """The rest directly around every row, -1 for none.

    Rests are laid down piece by piece of the origin side, cut where one of them begins or ends; in a piece they are intervals of
    the destination side that nest. From the last one that begins before a row's own, the way leads outwards to the first that holds it.
    Where rows have times, a piece is one of the origin side in one bin.
    """
    found = np.full(len(rest), -1, dtype=np.int64)
    rests = np.flatnonzero(rest)
    if not len(rests):
        return found
    sides = (origin, destination) if time is None else (origin, destination, time)
    size = np.prod([side[1] - side[0] for side in sides], axis=0, dtype=np.float64)
    rests = rests[np.argsort(-size[rests], kind="stable")]  # of equal intervals in a piece, the larger rest lies around
    edges = np.unique(np.concatenate([origin[0][rests], origin[1][rests]]))
    low, high = (np.searchsorted(edges, side[rests]) for side in origin)
    laid = np.repeat(rests, high - low)
    piece = np.arange(len(laid)) - np.repeat(np.cumsum(high - low) - high, high - low)
    if time is not None:
        bins = time[1][laid] - time[0][laid]
        at = np.arange(bins.sum()) - np.repeat(np.cumsum(bins) - bins - time[0][laid], bins)
        laid, piece = np.repeat(laid, bins), at * len(edges) + np.repeat(piece, bins)
    order = np.lexsort((-destination[1][laid], destination[0][laid], piece))
    laid, piece = laid[order], piece[order]
    width = int(destination[1].max()) + 1
    outwards = _outwards(piece * width + destination[0][laid], piece * width + destination[1][laid])
    home = np.searchsorted(edges, origin[0], side="right") - 1
    if time is not None:
        home = np.where(home >= 0, time[0] * len(edges) + home, -1)
    at = np.searchsorted(piece * width + destination[0][laid], home * width + destination[0], side="right") - 1
    row = np.flatnonzero((at >= 0) & (home >= 0))
    at = at[row]
    while len(row):
        over = laid[at]
        holds = (piece[at] == home[row]) & (over != row)
        for side in sides:
            holds &= (side[0][over] <= side[0][row]) & (side[1][row] <= side[1][over])
        found[row[holds]] = over[holds]
        row, at = row[~holds], outwards[at[~holds]]
        row, at = row[at >= 0], at[at >= 0]
    return found


def _outwards(start: Ints, stop: Ints) -> Ints:
    """The interval directly around each, -1 for none; they nest, and are given as they begin, outer ones first."""
    outer: list[int] = []
    opened: list[int] = []
    stops = stop.tolist()
    for number, begin in enumerate(start.tolist()):
        while opened and stops[opened[-1]] <= begin:
            opened.pop()
        outer.append(opened[-1] if opened else -1)
        opened.append(number)
    return np.array(outer, dtype=np.int64)


def _runs(areas: Areas, labels: pd.Series) -> Runs:
    """The run of tiles of every row's area; beside rests, areas are zones, whose tiles have ranks in a row."""
    number = pd.Index(areas.label).get_indexer(pd.Index(labels.astype("str")))
    first = np.minimum.reduceat(areas.members, areas.start[:-1]).astype(np.int64)
    return first[number], first[number] + np.diff(areas.start)[number]
