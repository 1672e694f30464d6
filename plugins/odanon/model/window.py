"""Local days and the windows made of them, as dates and as instants; right on days of 23 and 25 hours."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

Length = Literal["day", "week", "month"]  # of what one release covers
LENGTHS: tuple[Length, ...] = get_args(Length)
_DAY = timedelta(days=1)


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
