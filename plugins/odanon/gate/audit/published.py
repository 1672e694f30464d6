"""What the auditor reads of a published matrix, as plain tables that any store can fill."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import pandas as pd

from odanon.gate.coverage import Coverage, Ints, Line, codes_of
from odanon.gate.woven import places, woven
from odanon.model.release import TOTAL

Stretches = tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True, eq=False)
class Content:
    """The tables of a matrix: what is public, and the restricted rows it was made from.

    `flows`: origin, destination (areas). `origin_tiles`, `destination_tiles`: area, tile. `rows`: time (an instant
    that names the same trip in every matrix), origin, destination (tiles), person, trips; person ids must be
    comparable among the matrices that are audited together; segment, if the row is that of a segment. None: the rows
    are no longer kept. `assignment` (origin, destination, flow) belongs to releases whose areas overlap, or whose flows leave
    pairs out. `beside`: rows of the release that are shown elsewhere, as another segment; no rest counts what they hold. `times` (area,
    tile) are the intervals that flows of a release in time name in their column `time`, and the starts of their bins.
    """

    flows: pd.DataFrame
    origin_tiles: pd.DataFrame
    destination_tiles: pd.DataFrame
    rows: pd.DataFrame | None
    assignment: pd.DataFrame | None = None
    beside: pd.DataFrame | None = None
    times: pd.DataFrame | None = None

    def row_flow(self, rows: pd.DataFrame) -> Ints:
        """The flow or rest that every row counts in, the innermost that holds it; -1 where it is suppressed."""
        if self.assignment is not None and self.times is None:
            told = self.assignment.astype({"origin": "str", "destination": "str"})
            flow = told.set_index(["origin", "destination"])["flow"]
            pairs = pd.MultiIndex.from_arrays([rows[side].astype("str") for side in ("origin", "destination")])
            return flow.reindex(pairs).fillna(-1).to_numpy(np.int64)
        lines = Line.of(self.origin_tiles), Line.of(self.destination_tiles)
        sides = tuple(zip(lines, ("origin", "destination"), strict=True))
        every = pd.concat([self.flows, self.beside]) if self.beside is not None else self.flows
        areas = [line.areas.get_indexer(pd.Index(every[side].astype("str"))) for line, side in sides]
        at = []
        for line, side in sides:
            code, names = codes_of(rows[side])
            at.append(line.positions(names)[code])
        if self.times is None:
            flow = Coverage.of(areas[0], areas[1], *lines).flow_at(at[0], at[1])
        else:
            clock = Line.of(self.times)
            interval = clock.areas.get_indexer(pd.Index(every["time"].astype("str")))
            line, number = woven(lines[0], clock, areas[0], interval)
            code, names = codes_of(rows["time"])
            at[0] = places(lines[0], at[0], clock.positions(names)[code])
            flow = Coverage.of(number, areas[1], line, lines[1]).flow_at(at[0], at[1])
        return np.where(flow < len(self.flows), flow, -1)


@dataclass(frozen=True, eq=False)
class PublishedMatrix:
    """One matrix of a release: a time window, a segment and the promise it was published under.

    `source` names the data it was made from; matrices of different sources have nobody in common to tell apart. `bins`
    are those that its rows are told in, each with its stretches of time in order: one where it adds up several days, and all of a
    release in time; what lies between them is no part of it. Without any, the bin is that from `start` to `end`.
    `segment` is `all`, or conditions such as `sex=F` or `sex=F,age=25-64`. `load` reads the tables and is called only for matrices that
    overlap the candidate.
    """

    release_id: str
    product: str
    source: str
    start: datetime
    end: datetime
    k: int
    unit: str
    load: Callable[[], Content]
    segment: str = TOTAL
    bins: tuple[Stretches, ...] = ()

    @cached_property
    def times(self) -> Stretches:
        """The stretches of time whose trips count, in order."""
        return tuple(sorted(stretch for each in self.bins for stretch in each)) or ((self.start, self.end),)

    def told_in(self, other: "PublishedMatrix") -> bool:
        """Whether the rows of both are told in the same bins where they overlap."""
        return self._bins_in(other) == other._bins_in(self)

    def _bins_in(self, other: "PublishedMatrix") -> set[Stretches]:
        """The bins that share time with another matrix."""
        return {each for each in self.bins or (self.times,) if _meet(each, other.times)}

    @property
    def conditions(self) -> dict[str, str]:
        """The segment as attribute -> value; empty for everybody."""
        if self.segment == TOTAL:
            return {}
        parts = (part.rpartition("=") for part in self.segment.split(","))
        return {name: value for name, _, value in parts}

    @property
    def family(self) -> tuple[str, str, float, str]:
        """Matrices of one family are the parts (days, sexes) that one product is published in."""
        attributes = ",".join(sorted(self.conditions))
        return self.product, attributes, (self.end - self.start).total_seconds(), self.unit

    def overlaps(self, other: "PublishedMatrix") -> bool:
        """Whether one trip can count in both.

        Values of one attribute exclude each other within a release alone: another one may call the same people otherwise.
        """
        mine, theirs = self.conditions, other.conditions
        return (
            self.source == other.source
            and self.start < other.end
            and other.start < self.end
            and _meet(self.times, other.times)
            and (
                self.release_id != other.release_id
                or all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
            )
        )


def _meet(mine: Stretches, theirs: Stretches) -> bool:
    """Whether some stretches of the two, which are in order, overlap."""
    one, two = iter(mine), iter(theirs)
    (start, end), (first, last) = next(one), next(two)
    while not (start < last and first < end):
        follower = next(one, None) if end <= first else next(two, None)
        if follower is None:
            return False
        if end <= first:
            start, end = follower
        else:
            first, last = follower
    return True


def related(candidate: Iterable[PublishedMatrix], others: Iterable[PublishedMatrix]) -> list[PublishedMatrix]:
    """The others that overlap the candidate, or overlap one that does, and so on, by release and start."""
    waiting, found = sorted(others, key=lambda m: (m.start, m.end, m.release_id, m.segment)), []
    frontier = list(candidate)
    while frontier:
        first = min(matrix.start for matrix in frontier)
        last = max(matrix.end for matrix in frontier)
        near = [m for m in waiting if m.start < last and first < m.end and any(m.overlaps(f) for f in frontier)]
        chosen = set(map(id, near))
        waiting = [matrix for matrix in waiting if id(matrix) not in chosen]
        found += near
        frontier = near
    return found
