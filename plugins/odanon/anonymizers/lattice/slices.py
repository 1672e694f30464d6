"""The product nodes of every interval of time: a slice is the lattice of the rows that fall into it.

A matrix without times is one slice. A product node of a slice is one of the slice above as well, where no fewer people travel, so
that the slices are linked node by node. An interval with trips in one part of it only is that part.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.arrays import Axis, Cells, Products, Rows
from odanon.anonymizers.lattice.products import Grown, Origins, Tally, grow
from odanon.anonymizers.trees.problem import Problem

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of a problem, children first, one after the other."""

    problem: Problem
    products: Products
    intervals: Ints  # by slice: its node among the times
    above: Ints  # by slice: the one directly above, itself at the top
    bounds: tuple[Ints, ...]  # by slice: where each of its parts starts, and the end
    tops: tuple[Ints, ...]  # by slice, as in Grown

    @classmethod
    def of(cls, problem: Problem, counted: bool, limit: int) -> "Slices":
        """Build; areas of `limit` tiles and more have no product nodes."""
        origins, tally = Origins.of(problem), Tally()
        if problem.od.time is None:
            cells = np.ones(len(problem.od.pairs.trips), dtype=np.int64) if counted else None
            grown = grow(problem, origins, cells, limit, tally)
            none = np.zeros(1, dtype=np.int64)
            return cls(problem, grown.products, none, none, (grown.bounds,), (grown.tops,))
        intervals, above = _with_trips(problem)
        made = [
            grow(problem.during(int(node)), origins, _cells(problem, int(node)) if counted else None, limit, tally)
            for node in intervals
        ]
        return cls(problem, *_joined(made, intervals, above))

    @cached_property
    def parts(self) -> list[list[tuple[int, int]]]:
        """The parts (first, end) of every slice."""
        return [list(zip(each[:-1].tolist(), each[1:].tolist(), strict=True)) for each in self.bounds]

    def interval_of(self, nodes: Ints) -> Ints:
        """The interval of some product nodes."""
        return self.intervals[np.searchsorted([each[-1] for each in self.bounds], nodes, side="right")]

    @cached_property
    def lengths(self) -> Ints:
        """How long every slice is; 0 without times."""
        times = self.problem.od.times
        return np.zeros(1, dtype=np.int64) if times is None else times.tree.n_tiles[self.intervals]

    @cached_property
    def rows(self) -> Rows:
        """Where to find product nodes."""
        ends = np.array([each[-1] for each in self.bounds])
        number = np.searchsorted(ends, np.arange(len(self.products.origin)), side="right")
        fresh = np.ones(len(number), dtype=bool)
        fresh[1:] = (np.diff(self.products.origin) != 0) | (np.diff(number) != 0)
        first = np.flatnonzero(fresh)
        end = np.append(first[1:], len(number))[: len(first)]
        origin = self.products.origin[first]
        order = np.lexsort((origin, number[first]))
        slice_ = number[first][order].astype(np.int32)
        start = np.searchsorted(slice_, np.arange(len(ends) + 1)).astype(np.int64)
        return Rows(start, origin[order], first[order], end[order], self.above, slice_)

    @cached_property
    def row_of(self) -> npt.NDArray[np.int32]:
        """The row of every product node."""
        row = np.empty(len(self.products.origin), dtype=np.int32)
        lengths = self.rows.end - self.rows.first
        at = np.repeat(self.rows.first - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(row))
        row[at] = np.repeat(np.arange(len(lengths)), lengths)
        return row

    @cached_property
    def above_time(self) -> npt.NDArray[np.int32]:
        """The same product in the slice above, for all but the nodes of the last slice."""
        above = np.full(len(self.products.origin), -1, dtype=np.int32)
        for number in range(len(self.above) - 1):
            kernels.link_slices(number, self.products.destination, self.rows, above)
        return above

    @cached_property
    def cells(self) -> Cells:
        """The trips of every tile pair and bin."""
        pairs, times = self.problem.od.pairs, self.problem.od.times
        bins = np.zeros(len(pairs.trips), dtype=np.int32) if pairs.time is None else pairs.time
        length = np.ones(1, dtype=np.int64) if times is None else times.weight
        return Cells(self.problem.pair_start, pairs.destination, bins, pairs.trips, length)

    @cached_property
    def time(self) -> Axis:
        """The tree over the bins; a single one without times."""
        times = self.problem.od.times
        if times is None:
            return Axis(np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32))
        return Axis(times.tree.n_tiles, times.tree.tile_start, times.tree.tile_end)


def _with_trips(problem: Problem) -> tuple[Ints, Ints]:
    """Intervals in more than one part of which there are trips, and bins with trips; and the one above each."""
    od = problem.od
    assert od.time is not None
    assert od.times is not None
    tree = od.times.tree
    busy = np.bincount(od.time, minlength=tree.n_leaves) > 0
    running = np.concatenate([[0], np.cumsum(busy)])
    filled = running[tree.tile_end] - running[tree.tile_start] > 0
    parts = np.bincount(tree.parent[:-1][filled[:-1]], minlength=len(tree))
    kept = filled & ((parts > 1) | (tree.size == 1))
    number, above = np.cumsum(kept) - 1, []
    for node in np.flatnonzero(kept).tolist():
        up = tree.parent[node]
        while up >= 0 and not kept[up]:
            up = tree.parent[up]
        above.append(number[up] if up >= 0 else number[node])
    return np.flatnonzero(kept), np.array(above, dtype=np.int64)


def _cells(problem: Problem, node: int) -> Ints:
    """The cells of every tile pair in an interval: the length of the bins in which somebody travels."""
    pairs, times = problem.od.pairs, problem.od.times
    assert pairs.time is not None
    assert times is not None
    mine = np.flatnonzero((pairs.time >= times.tree.tile_start[node]) & (pairs.time < times.tree.tile_end[node]))
    origin, destination, length = pairs.origin[mine], pairs.destination[mine], times.weight[pairs.time[mine]]
    fresh = np.ones(len(mine), dtype=bool)
    fresh[1:] = (np.diff(origin) != 0) | (np.diff(destination) != 0)
    return np.add.reduceat(length, np.flatnonzero(fresh))


def _joined(
    made: list[Grown], intervals: Ints, above: Ints
) -> tuple[Products, Ints, Ints, tuple[Ints, ...], tuple[Ints, ...]]:
    """One slice after the other, with links counted from the start."""
    first = np.concatenate([[0], np.cumsum([len(each.products.origin) for each in made])]).astype(np.int64)
    for each, offset in zip(made, first, strict=False):
        for links in (each.products.above_origin, each.products.above_destination):
            links[links >= 0] += np.int32(offset)
    volume = np.result_type(*(each.products.volume for each in made))
    columns = [np.concatenate(column) for column in zip(*(each.products for each in made), strict=True)]
    products = Products(*columns)
    products = products._replace(volume=products.volume.astype(volume, copy=False))
    bounds = tuple(each.bounds + offset for each, offset in zip(made, first, strict=False))
    tops = tuple(each.tops + offset for each, offset in zip(made, first, strict=False))
    return products, intervals, above, bounds, tops
