"""GPX and PLT logs of single devices as a source."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import chain
from typing import ClassVar

import pandas as pd

from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column, Job, read, read_what_can_be
from odanon.reading.delivery import Delivery
from odanon.reading.files import Files, ZoneName
from odanon.reading.frames import placed_and_not
from odanon.reading.persons import SpelledIds
from odanon.traces.recordings import Recordings

_SUFFIXES = tuple(f"{kind}{packed}" for kind in (".gpx", ".plt") for packed in ("", ".gz", ".bz2", ".zst", ".lz4"))


@plugin
class Logs(SpelledIds, Recordings):
    """GPX or PLT (Geolife) logs, one device a file; the path names the person."""

    enters: ClassVar[str] = "traces"

    path: str = parameter(
        ..., "file, folder, glob or fsspec URL; {date} or {date:%Y%m%d} in it lists only the days that are read"
    )
    person_level: int = parameter(
        0, "what names the person: 0 the file, 1 its folder, 2 the folder above (Geolife)", ge=0, le=9
    )
    timezone: ZoneName | None = parameter(None, "zone of GPX times that are written without one")
    date_zone: ZoneName = parameter("UTC", "zone whose days the dates in paths are")

    def available(self, day: date) -> bool:
        """Whether a log is named for this day, or has no date in its name; nothing is opened."""
        return self._files.available(day)

    def reads(self, start: datetime, end: datetime) -> list[str]:
        """The real names of the files of [start, end)."""
        return self._files.reads(start, end, self.date_zone)

    def state(self, days: list[date]) -> str:
        """What changes when the files of these days do, told without opening them."""
        return self._files.state(days)

    def delivered(self, day: date) -> list[Delivery]:
        """What is there of a day, told without opening its files."""
        return self._files.delivered(day)

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        """Points of the logs of [start, end), of the context around it, and of the day before: logs run past midnight."""
        own, neighbours = self._files.around(start, end, (context + timedelta(days=1), context), self.date_zone)
        for batch in chain(read(self._job(own)), read_what_can_be(self._job(neighbours))):
            yield from placed_and_not(batch, ["time"])

    def _job(self, files: list[str]) -> Job:
        columns = [
            Column("person", "person", "id"),
            Column("time", "time", "time"),
            Column("lat", "lat", "number"),
            Column("lon", "lon", "number"),
        ]
        persons = [self._person(path) for path in files]
        return Job(files, self._files.protocol, columns, self.timezone, persons=persons, spelling=self.spelling)

    @property
    def _files(self) -> Files:
        return Files(self.path, _SUFFIXES)

    def _person(self, path: str) -> str:
        part = path.split("/")[-1 - self.person_level]
        return part.split(".")[0] if self.person_level == 0 else part
