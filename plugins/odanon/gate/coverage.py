"""Which flow covers which tile pair, from nothing but the tiles that each area lists.

Tiles of a side are laid out on a line, so that an area is a few runs of positions and a flow a few rectangles. One side
is cut at every run's end; then rectangles are disjoint exactly when, cut by cut, their intervals on the other
side are, with traffic on them or not. The order of the line changes the speed and never the answer; areas listed
children first, as releases list them, are one run each.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]


def codes_of(labels: pd.Series) -> tuple[Ints, pd.Index]:
    """A number for every label and the labels by number; -1 where a label is missing."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        return labels.cat.codes.to_numpy().astype(np.int64), labels.cat.categories
    codes, names = pd.factorize(labels)
    return codes.astype(np.int64), pd.Index(names)


def spread(lengths: Ints) -> tuple[Ints, Ints]:
    """For runs of the given lengths, the run of every element and its place in the run."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


@dataclass(frozen=True, eq=False)
class Line:
    """The tiles of one side on a line and the runs of every area: run r of area a, first[a] <= r < first[a + 1]."""

    areas: pd.Index
    tiles: pd.Index  # position -> tile
    first: Ints
    start: Ints
    stop: Ints
    n_tiles: Ints  # distinct tiles of each area

    @classmethod
    def of(cls, table: pd.DataFrame) -> "Line":
        """From a table of (area, tile) in any order."""
        area, areas = codes_of(table["area"].astype("str"))
        tile, tiles = pd.factorize(table["tile"].astype("str"))
        key = np.unique(area * len(tiles) + tile)
        area, tile = np.divmod(key, max(len(tiles), 1))
        fresh = np.ones(len(key), dtype=bool)
        fresh[1:] = np.diff(key) != 1
        fresh[1:] |= np.diff(area) != 0
        at = np.flatnonzero(fresh)
        return cls(
            areas=areas,
            tiles=pd.Index(tiles),
            first=np.searchsorted(area[at], np.arange(len(areas) + 1)),
            start=tile[at],
            stop=tile[np.append(at[1:], len(key)) - 1] + 1 if len(key) else at,
            n_tiles=np.bincount(area, minlength=len(areas)),
        )

    def positions(self, labels: pd.Index) -> Ints:
        """Where each tile lies, -1 for tiles of no area."""
        return self.tiles.get_indexer(pd.Index(labels.astype("str"))).astype(np.int64)

    def holds(self, area: Ints, position: Ints) -> npt.NDArray[np.bool_]:
        """Whether each tile (by position) belongs to each area (by number)."""
        run_key = np.repeat(np.arange(len(self.areas)), np.diff(self.first)) * (len(self.tiles) + 1)
        run = np.searchsorted(run_key + self.start, area * (len(self.tiles) + 1) + position, side="right") - 1
        if not len(self.start):
            return np.zeros(len(area), dtype=bool)
        inside = (run >= self.first[area]) & (position >= 0) & (area >= 0)
        return inside & (position < self.stop[run])


@dataclass(frozen=True, eq=False)
class Coverage:
    """The rectangles of all flows, ready to be searched."""

    cut: Line
    other: Line
    by_destination: bool  # the side that is cut
    edges: Ints
    key: Ints  # (piece, start on the other side), sorted
    stop: Ints
    flow: Ints
    overlapping: int  # flows that share a tile pair with another one

    @classmethod
    def of(cls, origin_area: Ints, destination_area: Ints, origins: Line, destinations: Line) -> "Coverage":
        """From the area numbers of every flow; a flow with an unknown area (-1) covers nothing."""
        sides = (origin_area, origins), (destination_area, destinations)
        known = np.flatnonzero((origin_area >= 0) & (destination_area >= 0))
        pieces = [_pieces(area[known], line) for area, line in sides]
        runs = [np.diff(line.first)[area[known]] for area, line in sides]
        by_destination = int((pieces[1] * runs[0]).sum()) < int((pieces[0] * runs[1]).sum())
        (area, cut), (other_area, other) = sides[::-1] if by_destination else sides
        flow, run, other_run = _rectangles(known, area, other_area, cut, other)
        edges = np.unique(np.concatenate([cut.start, cut.stop]))
        low, high = np.searchsorted(edges, cut.start[run]), np.searchsorted(edges, cut.stop[run])
        rectangle, step = spread(high - low)
        piece, width = low[rectangle] + step, len(other.tiles) + 1
        flow, other_run = flow[rectangle], other_run[rectangle]
        order = np.argsort(piece * width + other.start[other_run], kind="stable")
        piece, flow, other_run = piece[order], flow[order], other_run[order]
        key, end = piece * width + other.start[other_run], piece * width + other.stop[other_run]
        clash = key[1:] < np.maximum.accumulate(end)[:-1]
        return cls(cut, other, by_destination, edges, key, other.stop[other_run], flow, len(np.unique(flow[1:][clash])))

    def flow_at(self, origin: Ints, destination: Ints) -> Ints:
        """The flow that covers each pair of tile positions, -1 where none does."""
        along, across = (destination, origin) if self.by_destination else (origin, destination)
        if not len(self.key):
            return np.full(len(origin), -1, dtype=np.int64)
        piece = np.searchsorted(self.edges, along, side="right") - 1
        wanted = piece * (len(self.other.tiles) + 1) + across
        at = np.searchsorted(self.key, wanted, side="right") - 1
        found = (at >= 0) & (along >= 0) & (across >= 0)
        at = np.maximum(at, 0)
        found &= (self.key[at] // (len(self.other.tiles) + 1) == piece) & (across < self.stop[at])
        return np.where(found, self.flow[at], -1)


def _pieces(area: Ints, line: Line) -> Ints:
    """Into how many pieces each area falls when its line is cut at the ends of all runs."""
    edges = np.unique(np.concatenate([line.start, line.stop]))
    per_run = np.searchsorted(edges, line.stop) - np.searchsorted(edges, line.start)
    total = np.concatenate([[0], np.cumsum(per_run)])
    return total[line.first[area + 1]] - total[line.first[area]]


def _rectangles(known: Ints, area: Ints, other_area: Ints, cut: Line, other: Line) -> tuple[Ints, Ints, Ints]:
    """(flow, run on the cut side, run on the other side) for every rectangle."""
    n_cut, n_other = np.diff(cut.first)[area[known]], np.diff(other.first)[other_area[known]]
    number, step = spread(n_cut * n_other)
    run = cut.first[area[known]][number] + step // n_other[number]
    other_run = other.first[other_area[known]][number] + step % n_other[number]
    return known[number], run, other_run
