"""Local days and the windows made of them, right on days of 23 and 25 hours; the bins of a window and the tree over them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import groupby
from math import gcd
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy

Length = Literal["day", "week", "month"]  # of what one release covers
LENGTHS: tuple[Length, ...] = get_args(Length)
_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)
_WEEK, _WINDOW = 7 * 24, 0
STEPS = (1, 3, 6, 12, 24, _WEEK, _WINDOW)  # hours of the intervals above a bin
_SOME_MONDAY = datetime(2000, 1, 3)  # on which the first type of days is laid, the others on the days after it


def day_window(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The UTC instants at which a local day starts and ends."""
    return window_instants(day, zone)


def window_instants(start: date, zone: ZoneInfo, length: Length = "day") -> tuple[datetime, datetime]:
    """The UTC instants at which a window of local days starts and ends."""
    moments = (datetime.combine(day, time(), zone) for day in (start, next_window(start, length)))
    first, end = (moment.astimezone(UTC) for moment in moments)
    return first, end


def window_start(day: date, length: Length) -> date:
    """The first day of the window that holds a day; weeks begin on Monday."""
    if length == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if length == "week" else day


def next_window(start: date, length: Length) -> date:
    """The first day of the window after the one that starts on a day."""
    if length == "month":
        return (start + timedelta(days=31)).replace(day=1)
    return start + (timedelta(days=7) if length == "week" else _DAY)


def days_of(start: date, length: Length) -> list[date]:
    """The days of the window that starts on a day."""
    return [start + timedelta(days=n) for n in range((next_window(start, length) - start).days)]


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

    @classmethod
    def of_told(cls, told: Sequence[Mapping[str, Any]]) -> "Times":
        """The bins that a manifest tells of a window longer than a day; those that none of its days has are left out.

        A bin lasts as long as its span of the clock on all its days. Those of one type of days lie in one day.
        """
        some = [each for each in told if each["days"]]
        types = list(dict.fromkeys(each["day_type"] for each in some))
        spans = [(_minutes(each["since"]), _minutes(each["until"])) for each in some]
        clock = [
            _SOME_MONDAY + timedelta(days=types.index(each["day_type"]), minutes=since)
            for each, (since, _) in zip(some, spans, strict=True)
        ]
        return cls.of(
            [(datetime.fromisoformat(each["time_bin"]), datetime.fromisoformat(each["time_end"])) for each in some],
            clock,
            [60 * (until - since) * each["days"] for each, (since, until) in zip(some, spans, strict=True)],
        )

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def weight(self) -> npt.NDArray[np.int64]:
        """|t| of every bin."""
        return self.tree.n_tiles[self.tree.tiles]

    def length(self, start: Iterable[datetime], end: Iterable[datetime]) -> npt.NDArray[np.float64]:
        """How much of the bins lies between two moments, for some of them, in seconds; a part of a bin counts as it is long."""
        edges = [moment.timestamp() for each in zip(self.start, self.end, strict=True) for moment in each]
        passed = np.repeat(np.cumsum((0, *self.seconds)), 2)[1:-1]
        first, last = (np.interp([at.timestamp() for at in side], edges, passed) for side in (start, end))
        return last - first

    def bounds(self, labels: Iterable[str]) -> tuple[list[datetime], list[datetime]]:
        """When the intervals of some labels start and end."""
        node = {label: number for number, label in enumerate(self.tree.label.tolist())}
        at = [node[label] for label in labels]
        first, last = self.tree.tile_start[at], self.tree.tile_end[at] - 1
        return [self.start[number] for number in first.tolist()], [self.end[number] for number in last.tolist()]


def told_times(manifest: Mapping[str, Any]) -> Times | None:
    """The bins of a release whose rows are of several of them, where these are not as long as the clock says."""
    return Times.of_told(manifest["bins"]) if "intervals" in manifest else None


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


def _minutes(clock: str) -> int:
    """Minutes of a day at a clock time; 24:00 is its end."""
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


def _label(start: datetime, end: datetime) -> str:
    """An ISO 8601 interval; siblings sort by it."""
    return f"{start.isoformat()}/{end.isoformat()}"
