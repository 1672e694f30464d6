"""The time that a question is about: from an instant to another, on days of some type, on a span of the local clock."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from odanon.errors import OdanonError
from odanon.model.window import window_instants

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
WEEKEND: tuple[Weekday, ...] = ("saturday", "sunday")  # where a product does not say otherwise
WORKING, SUNDAY_HOLIDAY = "working", "sunday_holiday"
DAYS = (*WEEKDAYS, WORKING, SUNDAY_HOLIDAY)  # what may be asked for; Saturdays are a day of the week and a type
DAY_SECONDS = 24 * 60 * 60
_MOST_STEPS = 10_000  # of a profile
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)")
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class When:
    """[since, until), and of it the days of one type and a span of the clock, both by the product's own time zone.

    `clock` is from its first time on and before its second, which may lie on the next morning (22:00 to 06:00); two equal ones
    are the whole day.
    """

    since: datetime
    until: datetime
    days: str | None = None
    clock: tuple[time, time] | None = None

    def __post_init__(self) -> None:
        if self.since.tzinfo is None or self.until.tzinfo is None:
            raise OdanonError("the time asked for is not an instant; give since and until with a time zone")
        if self.until <= self.since:
            raise OdanonError("the time asked for is not longer than nothing; give a later until")
        if self.days is not None and self.days not in DAYS:
            raise OdanonError(f"days is none of {', '.join(DAYS)}")
        if self.clock is not None and any(at.second or at.microsecond for at in self.clock):
            raise OdanonError("the clock is told by the minute; give whole minutes")

    @property
    def clock_text(self) -> str | None:
        """As `clock_of` reads it."""
        return None if self.clock is None else "-".join(f"{at:%H:%M}" for at in self.clock)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The seconds of a day that the clock asks for."""
        if self.clock is None:
            return [(0, DAY_SECONDS)]
        first, last = (3600 * at.hour + 60 * at.minute for at in self.clock)
        return [(first, last)] if first < last else [(0, last), (first, DAY_SECONDS)]


def clock_of(text: str) -> tuple[time, time]:
    """The span of the clock that a text such as 07:00-09:00 names.

    >>> clock_of("22:00-06:00")
    (datetime.time(22, 0), datetime.time(6, 0))
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise OdanonError("the clock is not a span of it; write 07:00-09:00, or 22:00-06:00 over midnight")
    first, last = (
        time(int(hours or 0), int(minutes or 0)) for hours, minutes in (found.groups()[:2], found.groups()[2:])
    )
    return first, last


def month_of(text: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The instants at which a month such as 2026-03 starts and ends on a local clock."""
    found = _MONTH.fullmatch(text)
    if found is None:
        raise OdanonError("the month is not one; write 2026-03")
    try:
        return window_instants(date(int(found[1]), int(found[2]), 1), zone, "month")
    except (ValueError, OverflowError):
        raise OdanonError("the month is too early or too late for clocks; write one such as 2026-03") from None


def local_steps(since: datetime, until: datetime, step: timedelta, zone: ZoneInfo) -> list[tuple[datetime, datetime]]:
    """The steps of a profile, as long on the local clock; where it is turned, one is longer, shorter, or left out.

    The last one ends where the time does.
    """
    if step <= timedelta(0):
        raise OdanonError("a profile needs a step that is longer than nothing; give one such as an hour")
    if -((since - until) // step) > _MOST_STEPS:
        raise OdanonError(f"the profile has more than {_MOST_STEPS} steps; ask for a shorter time or a longer step")
    first = since.astimezone(zone)
    # Arithmetic within one zone is that of its clock. A time that comes twice is the first one; one that clocks leave out is read as if
    # they were not turned yet.
    moments = {(first + number * step).astimezone(UTC) for number in range(1, _number(first, until, step) + 1)}
    edges = [since.astimezone(UTC), *sorted(at for at in moments if since < at < until)]
    return list(zip(edges, [*edges[1:], until.astimezone(UTC)], strict=True))


def _number(first: datetime, until: datetime, step: timedelta) -> int:
    """How many steps of the clock there are at least to a moment."""
    return -((first - until.astimezone(first.tzinfo)) // step)
