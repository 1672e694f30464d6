"""How the times of a release lie on days and clocks.

A release is of *pieces* of time: stretches of the clock on one day each. A day has one, and two where clocks are turned. A time bin of a
week or month adds up several days, and has a piece on every day that may be one of them (docs/algorithms.md, Bounds).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from odanon.model.when.question import DAYS, SUNDAY_HOLIDAY, WEEKDAYS, WEEKEND, WORKING
from odanon.model.window import day_window, days_of, window_instants

_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Piece:
    """The clock goes from the second `since` of a day to the second `until`, from the instant `at` on.

    Rows tell this time as from `start` to `end`: the same instants in a day; in a week or month those of the day that a time bin is
    named after. `days` says how likely the day is one of those that the bin adds up, so that all pieces of a bin have as many as it
    does, and `of_days` by name (DAYS) whether the day is of a type.
    """

    start: datetime
    end: datetime
    since: int
    until: int
    day: date
    at: datetime
    days: float
    of_days: tuple[bool, ...]

    def is_of(self, days: str | None) -> bool:
        """Whether its day is of a type."""
        return days is None or self.of_days[DAYS.index(days)]


def span_of(manifest: Mapping[str, Any]) -> tuple[datetime, datetime]:
    """The instants at which the window of a release starts and ends; without a time zone, anywhere on Earth."""
    zone, around = ZoneInfo(manifest.get("timezone") or "UTC"), _around(manifest)
    start, end = window_instants(date.fromisoformat(manifest["window_start"]), zone, manifest.get("window", "day"))
    return start - around * _DAY, end + around * _DAY


def _around(manifest: Mapping[str, Any]) -> int:
    """By how many days a day of a release may be another one: some day anywhere on Earth if no time zone is told."""
    return int(manifest.get("window", "day") == "day" and manifest.get("timezone") is None)


def pieces_of(manifest: Mapping[str, Any]) -> list[Piece]:
    """The pieces of time that a release is of, in the order in which rows tell them."""
    length, start = manifest.get("window", "day"), date.fromisoformat(manifest["window_start"])
    zone = ZoneInfo(manifest.get("timezone") or "UTC")
    if length == "day":
        around = _around(manifest)
        days = [start + n * _DAY for n in range(-around, around + 1)]
        return [piece for day in days for piece in _of_day(day, zone)]
    missing = {*manifest.get("missing_days", ())}
    days = [day for day in days_of(start, length) if day.isoformat() not in missing]
    bins = [told for told in manifest["bins"] if told["days"]]
    likely = _Types.of(bins, days, zone, manifest).likely()
    clocks = {day: [*_of_day(day, zone)] for day in days}
    found = (piece for told in bins for piece in _of_bin(told, likely[told["day_type"]], clocks))
    return sorted(found, key=lambda piece: (piece.start, piece.at))


def _of_day(day: date, zone: ZoneInfo) -> Iterator[Piece]:
    """A day from one turn of its clock to the next."""
    of_days = _of_types(WEEKDAYS[day.weekday()], day)
    start, end = day_window(day, zone)
    midnight = datetime.combine(day, time(), UTC)
    turns = [at for at in _quarters(start, end) if _offset(at, zone) != _offset(at - _MICROSECOND, zone)]
    for first, last in zip([start, *turns], [*turns, end], strict=True):
        since = round((first + _offset(first, zone) - midnight) / _SECOND)
        yield Piece(first, last, since, since + round((last - first) / _SECOND), day, first, 1.0, of_days)


def _quarters(start: datetime, end: datetime) -> Iterator[datetime]:
    """Where clocks may be turned."""
    if (end - start) == _DAY:
        return
    quarter = timedelta(minutes=15)
    yield from (start + n * quarter for n in range(1, (end - start) // quarter))


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


def _of_bin(
    told: Mapping[str, Any], likely: Mapping[date, float], clocks: Mapping[date, Sequence[Piece]]
) -> Iterator[Piece]:
    """A time bin of a longer window on its days."""
    (since, until), (start, end) = _clock_of(told), bin_instants(told)
    for day, days in likely.items():
        of_days = _of_types(told["day_type"], day)
        for clock in clocks[day]:
            low, high = max(since, clock.since), min(until, clock.until)
            if low < high:
                first, last = (start + (end - start) * ((at - since) / (until - since)) for at in (low, high))
                at = clock.at + (low - clock.since) * _SECOND
                yield Piece(first, last, low, high, day, at, days, of_days)


def bin_instants(told: Mapping[str, Any]) -> tuple[datetime, datetime]:
    """By which instants rows tell a time bin of a longer window; where its end is not told, its clock is not turned on the day that it is named after."""
    start, (since, until) = datetime.fromisoformat(told["time_bin"]), _clock_of(told)
    return start, datetime.fromisoformat(told["time_end"]) if "time_end" in told else start + (until - since) * _SECOND


def _clock_of(told: Mapping[str, Any]) -> tuple[int, int]:
    """From which second of its days a time bin goes to which."""
    since, until = (60 * int(told[name][:2]) * 60 + 60 * int(told[name][3:]) for name in ("since", "until"))
    return since, until


def _of_types(told: str, day: date) -> tuple[bool, ...]:
    """By name, of which types a day is that a release tells as one of some type.

    Where it tells no types, a day is a working one from Monday to Friday, and Sundays stand for holidays. Where it does, Saturdays are one of
    them, and a holiday on a Saturday is none.
    """
    weekday = WEEKDAYS[day.weekday()]
    types: set[str] = {weekday}
    if told in (WORKING, SUNDAY_HOLIDAY):
        types = types - {"saturday"} | {told}
    elif weekday == "sunday":
        types.add(SUNDAY_HOLIDAY)
    elif weekday not in WEEKEND:
        types.add(WORKING)
    return tuple(name in types for name in DAYS)


@dataclass(frozen=True)
class _Types:
    """What a release tells of the types of its days: how many days each has, and a day of it, which names its bins."""

    days: Sequence[date]
    weekend: frozenset[str]
    turned: frozenset[date]
    number: dict[str, int]
    named: dict[str, date]
    missing_told: bool  # whether it is known that a day that names a type is not missing

    @classmethod
    def of(
        cls, bins: Sequence[Mapping[str, Any]], days: Sequence[date], zone: ZoneInfo, manifest: Mapping[str, Any]
    ) -> "_Types":
        number: dict[str, int] = {}
        named: dict[str, date] = {}
        for told in bins:
            kind, day = told["day_type"], datetime.fromisoformat(told["time_bin"]).astimezone(zone).date()
            number[kind] = max(number.get(kind, 0), told["days"])
            named[kind] = min(named.get(kind, day), day)
        turned = frozenset(day for day in days if (span := day_window(day, zone))[1] - span[0] != _DAY)
        weekend = frozenset(manifest.get("weekend", WEEKEND))
        return cls(days, weekend, turned, number, named, "missing_days" in manifest)

    def likely(self) -> dict[str, dict[date, float]]:
        """By type, the days that may be of it, and how likely each of them is."""
        sure = {kind: {*self._sure(kind)} for kind in self.number}
        while True:
            may = {kind: self._may_be(kind, sure) for kind in self.number}
            whole = {kind: {*days} if self.number[kind] == len(days) else set() for kind, days in may.items()}
            more = {kind: sure[kind] | whole[kind] for kind in self.number}
            if more == sure:
                return {kind: self._shared(kind, may[kind], sure[kind]) for kind in self.number}
            sure = more

    def _sure(self, kind: str) -> Iterator[date]:
        """Days of which it is known that they are of a type: the one that names it, and Sundays if no day of the window is left out."""
        if self.missing_told:
            yield from (day for day in self.days if day == self.named[kind])
        if kind == SUNDAY_HOLIDAY and sum(self.number.values()) == len(self.days):
            off = self.weekend - {"saturday"}
            yield from (day for day in self.days if WEEKDAYS[day.weekday()] in off)

    def _may_be(self, kind: str, sure: Mapping[str, set[date]]) -> list[date]:
        """Days that may be of a type; the first one on which no clock is turned names it, so none of those before is."""
        others = {day for other, days in sure.items() if other != kind for day in days}
        first = self.named[kind]
        left = [day for day in self.days if day not in others and (day >= first or day in self.turned)]
        if kind in WEEKDAYS:
            found = [day for day in left if WEEKDAYS[day.weekday()] == kind]
        elif kind == WORKING:
            found = [day for day in left if WEEKDAYS[day.weekday()] not in self.weekend]
        else:
            found = left
        # A release that tells more days than there are has another calendar than it says: then any day may be one of them.
        return found if len(found) >= self.number[kind] else [*self.days]

    def _shared(self, kind: str, may: Sequence[date], sure: set[date]) -> dict[date, float]:
        """Days that are not known to be of a type share what is left of their number evenly."""
        known = [day for day in may if day in sure]
        open_days = len(may) - len(known)
        rest = (self.number[kind] - len(known)) / open_days if open_days else 0.0
        found = {day: 1.0 if day in sure else rest for day in may}
        return {day: days for day, days in found.items() if days > 0}
