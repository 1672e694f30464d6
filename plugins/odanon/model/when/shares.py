"""Which share of the times of rows is asked for: their clock on all days that they may be of, against the instants of a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from odanon.model.when.clock import Piece
from odanon.model.when.question import When

_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000  # in microseconds
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Steps = tuple[Ints, Ints]  # starts and ends, microseconds since 1970


@dataclass(frozen=True, eq=False)
class AskedTime:
    """The pieces of a release as columns, in microseconds (`Piece`), and what of them a question asks for by day type and clock."""

    start: Ints
    end: Ints
    since: Ints
    until: Ints
    at: Ints
    days: Floats
    chosen: npt.NDArray[np.bool_]  # on days that are asked for
    spans: list[tuple[int, int]]  # of the clock that are asked for

    @classmethod
    def of(cls, pieces: Sequence[Piece], when: When) -> "AskedTime":
        """Of the days and the clock that are asked for; since and until are not looked at."""
        instants = [[microseconds(getattr(piece, name)) for piece in pieces] for name in ("start", "end", "at")]
        start, end, at = (np.array(each, dtype=np.int64) for each in instants)
        clock = [[getattr(piece, name) * _SECOND for piece in pieces] for name in ("since", "until")]
        since, until = (np.array(each, dtype=np.int64) for each in clock)
        days = np.array([piece.days for piece in pieces], dtype=np.float64)
        chosen = np.array([piece.is_of(when.days) for piece in pieces], dtype=bool)
        return cls(start, end, since, until, at, days, chosen, [(a * _SECOND, b * _SECOND) for a, b in when.spans])

    @cached_property
    def total(self) -> float:
        """How many seconds of all its days a release is of."""
        return float((self.days * (self.until - self.since)).sum() / _SECOND)

    def lengths(self, start: Ints, end: Ints) -> Floats:
        """How many seconds of all their days rows are that tell their time as from start to end."""
        row, piece, low, high = self._clocks(start, end)
        return np.bincount(row, self.days[piece] * (high - low), minlength=len(start)) / _SECOND

    def between(self, start: Ints, end: Ints) -> Floats:
        """How many seconds of what is asked for lie between instants."""
        edges, _, passed = self._passed
        first, last = (np.interp(at, edges, passed) for at in (start, end))
        return last - first

    def covered(self, start: Ints, end: Ints) -> Floats:
        """How many seconds between instants the release may tell of, where they are asked for."""
        edges, met, _ = self._passed
        first, last = (np.interp(at, edges, met) for at in (start, end))
        return last - first

    def shares(self, start: Ints, end: Ints, steps: Steps) -> tuple[Ints, Ints, Floats, Floats]:
        """Which share of the times of rows every step asks for, where it asks for any.

        Numbers of row and step, the share, and how many seconds of all days that is. Steps follow one another. A share is 1 only if all
        days that the row may be of are asked for, and more than nothing if one of them is.
        """
        times, place = np.unique(np.stack([start, end], axis=1), axis=0, return_inverse=True)
        number, step, seconds = self._by_step(times[:, 0], times[:, 1], steps)
        share = seconds / self.lengths(times[:, 0], times[:, 1])[number]
        many = np.bincount(number, minlength=len(times))
        first, place = np.cumsum(many) - many, place.reshape(-1)
        row = np.repeat(np.arange(len(start)), many[place])
        found = _counted(first[place], many[place])
        return row, step[found], share[found], seconds[found]

    def _by_step(self, start: Ints, end: Ints, steps: Steps) -> tuple[Ints, Ints, Floats]:
        """Numbers of time and step, in order, and how many seconds of the one the other asks for."""
        number, first, last, days = self._stretches(start, end)
        low, high = np.searchsorted(steps[1], first, side="right"), np.searchsorted(steps[0], last, side="left")
        many = np.maximum(high - low, 0)
        at, step = np.repeat(np.arange(len(first)), many), _counted(low, many)
        inside = np.minimum(last[at], steps[1][step]) - np.maximum(first[at], steps[0][step])
        key, group = np.unique(number[at] * len(steps[0]) + step, return_inverse=True)
        seconds = np.bincount(group, days[at] * inside, minlength=len(key)) / _SECOND
        met = seconds > 0
        return key[met] // len(steps[0]), key[met] % len(steps[0]), seconds[met]

    def _stretches(self, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Floats]:
        """Number of time, first and last instant, and days of all stretches that are asked for of some times."""
        row, piece, low, high = self._clocks(start, end)
        parts = []
        for since, until in self.spans:
            first, last = np.maximum(low, since), np.minimum(high, until)
            some = np.flatnonzero((first < last) & self.chosen[piece])
            moved = (self.at - self.since)[piece[some]]
            parts.append((row[some], first[some] + moved, last[some] + moved, self.days[piece[some]]))
        number, first, last, days = (np.concatenate(each) for each in zip(*parts, strict=True))
        return number, first, last, days

    def _clocks(self, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Numbers of time and piece that have some time in common, and from when to when that is on the clock of the piece."""
        row, piece = np.nonzero((start[:, None] < self.end) & (end[:, None] > self.start))
        since, until = self.since[piece], self.until[piece]
        told = self.start[piece], self.end[piece]
        pace = (until - since) / (told[1] - told[0])
        low = since + np.rint((np.maximum(start[row], told[0]) - told[0]) * pace).astype(np.int64)
        high = until - np.rint((told[1] - np.minimum(end[row], told[1])) * pace).astype(np.int64)
        return row, piece, low, high

    @cached_property
    def _passed(self) -> tuple[Ints, Floats, Floats]:
        """Instants, and how much of what is asked for has passed by them: by the clock, and on all days."""
        if not len(self.start):
            return np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
        _, first, last, days = self._stretches(self.start.min()[None], self.end.max()[None])
        edges = np.unique(np.concatenate([first, last, self.at[:1]]))
        at = np.searchsorted(edges, first), np.searchsorted(edges, last)
        found = []
        for weight in (np.ones(len(days)), days):
            change = [np.bincount(each, weight, minlength=len(edges)) for each in at]
            found.append(np.cumsum(change[0] - change[1])[:-1])
        many, speed = np.rint(found[0]), np.where(np.rint(found[0]) > 0, found[1], 0.0)
        length = np.diff(edges) / _SECOND
        met, passed = (np.append(0.0, np.cumsum(each * length)) for each in (many > 0, speed))
        return edges, met, passed


def _counted(first: Ints, many: Ints) -> Ints:
    """As many whole numbers as is said, from every first one on."""
    return np.arange(many.sum()) + np.repeat(first - (np.cumsum(many) - many), many)


def all_time(pieces: Sequence[Piece]) -> AskedTime:
    """The time of a release, all of it asked for."""
    return AskedTime.of(pieces, When(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)))


def days_behind(pieces: Sequence[Piece], when: When, steps: Steps) -> Floats:
    """How many days a release tells of in every step, of those that are asked for; of one in part, the mean of the step."""

    def day(piece: Piece) -> date:
        return piece.day

    found = np.zeros(len(steps[0]))
    for _, here in groupby(sorted(pieces, key=day), key=day):
        time = AskedTime.of([*here], when)
        covered = time.covered(*steps)
        found += np.divide(time.between(*steps), covered, out=np.zeros(len(found)), where=covered > 0)
    return found


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
