"""A simulated city as a source of GPS points."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

import pandas as pd
from pydantic import field_validator

from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin
from odanon.simulate.city import City, People, Stream, chunks, draw_people
from odanon.simulate.dirt import soil_points
from odanon.simulate.gps import Device, day_points
from odanon.simulate.records import Records, concat, frame
from odanon.simulate.rhythm import Rhythm
from odanon.simulate.timeline import civil_days

EPOCH = date(2000, 1, 1)


@plugin
class Simulated:
    """GPS points of a made-up city, the same for the same seed, with known stays and trips behind them."""

    enters: ClassVar[str] = "traces"

    people: int = parameter(5000, "inhabitants who carry a device", ge=1)
    seed: int = parameter(7, "another seed is another city", ge=0)
    lat: float = parameter(45.75, "latitude of the middle of the city, degrees", ge=-75, le=75)
    lon: float = parameter(4.85, "longitude of the middle of the city, degrees", ge=-175, le=175)
    radius_km: float = parameter(12.0, "radius of the city, kilometres", ge=1, le=60)
    timezone: str = parameter("Europe/Paris", "zone of the inhabitants' clocks, an IANA name")
    stay_interval_s: float = parameter(300.0, "mean time between fixes while staying, seconds", ge=30, le=3600)
    move_interval_s: float = parameter(30.0, "mean time between fixes while travelling, seconds", ge=1, le=3600)
    noise_m: float = parameter(10.0, "standard deviation of a fix on each axis, metres", ge=0, le=1000)
    outlier_share: float = parameter(0.01, "share of stray fixes, 0.5 to 5 km off", ge=0, le=0.5)
    gap_share: float = parameter(0.05, "share of the time for which devices are off", ge=0, le=0.9)
    duplicate_share: float = parameter(0.005, "share of fixes sent twice", ge=0, le=0.5)
    dirt: float = parameter(0.0, "bad rows of all kinds added for each good row", ge=0, le=1)

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as unknown:
            raise ValueError("write an IANA time zone such as Europe/Paris or UTC") from unknown
        return value

    def available(self, day: date) -> bool:
        """A simulated day is there from 2000 on; nothing has to be scanned."""
        return day >= EPOCH

    def persons(self) -> Iterator[pd.DataFrame]:
        """Attributes of the inhabitants, one frame per chunk: person, sex, age_band, occupation, weight."""
        city = self.city
        for chunk in chunks(self.people):
            yield draw_people(city, chunk, self.people).frame()

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        """Points of the instants [start, end) and of the context around them: person, time, lat, lon.

        A frame holds a chunk of people with all their points, sorted by person and time. Bad rows belong to the
        instant of the good row they spoil; those without a time zone come as a frame of their own, because
        a column of times has a zone or has none.
        """
        if start.tzinfo is None or end.tzinfo is None:
            raise OdanonError("The window of the simulated points has no time zone: pass aware datetimes.")
        city, start, end = self.city, start - context, end + context
        days = [day for day in civil_days(start, end, city.zone) if self.available(day)]
        for chunk in chunks(self.people) if days else ():
            people = draw_people(city, chunk, self.people)
            zoned, naive = zip(*(self._day(city, people, day, start, end) for day in days), strict=True)
            yield frame(people, concat([part for parts in zoned for part in parts]))
            if any(map(len, naive)):
                yield frame(people, concat(naive), zone=None)

    def _day(
        self, city: City, people: People, day: date, start: datetime, end: datetime
    ) -> tuple[list[Records], Records]:
        """(good rows and bad rows with a zone, rows without) of one civil day within the window."""
        points = day_points(city, people, day, self.device)
        dirt = soil_points(city.rng(Stream.DIRT, people.chunk, day.toordinal()), points, self.dirt, city.zone)
        inside = points.inside(start, end)
        zoned, naive = dirt.take(inside[dirt.source]).split()
        good = points if inside.all() else points.take(inside)
        return [good, zoned], naive

    @property
    def city(self) -> City:
        return City(self.seed, self.lat, self.lon, self.radius_km, ZoneInfo(self.timezone))

    @property
    def device(self) -> Device:
        rhythm = Rhythm(self.stay_interval_s, self.move_interval_s, self.gap_share)
        return Device(rhythm, self.noise_m, self.outlier_share, self.duplicate_share)
