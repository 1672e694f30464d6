"""What Airflow is to do for a product file: when, for which days, with which command. Plain functions of the file's words.

Neither Airflow nor odanon is imported: Airflow lives in an environment of its own and calls `odanon` as a program.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

NOTHING_TO_DO = 99  # how a command ends that has no day to run; Airflow shows the task as skipped
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"h": 1, "d": 24}


@dataclass(frozen=True)
class Plan:
    """A product as Airflow sees it."""

    product: str
    title: str
    owner: str
    start: date
    timezone: str
    live: bool  # a product on trial publishes nothing
    cron: str | None  # None for a product without a schedule
    lag: timedelta
    days_off: tuple[str, ...]  # weekdays without a matrix
    holidays: tuple[date, ...]

    @property
    def source(self) -> str:
        """The asset whose events say that data of a day have arrived."""
        return f"odanon://source/{self.product}"

    @property
    def published(self) -> str:
        """The asset that is updated when a day has been published."""
        return f"odanon://published/{self.product}"

    @property
    def first_run(self) -> datetime:
        """Before it there is no day to run."""
        first = datetime.combine(self.start + self.lag, datetime.min.time())
        return first.replace(tzinfo=ZoneInfo(self.timezone))

    def has_matrix(self, day: date) -> bool:
        """Whether the product makes a matrix of this day."""
        off = day in self.holidays or _WEEKDAYS[day.weekday()] in self.days_off
        return day >= self.start and not off


def read_plan(path: Path) -> Plan:
    """The plan of a product file; `odanon check` finds every mistake in it, this only what matters here."""
    told = yaml.safe_load(path.read_text())
    if not isinstance(told, dict) or not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", str(told.get("product"))):
        raise ValueError(f"{path.name} is no product file; `odanon check` says what is wrong with it")
    schedule = told.get("schedule")
    working = told.get("od", {}).get("days") == "working"
    calendar = told.get("calendar", {}) if working else {"weekend": []}
    return Plan(
        product=told["product"],
        title=str(told["title"]),
        owner=str(told["owner"]),
        start=_day(told["start"]),
        timezone=ZoneInfo(told["timezone"]).key,
        live=told.get("status") == "live",
        cron=None if schedule is None else schedule.get("cron", "0 4 * * *"),
        lag=_whole_days((schedule or {}).get("lag", "1d")),
        days_off=tuple(calendar.get("weekend", ("saturday", "sunday"))),
        holidays=tuple(map(_day, calendar.get("holidays", ()))),
    )


def days_to_run(
    plan: Plan, now: datetime, asked: str | None = None, events: Iterable[Mapping[str, Any]] = ()
) -> list[date]:
    """The days of one run: the one asked for by hand, those that events of the source name, or the one that is due.

    An event names its day in its extra, as `{"day": "2026-03-02"}`; one that names none means the day that is due.
    """
    due = (now.astimezone(ZoneInfo(plan.timezone)) - plan.lag).date()
    named = [asked] if asked else [event.get("day") for event in events] or [None]
    days = sorted({due if name is None else _day(name) for name in named})
    return [day for day in days if plan.has_matrix(day)]


def command(plan: Plan, days: list[date]) -> str:
    """What the shell runs. Published days are passed over, so a run may be repeated; every day is tried, whatever the others do."""
    program = os.environ.get("ODANON_COMMAND", "odanon")
    runs = [f"{program} run {plan.product} --date {day} --resume || failed=1" for day in days]
    return "\n".join(["failed=0", *runs, "exit $failed"]) if runs else f"exit {NOTHING_TO_DO}"


def _day(told: date | str) -> date:
    return told if isinstance(told, date) else date.fromisoformat(str(told))


def _whole_days(told: str) -> timedelta:
    match = re.fullmatch(r"\s*(\d+)\s*([hd])\s*", str(told))
    if match is None:
        raise ValueError(f"schedule.lag is {told!r}; write a whole number of days, such as 1d")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])
