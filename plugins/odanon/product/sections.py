"""The sections of a product file that are no plugins; every field says what it means, because editors and `odanon schema` show it."""

import re
from datetime import date, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from odanon import registry
from odanon.model.when.question import WEEKDAYS, WEEKEND, Weekday
from odanon.model.window import Length
from odanon.plugin import Duration
from odanon.product.choices import CheckChoice, Zoning
from odanon.product.clock import Bins, Clock
from odanon.product.holidays import public_holidays


class Section(BaseModel):
    """A part of a product file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _parse_date(value: Any) -> Any:
    return date.fromisoformat(value) if isinstance(value, str) else value


Day = Annotated[date, BeforeValidator(_parse_date)]
NoteName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+$")]  # of a file beside others


class HomeWork(Section):
    """How a person's home and workplace are told from stays."""

    night_from: Clock = Field(time(21), description="local clock time from which being somewhere speaks for a home")
    night_to: Clock = Field(time(7), description="local clock time until which it does")
    work_from: Clock = Field(time(9), description="clock time from which being elsewhere on a working day is work")
    work_to: Clock = Field(time(17), description="clock time until which it is")
    min_stay: Duration = Field(timedelta(hours=2), description="time at a place in one night or day for it to count")
    min_days: int = Field(1, ge=1, description="nights (home) or days (work) that must count")
    place_radius_m: float = Field(150, gt=0, description="stays of a person this close (metres) are at one place")


class Trips(Section):
    """How stays become trips."""

    min_distance_m: float = Field(100, ge=0, description="stays closer than this (metres) make no trip")
    max_duration: Duration = Field(timedelta(hours=12), description="a longer silence between two stays makes no trip")
    home_work: HomeWork | None = Field(None, description="find homes and workplaces; {} takes the usual hours")


class OD(Section):
    """How trips become matrices."""

    bin: Bins = Field(
        timedelta(hours=1),
        description="time bins by departure: a length that divides a day, or the clock times at which bins start",
    )
    time: Literal["fixed", "adaptive"] = Field(
        "fixed",
        description="fixed: every row is of one bin; adaptive: every row is of as few bins as its trips allow (atg-lattice)",
    )
    intrazonal: Literal["keep", "drop"] = Field("keep", description="trips that start and end in one tile")
    unknown: Literal["drop", "keep"] = Field(
        "drop",
        description="trips with an end outside the zoning, up to checks.max_unknown_zone: left out, or kept under the zone"
        " `unknown` in the restricted table of pairs; they are counted and never published",
    )
    days: Literal["all", "working"] = Field("all", description="which days have a matrix; see calendar")
    day_types: Literal["all", "working", "weekday"] = Field(
        "all",
        description="which days of a window longer than a day share time bins: all; working days, Saturdays, and Sundays with"
        " holidays, each apart; or each day of the week",
    )


class Calendar(Section):
    """Which days are working days."""

    weekend: list[Weekday] = Field([*WEEKEND], description="days of the week without work")
    holidays: list[Day] = Field([], description="dates without work, such as 2026-05-01")
    country: str | None = Field(
        None,
        pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$",
        description="country, or a part of it, whose public holidays are days without work too, such as FR or DE-BY; told by"
        " the package holidays",
    )

    @field_validator("country")
    @classmethod
    def _known_country(cls, value: str | None) -> str | None:
        public_holidays(value, 2026)
        return value

    def is_holiday(self, day: date) -> bool:
        return day in self.holidays or day in public_holidays(self.country, day.year)

    def is_working(self, day: date) -> bool:
        return not self.is_holiday(day) and WEEKDAYS[day.weekday()] not in self.weekend

    def day_type(self, day: date) -> str:
        """What statistics tell apart: working days, Saturdays off, and all other days off."""
        if self.is_working(day):
            return "working"
        return "saturday" if WEEKDAYS[day.weekday()] == "saturday" and not self.is_holiday(day) else "sunday_holiday"


RESIDENCE = "residence"  # the segment column that comes from homes


class People(Section):
    """What is known of people beside their traces: attributes that make segments, and weights."""

    table: str | None = Field(None, description="Parquet or CSV file, a row a person; none: the source's own table")
    id: str = Field("person", description="column with the same ids as the traces")
    weight: str | None = Field(None, description="column with the weight of a person")
    segments: list[str] = Field(
        [], description="columns whose values make the segments; residence (resident or visitor) comes from homes"
    )


class Population(Section):
    """Weights by expansion: the people observed to live in a zone stand for its population."""

    table: str = Field(description="Parquet or CSV file with the inhabitants of zones")
    zone: str = Field("zone", description="column with the label of the zone")
    inhabitants: str = Field("inhabitants", description="column with the number of inhabitants")
    zoning: Zoning | None = Field(None, description="zones of the table; none: the tiles of the product")
    otherwise: float = Field(1.0, ge=0, description="weight of people without a home in a zone of the table")


class Checks(Section):
    """Limits that stop a day before it is published."""

    max_quarantined: float = Field(0.05, ge=0, le=1, description="largest share of bad input rows")
    max_unknown_zone: float = Field(0.05, ge=0, le=1, description="largest share of trips outside the zoning")
    max_change: float = Field(
        0.5, gt=0, description="change of a volume against the trailing weeks, as a share, that brings a warning"
    )
    max_drift: float = Field(0.5, gt=0, description="change of S or Gbar, likewise, that brings a warning")
    max_anonymize: Duration = Field(
        timedelta(hours=6),
        description="longest time for anonymising a day; then it is stopped and nothing is published",
    )
    plugins: list[CheckChoice] = Field([], description="checks of installed packages, beside our own")


class Publish(Section):
    """Where the release goes and under which terms."""

    store: str = Field("embedded", description="embedded: a folder of Parquet files; postgis; or an installed store")
    url: SecretStr | None = Field(None, description="database URL of a store that has one, as ${VARIABLE}")
    window: Length = Field(
        "day",
        description="the span one release covers, within which a person counts once: day, week (from Monday) or month",
    )
    missing_days: int = Field(
        0, ge=0, description="how many days a longer window may lack when it is published; they are told"
    )
    licence: str = Field("CC-BY-4.0", description="SPDX identifier of the licence of the published tables")
    retention: Duration | None = Field(
        None, description="windows older than this are deleted by `odanon purge --expired`; without it they stay"
    )
    accept_unit_trips: bool = Field(False, description="publish although unit trips does not protect persons")
    perturb: Literal["cell-key"] | None = Field(
        None,
        description="cell-key: published numbers carry small noise, the same for the same people, so that a change from one day to"
        " the next does not show one person; none: they are exact",
    )

    @model_validator(mode="after")
    def _installed_store(self) -> "Publish":
        if self.url is None and "url" in registry.find("store", self.store).schema.get("required", []):
            raise ValueError(f"store {self.store} needs a url; write url: ${{ODANON_DB_URL}} and set that variable")
        return self


class Arrival(Section):
    """When what was delivered of a day counts as whole; until then the day waits, and a run of it stops."""

    marker: NoteName | None = Field(
        None,
        description="file that senders put into a day's folder last, such as _SUCCESS; with {date} where the files of many days"
        " share a folder",
    )
    manifest: NoteName | None = Field(
        None,
        description="JSON file in a day's folder that lists the names and sizes of its files, such as _manifest.json; may hold {date}",
    )
    unchanged_for: Duration | None = Field(None, description="time in which no file of the day has changed")
    min_bytes: int | None = Field(None, ge=1, description="smallest size of the day's files together, in bytes")
    min_rows: int | None = Field(None, ge=1, description="fewest good rows of the day, counted when it is read")
    min_share: float | None = Field(
        None,
        gt=0,
        le=1,
        description="smallest share of the usual bytes and rows: the median of the same weekday in the four weeks before",
    )

    @property
    def of_files(self) -> list[str]:
        """The terms set here that only a source of files can tell."""
        return [
            name for name in ("marker", "manifest", "unchanged_for", "min_bytes") if getattr(self, name) is not None
        ]


class Schedule(Section):
    """When the daily run starts and how many days it waits for late data."""

    cron: str = Field("0 4 * * *", description="cron expression in the product's time zone")
    lag: Duration = Field(timedelta(days=1), description="the run of a morning takes the day this long ago")
    on_arrival: bool = Field(False, description="also run a day as soon as its source has arrived")
    look_back: Duration = Field(timedelta(days=14), description="how far back arrivals are looked for")

    @field_validator("cron")
    @classmethod
    def _five_fields(cls, value: str) -> str:
        if not re.fullmatch(r"(\S+\s+){4}\S+", value.strip()):
            raise ValueError('a cron expression has five fields, such as "0 4 * * *"')
        return value

    @field_validator("lag", "look_back")
    @classmethod
    def _whole_days(cls, value: timedelta) -> timedelta:
        if value < timedelta(days=1) or value % timedelta(days=1):
            raise ValueError("write a whole number of days, such as 1d or 2d")
        return value
