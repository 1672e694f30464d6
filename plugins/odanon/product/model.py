"""The model of a product file; every field says what it means, because editors and `odanon schema` show it."""

import re
from datetime import date, time, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from odanon import registry
from odanon.metrics.declared import contradiction
from odanon.model.when.question import WEEKDAYS, WEEKEND, Weekday
from odanon.model.window import Length, days_of, window_start
from odanon.plugin import Duration
from odanon.product.choices import (
    Anonymize,
    CheckChoice,
    Engine,
    HierarchyChoice,
    Metric,
    Notifier,
    Source,
    Staypoints,
    Stranger,
    Zoning,
)
from odanon.product.clock import Bins, Clock
from odanon.product.holidays import public_holidays
from odanon.protocols import ListsFiles
from odanon.reading.origin import data_sha256

_time_zones = cache(available_timezones)  # it walks through the folders of all zones


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


_UNUSED = "dwell"  # the detector of a source without traces, which is never asked


def _gives_traces(source: Any) -> bool:
    """Whether a source needs stay points to be found, told by its name; what is no source is refused elsewhere."""
    name = source.get("plugin") if isinstance(source, dict) else source
    if name not in registry.names("source"):
        return True
    return getattr(registry.find("source", name).cls, "enters", "traces") == "traces"


class Product(Section):
    """One data product: from raw traces to published tables."""

    product: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$", description="name: lower-case letters, digits, hyphens")
    title: str = Field(min_length=1, max_length=200, description="one line for people")
    owner: str = Field(pattern=r"^[\w.@+-]+$", description="team name or e-mail address of the owner")
    status: Literal["trial", "live"] = Field(
        "trial",
        description="trial: runs go as far as the gate and publish nothing; live: what the gate lets pass is published",
    )
    start: Day = Field(description="first day of the product, such as 2026-03-02")
    end: Day | None = Field(None, description="last day of a product that is closed; none: it goes on")
    timezone: str = Field(description="IANA time zone that defines the days, such as Europe/Paris")
    source: Source
    dataset: str | None = Field(
        None,
        min_length=1,
        description="name of the data behind the source; products of one data set are audited together and share"
        " pseudonyms; none: those that read the same path, or whose source has the same parameters",
    )
    context: Duration = Field(
        timedelta(hours=6), description="time read before and after a day, so that stays across midnight are whole"
    )
    staypoints: Staypoints  # a source of ready trips or OD rows needs none
    trips: Trips = Trips()
    zoning: Zoning
    od: OD = OD()
    calendar: Calendar = Calendar()
    people: People | None = Field(None, description="attributes and weights of people, for segments and estimates")
    population: Population | None = Field(None, description="inhabitants of zones, for weights by expansion")
    hierarchy: HierarchyChoice
    anonymize: Anonymize
    metrics: list[Metric] = Field(min_length=1, description="what is measured of a release")
    checks: Checks = Checks()
    publish: Publish = Field(default_factory=Publish)
    demand: Path | None = Field(
        None,
        description="file of `odanon demand`, from the folder of this file on: travellers are made from every month that is published;"
        " they are not published",
    )
    retention: Duration | None = Field(
        None,
        description="person-level data and pseudonym keys of days older than this are deleted by"
        " `odanon purge --expired`; without it they stay",
    )
    arrival: Arrival | None = Field(
        None, description="when the data of a day count as complete; none: when they are there"
    )
    schedule: Schedule | None = Field(None, description="leave out for a product that is run by hand")
    alerts: list[Notifier] = Field(description="who is told of failed days, and how")
    engine: Engine

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in _time_zones():
            raise ValueError("use an IANA time zone such as Europe/Paris or UTC")
        return value

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        if isinstance(value, dict):
            defaults = {"engine": "local", "metrics": ["generalisation", "reconstruction", "areas"], "alerts": ["log"]}
            value = {**defaults, **({} if _gives_traces(value.get("source")) else {"staypoints": _UNUSED}), **value}
        return value

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> "Product":
        if self.end is not None and self.end < self.start:
            raise ValueError(f"end {self.end} lies before start {self.start}; swap or correct them")
        return self

    @model_validator(mode="after")
    def _whole_windows(self) -> "Product":
        length = self.publish.window
        if length == "day":
            if self.od.day_types != "all" or self.publish.missing_days:
                raise ValueError(
                    "od.day_types and publish.missing_days are for windows of several days; set publish.window to week or month"
                )
            return self
        if self.publish.missing_days >= len(days_of(self.start, length)) // 2:
            raise ValueError(f"publish.missing_days leaves too little of a {length}; allow fewer than half of its days")
        if self.start != window_start(self.start, length):
            raise ValueError(f"start {self.start} is not the first day of a {length}, and part of one is not published")
        if self.end is not None and self.end + timedelta(days=1) != window_start(self.end + timedelta(days=1), length):
            raise ValueError(f"end {self.end} is not the last day of a {length}, and part of one is not published")
        return self

    @model_validator(mode="after")
    def _person_protection(self) -> "Product":
        if not self.anonymize.instance.verifiable:
            raise ValueError(
                f"anonymize.plugin {self.anonymize.plugin} makes noisy counts, which the verifier cannot prove and the"
                " pipeline does not publish; choose another, or try it with `odanon anonymize`"
            )
        asked = self.anonymize.promise
        if asked.unit == "trips" and not self.publish.accept_unit_trips:
            raise ValueError(
                "anonymize.unit is trips, which does not protect persons; use unit: persons,"
                " or set publish.accept_unit_trips: true knowingly"
            )
        if self.publish.perturb is not None and asked.unit in ("trips", "population"):
            raise ValueError(
                f"publish.perturb makes noise of whole people and anonymize.unit {asked.unit} does not count them; use"
                " unit: persons or vehicles, or leave perturb out"
            )
        if asked.contribution_cap and asked.unit == "population":
            raise ValueError(
                "anonymize.contribution_cap limits a person's trips and a release about the population publishes their"
                " weights; leave it out, or use unit: persons"
            )
        return self

    @model_validator(mode="after")
    def _times_where_told(self) -> "Product":
        if self.od.time == "fixed":
            return self
        if not getattr(self.anonymize.instance, "timed", False):
            raise ValueError(
                f"od.time is adaptive and anonymize.plugin {self.anonymize.plugin} splits no time; choose atg-lattice, or"
                " od.time: fixed"
            )
        if self.segmented or self.publish.perturb is not None:
            what = "people.segments" if self.segmented else "publish.perturb"
            raise ValueError(
                f"od.time is adaptive, and {what} needs bins that are the same for all rows; keep one of them"
            )
        return self

    @model_validator(mode="after")
    def _figures_of_one_owner(self) -> "Product":
        for metric in self.metrics:
            if isinstance(metric.instance, Stranger):
                continue
            if why := contradiction(metric.plugin, metric.instance):
                raise ValueError(f"metrics {metric.plugin}: {why}")
        return self

    @model_validator(mode="after")
    def _homes_where_needed(self) -> "Product":
        needed = self.population is not None or (self.people is not None and RESIDENCE in self.people.segments)
        if needed and self.trips.home_work is None:
            raise ValueError("population and the segment residence need homes; add home_work: {} under trips")
        if self.trips.home_work is not None and self.source.instance.enters != "traces":
            raise ValueError("home_work looks for homes among stays and this source gives none; remove it under trips")
        if self.population is not None and self.people is not None and self.people.weight is not None:
            raise ValueError("weights come from people.weight or from population; keep one of them")
        return self

    @model_validator(mode="after")
    def _people_where_used(self) -> "Product":
        if self.people is None:
            return self
        if not isinstance(self.source.instance, Stranger) and self.source.instance.enters == "od":
            raise ValueError(
                "people describes those who make trips and this source gives counts of trips; remove it, and name the columns"
                " with segment and weight under source"
            )
        if taken := {"person", self.people.id} & {*self.people.segments, self.people.weight}:
            raise ValueError(f"the column {min(taken)!r} names people; people.segments and people.weight need others")
        return self

    @model_validator(mode="after")
    def _files_where_needed(self) -> "Product":
        source = self.source.instance
        if isinstance(source, Stranger) or self.arrival is None:
            return self
        if self.arrival.of_files and not isinstance(source, ListsFiles):
            raise ValueError(
                f"arrival.{self.arrival.of_files[0]} looks at files and the source {self.source.plugin} lists none; use"
                " min_rows or min_share"
            )
        return self

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def data_sha256(self) -> str:
        """The identity of the people behind the product: products with the same one may be subtracted.

        The place of a source's files says it alone, however it is spelled and its columns are read.
        """
        return data_sha256(self.source.instance, self.source.model_dump(mode="json"), self.dataset)

    @property
    def segmented(self) -> tuple[str, ...]:
        """The attributes whose values make the segments, none for a product of everybody."""
        if self.people is not None and self.people.segments:
            return tuple(self.people.segments)
        column = getattr(self.source.instance, "segment", None)
        return () if column is None else (column,)

    @property
    def slug(self) -> str:
        """The name as an identifier (Dagster groups, SQL)."""
        return self.product.replace("-", "_")
