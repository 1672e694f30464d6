"""Which row of a release covers which tile pair, from nothing but the tiles that each area lists.

Tiles of a side are laid out on a line, so that an area is a few runs of positions and a row a few rectangles. One side
is cut at every run's end; then, cut by cut, a row is a few intervals on the other side. Rows may lie inside each other, and
a tile pair belongs to the innermost row that holds it: rows nest as products exactly when, in every cut, intervals
are disjoint or nested, and the row of an inner interval lies inside the row of the one around it, with traffic or not. The
order of the line changes the speed and never the answer; areas listed children first, as releases list them, are one run each.
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
        run = self._run_at(area, position)
        if not len(self.start):
            return np.zeros(len(area), dtype=bool)
        inside = (run >= self.first[area]) & (position >= 0) & (area >= 0)
        return inside & (position < self.stop[run])

    def within(self, inner: Ints, outer: Ints) -> npt.NDArray[np.bool_]:
        """Whether each inner area (by number) lies wholly in the outer one; runs of an area never touch."""
        number, step = spread(np.diff(self.first)[inner])
        run = self.first[inner][number] + step
        around = self._run_at(outer[number], self.start[run])
        inside = (around >= self.first[outer[number]]) & (self.stop[run] <= self.stop[around])
        return np.bincount(number[~inside], minlength=len(inner)) == 0

    def _run_at(self, area: Ints, position: Ints) -> Ints:
        """The last run up to each position, of each area if it is one of its runs at all."""
        run_key = np.repeat(np.arange(len(self.areas)), np.diff(self.first)) * (len(self.tiles) + 1)
        wanted = area * (len(self.tiles) + 1) + position
        return np.searchsorted(run_key + self.start, wanted, side="right").astype(np.int64) - 1


@dataclass(frozen=True, eq=False)
class Coverage:
    """The rectangles of all rows, ready to be searched, and how the rows lie inside each other."""

    cut: Line
    other: Line
    by_destination: bool  # the side that is cut
    edges: Ints
    key: Ints  # (piece, start on the other side), sorted, outer intervals first
    stop: Ints
    flow: Ints
    around: Ints  # by interval: the one directly around it, -1 for none
    inner: Ints  # rows that lie inside another one ...
    outer: Ints  # ... and the row directly around each
    crossing: Ints  # rows that share tile pairs with one that they do not lie inside, or that holds no more

    @classmethod
    def of(cls, origin_area: Ints, destination_area: Ints, origins: Line, destinations: Line) -> "Coverage":
        """From the area numbers of every row; a row with an unknown area (-1) covers nothing."""
        sides = (origin_area, origins), (destination_area, destinations)
        known = np.flatnonzero((origin_area >= 0) & (destination_area >= 0))
        # Larger rows first, so that of intervals that are alike in one cut the row that may lie around comes first.
        cells = origins.n_tiles[origin_area[known]] * destinations.n_tiles[destination_area[known]]
        known = known[np.argsort(-cells, kind="stable")]
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
        start, stop = other.start[other_run], other.stop[other_run]
        order = np.lexsort((-stop, piece * width + start))
        piece, flow, start, stop = piece[order], flow[order], start[order], stop[order]
        around = _around(piece * width + start, piece * width + stop)
        inside = np.flatnonzero(around >= 0)
        n_rows = len(origin_area) + 1
        inner, outer = np.divmod(pd.unique(flow[inside] * n_rows + flow[around[inside]]), n_rows)
        held, smaller = np.ones(len(inner), dtype=bool), np.zeros(len(inner), dtype=bool)
        for areas, line in sides:
            held &= line.within(areas[inner], areas[outer])
            smaller |= line.n_tiles[areas[inner]] < line.n_tiles[areas[outer]]
        held &= smaller
        crossing = np.unique(inner[~held])
        key, inner, outer = piece * width + start, inner[held], outer[held]
        return cls(cut, other, by_destination, edges, key, stop, flow, around, inner, outer, crossing)

    def flow_at(self, origin: Ints, destination: Ints) -> Ints:
        """The innermost row that covers each pair of tile positions, -1 where none does."""
        along, across = (destination, origin) if self.by_destination else (origin, destination)
        found = np.full(len(origin), -1, dtype=np.int64)
        if not len(self.key):
            return found
        width = len(self.other.tiles) + 1
        piece = np.searchsorted(self.edges, along, side="right") - 1
        at = np.searchsorted(self.key, piece * width + across, side="right") - 1
        searched = np.flatnonzero((at >= 0) & (along >= 0) & (across >= 0))
        searched = searched[self.key[at[searched]] // width == piece[searched]]
        at = at[searched]
        while len(searched):
            holds = across[searched] < self.stop[at]
            found[searched[holds]] = self.flow[at[holds]]
            searched, at = searched[~holds], self.around[at[~holds]]
            searched, at = searched[at >= 0], at[at >= 0]
        return found


def _around(start: Ints, stop: Ints) -> Ints:
    """The interval directly around each, -1 for none; `start` ascends, and intervals that cross are told by their stops.

    As many intervals lie around one as began before it and have not ended; the one directly around it is the last
    before it that has one fewer.
    """
    depth = np.arange(len(start)) - np.searchsorted(np.sort(stop), start, side="right")
    by_depth = np.argsort(depth, kind="stable")
    first = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=0) + 2))
    around = np.full(len(start), -1, dtype=np.int64)
    for level in range(1, len(first) - 1):
        shallower, here = by_depth[first[level - 1] : first[level]], by_depth[first[level] : first[level + 1]]
        around[here] = shallower[np.searchsorted(shallower, here) - 1]
    return around


def _pieces(area: Ints, line: Line) -> Ints:
    """Into how many pieces each area falls when its line is cut at the ends of all runs."""
    edges = np.unique(np.concatenate([line.start, line.stop]))
    per_run = np.searchsorted(edges, line.stop) - np.searchsorted(edges, line.start)
    total = np.concatenate([[0], np.cumsum(per_run)])
    return total[line.first[area + 1]] - total[line.first[area]]


def _rectangles(known: Ints, area: Ints, other_area: Ints, cut: Line, other: Line) -> tuple[Ints, Ints, Ints]:
    """(row, run on the cut side, run on the other side) for every rectangle."""
    n_cut, n_other = np.diff(cut.first)[area[known]], np.diff(other.first)[other_area[known]]
    number, step = spread(n_cut * n_other)
    run = cut.first[area[known]][number] + step // n_other[number]
    other_run = other.first[other_area[known]][number] + step % n_other[number]
    return known[number], run, other_run
