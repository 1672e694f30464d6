"""The model of a product file: its sections together, and what they may not contradict."""

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from odanon import registry
from odanon.metrics.declared import contradiction
from odanon.model.window import days_of, window_start
from odanon.plugin import Duration
from odanon.product.choices import (
    Anonymize,
    Engine,
    HierarchyChoice,
    Metric,
    Notifier,
    Source,
    Staypoints,
    Stranger,
    Zoning,
)
from odanon.product.sections import (
    OD,
    RESIDENCE,
    Arrival,
    Calendar,
    Checks,
    Day,
    People,
    Population,
    Publish,
    Schedule,
    Section,
    Trips,
)
from odanon.protocols import ListsFiles
from odanon.reading.origin import data_sha256

_time_zones = cache(available_timezones)  # it walks through the folders of all zones
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
