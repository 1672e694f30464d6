"""How the times of a release lie on days and clocks, and which share of each of them is asked for.

A release is of *pieces* of time: stretches in which instants and the clock pass alike, on days of one type. A day has one, and two where
clocks are turned; a week or month has one for each of its time bins, which adds up several days (docs/algorithms.md, Bounds).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from odanon.model.when.question import DAYS, SUNDAY_HOLIDAY, WEEKDAYS, WORKING, When
from odanon.model.window import days_of

_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_WORKING_DAYS = 5  # of a week
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Stretch = tuple[datetime, datetime]


@dataclass(frozen=True)
class Piece:
    """From start to end the clock goes from the second `since` of a day to the second `until`, on `days` days at once.

    `of_days` says by name (DAYS) which share of these days each type is.
    """

    start: datetime
    end: datetime
    since: int
    until: int
    days: int
    of_days: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """How long it is on all its days."""
        return float((self.until - self.since) * self.days)

    def asked(self, when: When) -> Iterator[Stretch]:
        """Its stretches that a span of the clock asks for."""
        length = self.end - self.start
        for first, last in when.spans:
            low, high = max(first, self.since), min(last, self.until)
            if low < high:
                ends = ((at - self.since) / (self.until - self.since) for at in (low, high))
                since, until = (self.start + length * at for at in ends)
                yield since, until

    def share(self, days: str | None) -> float:
        """Which share of its days is of a type."""
        return 1.0 if days is None else self.of_days[DAYS.index(days)]


def pieces_of(manifest: Mapping[str, Any]) -> list[Piece]:
    """The pieces of time that a release is of, in order."""
    length, start = manifest.get("window", "day"), date.fromisoformat(manifest["window_start"])
    zone = ZoneInfo(manifest.get("timezone") or "UTC")
    if length == "day":
        # Without a time zone a day may be one anywhere on Earth.
        around = (0,) if manifest.get("timezone") is not None else (-1, 0, 1)
        days = [start + timedelta(days=n) for n in around]
        return [piece for day in days for piece in _of_day(day, zone)]
    missing = {*manifest.get("missing_days", ())}
    days = [day for day in days_of(start, length) if day.isoformat() not in missing]
    return sorted((_of_bin(told, days) for told in manifest["bins"] if told["days"]), key=lambda piece: piece.start)


def _of_day(day: date, zone: ZoneInfo) -> Iterator[Piece]:
    """A day from one turn of its clock to the next."""
    of_days = _shares(WEEKDAYS[day.weekday()], [day])
    start, end = (datetime.combine(each, time(), zone).astimezone(UTC) for each in (day, day + timedelta(days=1)))
    midnight = datetime.combine(day, time(), UTC)
    turns = [at for at in _quarters(start, end) if _offset(at, zone) != _offset(at - _MICROSECOND, zone)]
    for first, last in zip([start, *turns], [*turns, end], strict=True):
        since = round((first + _offset(first, zone) - midnight) / _SECOND)
        yield Piece(first, last, since, since + round((last - first) / _SECOND), 1, of_days)


def _quarters(start: datetime, end: datetime) -> Iterator[datetime]:
    """Where clocks may be turned."""
    if (end - start) == timedelta(days=1):
        return
    quarter = timedelta(minutes=15)
    yield from (start + n * quarter for n in range(1, (end - start) // quarter))


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


def _of_bin(told: Mapping[str, Any], days: Sequence[date]) -> Piece:
    """A time bin of a longer window; where its end is not told, its clock is not turned on the day that it is named after."""
    since, until = (60 * int(told[name][:2]) * 60 + 60 * int(told[name][3:]) for name in ("since", "until"))
    start = datetime.fromisoformat(told["time_bin"])
    end = datetime.fromisoformat(told["time_end"]) if "time_end" in told else start + timedelta(seconds=until - since)
    return Piece(start, end, since, until, told["days"], _shares(told["day_type"], days, told["days"]))


def _shares(told: str, days: Sequence[date], number: int = 1) -> tuple[float, ...]:
    """By name, which share of days of a type that a release tells each type may be asked for is.

    A day of a week is a working one from Monday to Friday. Where the release tells types, their days of the week are not told: a working day is any of
    five, and of those that are called Sundays and holidays as many are Sundays as the window has.
    """
    count = dict.fromkeys(WEEKDAYS, 0)
    for day in days:
        count[WEEKDAYS[day.weekday()]] += 1
    share: dict[str, float]
    if told in WEEKDAYS:
        share = {told: 1.0}
    elif told == WORKING:
        share = dict.fromkeys(WEEKDAYS[:_WORKING_DAYS], 1 / _WORKING_DAYS) | {WORKING: 1.0}
    elif told == SUNDAY_HOLIDAY:
        sunday = min(1.0, count["sunday"] / number)
        share = dict.fromkeys(WEEKDAYS[:_WORKING_DAYS], (1 - sunday) / _WORKING_DAYS)
        share |= {"sunday": sunday, WORKING: 0.0, SUNDAY_HOLIDAY: 1.0}
    else:
        share = {name: many / len(days) for name, many in count.items()}
    working = sum((share.get(name, 0.0) for name in WEEKDAYS[:_WORKING_DAYS]), 0.0)
    share = {WORKING: working, SUNDAY_HOLIDAY: share.get("sunday", 0.0), **share}
    return tuple(share.get(name, 0.0) for name in DAYS)


@dataclass(frozen=True, eq=False)
class Passed:
    """How much of the time of a release has passed by any instant (`all`), and how much of what is asked for (`some`)."""

    edges: Ints  # microseconds since 1970
    all: Floats
    some: Floats

    @classmethod
    def of(cls, pieces: Sequence[Piece], when: When) -> "Passed":
        """Of the days and the clock that are asked for; since and until are not looked at."""
        parts = []  # start, end, speed of all time, speed of what is asked
        for piece in pieces:
            speed = piece.seconds / ((piece.end - piece.start) / _SECOND)
            stretches = [*piece.asked(when)] if (share := piece.share(when.days)) else []
            turns = sorted({piece.start, piece.end, *(at for each in stretches for at in each)})
            for first, last in pairwise(turns):
                inside = any(since <= first and last <= until for since, until in stretches)
                parts.append((microseconds(first), microseconds(last), speed, speed * share * inside))
        edges = np.array([at for part in parts for at in part[:2]], dtype=np.int64)
        length = np.diff(edges)[::2] * 1e-6
        total = [np.cumsum(np.append(0.0, length * [part[n] for part in parts])) for n in (2, 3)]
        return cls(edges, *(np.repeat(each, 2)[1:-1] for each in total))

    def of_all(self, start: Ints, end: Ints) -> Floats:
        """How much lies between instants."""
        return self._between(self.all, start, end)

    def asked(self, start: Ints, end: Ints) -> Floats:
        """How much of what is asked for lies between instants."""
        return self._between(self.some, start, end)

    def _between(self, passed: Floats, start: Ints, end: Ints) -> Floats:
        first, last = (np.interp(at, self.edges, passed) for at in (start, end))
        return last - first


def all_time(pieces: Sequence[Piece]) -> Passed:
    """How much of the time of a release has passed by any instant."""
    return Passed.of(pieces, When(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)))


def step_shares(passed: Passed, start: Ints, end: Ints, steps: tuple[Ints, Ints]) -> tuple[Ints, Ints, Floats, Floats]:
    """Which share of some times, from start to end, every step asks for, where it asks for any.

    Numbers of time and step, the share, and how many seconds of all days that is. Steps, starts and ends, follow one another.
    """
    first, last = steps
    low, high = np.searchsorted(last, start, side="right"), np.searchsorted(first, end, side="left")
    many = np.maximum(high - low, 0)
    at = np.repeat(np.arange(len(start)), many)
    step = np.arange(len(at)) - np.repeat(np.cumsum(many) - many - low, many)
    some = passed.asked(np.maximum(start[at], first[step]), np.minimum(end[at], last[step]))
    met = some > 0
    at, step, some = at[met], step[met], some[met]
    return at, step, some / passed.of_all(start, end)[at], some


def days_behind(pieces: Sequence[Piece], when: When, steps: tuple[Ints, Ints]) -> Floats:
    """How many days a release tells of in every step: those of its pieces that are asked for, in the mean over the step."""
    met = [piece for piece in pieces if piece.share(when.days) > 0]
    if not met:
        return np.zeros(len(steps[0]))
    once = [replace(piece, days=1, of_days=(1.0,) * len(DAYS)) for piece in met]
    all_days, one_day = (Passed.of(each, when).asked(*steps) for each in (met, once))
    return np.divide(all_days, one_day, out=np.zeros(len(one_day)), where=one_day > 0)


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
