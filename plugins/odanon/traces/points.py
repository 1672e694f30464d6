"""GPS points in files as a source."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import ClassVar

import pandas as pd

from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.frames import placed_and_not
from odanon.reading.table import FileTable
from odanon.traces.recordings import Recordings


@plugin
class Points(FileTable, Recordings):
    """GPS points in Parquet, CSV or JSON-lines files under a path or an object-store URL."""

    enters: ClassVar[str] = "traces"

    person: str = parameter("person", "column of the person's id")
    time: str = parameter("time", "column of the time")
    lat: str = parameter("lat", "column of the latitude, degrees (WGS 84)")
    lon: str = parameter("lon", "column of the longitude, degrees (WGS 84)")

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        """Points in the files of [start, end) and of the context around it: person, time, lat, lon."""
        columns = [
            Column("person", self.person, "id"),
            Column("time", self.time, "time"),
            Column("lat", self.lat, "number"),
            Column("lon", self.lon, "number"),
        ]
        for batch in self._rows(columns, start, end, around=context):
            yield from placed_and_not(batch, ["time"])
