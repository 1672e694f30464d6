"""Weeks and months whose trips are known by the instant, told in bins that lay days of one type over each other."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from odanon.model.when import When
from odanon.model.when.clock import pieces_of
from odanon.model.when.question import WEEKDAYS
from odanon.model.window import Length, Times, days_of
from odanon.trips.windows import WindowBin, window_bins

ALWAYS = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
GRAIN = timedelta(minutes=30)
STARTS = (time(0), time(6, 30), time(9), time(17))


@dataclass(frozen=True)
class ToldWindow:
    """A window of some length whose days have types, of which some are missing, and rows of one bin each or of several."""

    length: Length
    start: date
    zone: ZoneInfo
    types: str  # all, working or weekday
    holidays: tuple[int, ...]  # numbers of days
    missing: tuple[int, ...]
    adaptive: bool
    begins: int = 0  # the number of the day on which the product does

    @property
    def days(self) -> list[date]:
        return days_of(self.start, self.length)

    def day_type(self, day: date) -> str:
        weekday = WEEKDAYS[day.weekday()]
        if self.types != "working":
            return "all" if self.types == "all" else weekday
        if self.days.index(day) in self.holidays or weekday == "sunday":
            return "sunday_holiday"
        return "saturday" if weekday == "saturday" else "working"

    @cached_property
    def made(self) -> set[date]:
        return {day for number, day in enumerate(self.days) if number not in self.missing and number >= self.begins}

    @cached_property
    def bins(self) -> list[WindowBin]:
        return [*window_bins(self.days[self.begins :], self.zone, STARTS, self.day_type).bins]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        bins = [
            {
                "time_bin": each.start.isoformat(),
                "time_end": each.end.isoformat(),
                "day_type": each.day_type,
                "since": each.since,
                "until": each.until,
                "days": sum(day in self.made for day in each.days),
            }
            for each in self.bins
        ]
        missing = [day.isoformat() for day in self.days[self.begins :] if day not in self.made]
        told = {"window": self.length, "window_start": self.start.isoformat(), "timezone": self.zone.key, "bins": bins}
        return told | {"missing_days": missing} | ({"intervals": []} if self.adaptive else {})

    @cached_property
    def rows(self) -> list[tuple[datetime, datetime, list[WindowBin]]]:
        """When rows say that they start and end, and the bins that they are of."""
        told = [each for each in self.manifest["bins"] if each["days"]]
        some = [self.bins[self.manifest["bins"].index(each)] for each in told]
        if not self.adaptive:
            return [(each.start, each.end, [each]) for each in some]
        tree = Times.of_told(told).tree
        runs = zip(tree.tile_start.tolist(), tree.tile_end.tolist(), strict=True)
        return [(some[first].start, some[last - 1].end, some[first:last]) for first, last in runs]

    @cached_property
    def likely(self) -> dict[str, dict[date, float]]:
        """By type, the days that may be of it and how likely they are."""
        kind = {each.start: each.day_type for each in self.bins}
        found: dict[str, dict[date, float]] = {}
        for piece in pieces_of(self.manifest):
            # A piece of a day on which clocks are turned may start later than its bin does.
            name = kind[max(at for at in kind if at <= piece.start)]
            found.setdefault(name, {})[piece.day] = piece.days
        return found

    @lru_cache  # noqa: B019
    def grains(self, each: WindowBin, day: date) -> list[datetime]:
        """The half hours of a day that a bin is of, one by one."""
        since, until = (60 * int(text[:2]) + int(text[3:]) for text in (each.since, each.until))
        start, end = (datetime.combine(at, time(), self.zone).astimezone(UTC) for at in (day, day + timedelta(days=1)))
        every = [start + n * GRAIN for n in range((end - start) // GRAIN)]
        clock = [(at, at.astimezone(self.zone)) for at in every]
        return [at for at, local in clock if since <= 60 * local.hour + local.minute < until]

    def asked(self, when: When, told: str, day: date, at: datetime) -> bool:
        """Whether a question asks for an instant of a day that is told as one of some type."""
        weekday, now = WEEKDAYS[day.weekday()], at.astimezone(self.zone).time()
        by_weekday = {"saturday": "saturday", "sunday": "sunday_holiday"}.get(weekday, "working")
        kind = told if told in ("working", "sunday_holiday") else by_weekday
        first, last = when.clock or (time(), time())
        fits = first <= now < last if first < last else now >= first or now < last
        names = (None, kind) if weekday == "saturday" else (None, weekday, kind)
        return fits and when.since <= at < when.until and when.days in names

    def share(self, row: list[WindowBin], when: When) -> float:
        """Which share of a row is asked for, going through the half hours of all days that it may be of."""
        some = whole = 0.0
        for each in row:
            for day, days in self.likely[each.day_type].items():
                inside = [self.asked(when, each.day_type, day, at) for at in self.grains(each, day)]
                some, whole = some + days * sum(inside), whole + days * len(inside)
        return some / whole

    def truly(self, row: list[WindowBin], when: When) -> list[bool]:
        """Of every half hour that trips of a row may truly have been made in, whether it is asked for."""
        return [
            self.asked(when, each.day_type, day, at)
            for each in row
            for day in each.days
            if day in self.made
            for at in self.grains(each, day)
        ]

    def trips(self, seed: int) -> list[tuple[datetime, datetime, int, Callable[[When], int]]]:
        """Rows with some trips, and how many of these a question truly asks for."""
        rng, found = np.random.default_rng(seed), []
        for start, end, row in self.rows:
            many = len(self.truly(row, When(*ALWAYS)))
            trips = rng.poisson(rng.pareto(0.8, many))
            found.append((start, end, int(trips.sum()), self._counts(row, trips)))
        return [each for each in found if each[2]]

    def _counts(self, row: list[WindowBin], trips: np.ndarray) -> Callable[[When], int]:
        return lambda when: int(trips[self.truly(row, when)].sum())


PARIS = ZoneInfo("Europe/Paris")
# Clocks are turned in three of them; holidays and missing days are known to nobody but the calendar.
WINDOWS = {
    "week": ToldWindow("week", date(2026, 3, 2), PARIS, "working", (2,), (4,), False),
    "turned-week": ToldWindow("week", date(2026, 3, 23), PARIS, "working", (0,), (), True),
    "weekdays": ToldWindow("week", date(2026, 10, 19), PARIS, "weekday", (), (1,), True),
    "begun-week": ToldWindow("week", date(2026, 3, 2), PARIS, "all", (), (3,), False, 2),
    "month": ToldWindow("month", date(2026, 5, 1), PARIS, "working", (0, 7, 13, 22, 24), (5, 9, 16), True),
    "turned-month": ToldWindow("month", date(2026, 10, 1), PARIS, "working", (9,), (3, 30), False),
}
