"""Local days as instants, right on days of 23 and 25 hours; the bins of a window and the tree over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import groupby
from math import gcd
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy

_WEEK, _WINDOW = 7 * 24, 0
STEPS = (1, 3, 6, 12, 24, _WEEK, _WINDOW)  # hours of the intervals above a bin
_SECOND = timedelta(seconds=1)


def day_window(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The UTC instants at which a local day starts and ends."""
    start = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC)


@dataclass(frozen=True, eq=False)
class Times:
    """Bins in order, each from its start to its end, and a tree whose leaves they are.

    `tree.n_tiles` is |t|: how long an interval is, in parts of the largest length that divides all bins, so that bins of one length
    count 1. Numbers of a flow are spread evenly over its time, hence over bins in proportion to it.
    """

    start: tuple[datetime, ...]
    end: tuple[datetime, ...]
    tree: Hierarchy
    clock: tuple[datetime, ...] = ()  # local time at which each bin starts
    seconds: tuple[int, ...] = ()  # how long each bin is, on all the days that it adds up

    @classmethod
    def of(
        cls,
        bins: Sequence[tuple[datetime, datetime]],
        clock: Sequence[datetime] | None = None,
        seconds: Sequence[int] | None = None,
    ) -> "Times":
        """Bins (start, end) that follow one another; `clock` is the local time at which each starts, by itself if not given.

        Bins lie in one interval of 1, 3, 6 or 12 hours, a day or a week if the local clock says so. `seconds` are given where
        bins add up several days.
        """
        if not bins:
            raise OdanonError("there are no time bins; give at least one")
        start, end = (tuple(each) for each in zip(*bins, strict=True))
        if any(first >= last for first, last in bins) or any(a > b for a, b in zip(end, start[1:], strict=False)):
            raise OdanonError("time bins must end after they start and follow one another without overlap")
        local = start if clock is None else tuple(clock)
        length = tuple(round((last - first) / _SECOND) for first, last in bins) if seconds is None else tuple(seconds)
        return cls(start, end, _tree(start, end, local, length), local, length)

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def weight(self) -> npt.NDArray[np.int64]:
        """|t| of every bin."""
        return self.tree.n_tiles[self.tree.tiles]

    def bounds(self, labels: Iterable[str]) -> tuple[list[datetime], list[datetime]]:
        """When the intervals of some labels start and end."""
        node = {label: number for number, label in enumerate(self.tree.label.tolist())}
        at = [node[label] for label in labels]
        first, last = self.tree.tile_start[at], self.tree.tile_end[at] - 1
        return [self.start[number] for number in first.tolist()], [self.end[number] for number in last.tolist()]


def _tree(
    start: Sequence[datetime], end: Sequence[datetime], local: Sequence[datetime], seconds: Sequence[int]
) -> Hierarchy:
    """Bins are merged level by level; an interval that holds one only is that one."""
    part = gcd(*seconds)
    label, parent, length = [], [], []
    # (first bin, end, local start, position) of the intervals at hand
    at = []
    for number, each in enumerate(local):
        at.append((number, number + 1, each, number))
        label.append(_label(start[number], end[number]))
        parent.append(-1)
        length.append(seconds[number] // part)
    for hours in STEPS:
        above = []
        for _, group in groupby(at, key=lambda interval: _slot(interval[2], hours)):
            inside = list(group)
            if len(inside) == 1:
                above += inside
                continue
            first, last = inside[0][0], inside[-1][1]
            for _, _, _, position in inside:
                parent[position] = len(label)
            above.append((first, last, inside[0][2], len(label)))
            length.append(sum(length[position] for _, _, _, position in inside))
            label.append(_label(start[first], end[last - 1]))
            parent.append(-1)
        at = above
    return Hierarchy.from_parents(label, parent, kind="time", n_tiles=np.array(length, dtype=np.int64))


def _slot(moment: datetime, hours: int) -> tuple[object, ...]:
    """What bins of one interval have in common."""
    if hours == _WINDOW:
        return ()
    return tuple(moment.isocalendar()[:2]) if hours == _WEEK else (moment.date(), moment.hour // hours)


def _label(start: datetime, end: datetime) -> str:
    """An ISO 8601 interval; siblings sort by it."""
    return f"{start.isoformat()}/{end.isoformat()}"
