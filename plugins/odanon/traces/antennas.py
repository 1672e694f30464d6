"""Antenna events (CDR, NSD) as a source: an event lies where its antenna stands."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import ClassVar

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.frames import placed_and_not
from odanon.reading.table import FileTable, read_small


@plugin
class Antennas(FileTable):
    """Call or signalling records of phones in files, with a table that says where the antennas stand."""

    enters: ClassVar[str] = "traces"

    antennas: str = parameter(..., "file with the antenna table: columns of the antenna, its latitude and longitude")
    person: str = parameter("person", "column of the person's id")
    time: str = parameter("time", "column of the time")
    antenna: str = parameter("antenna", "column of the antenna, in events and table")
    lat: str = parameter("lat", "column of the table with the antenna's latitude, degrees")
    lon: str = parameter("lon", "column of the table with the antenna's longitude, degrees")

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        """Events in the files of [start, end) and of the context around it: person, time, lat, lon, antenna.

        The antenna is its number, by name, in the table.
        An event on no antenna, or on one that the table does not have, has no place: it is quarantined.
        """
        places = self.places()
        columns = [
            Column("person", self.person, "id"),
            Column("time", self.time, "time"),
            Column("antenna", self.antenna, "text"),
        ]
        for batch in self._rows(columns, start, end, around=context):
            for events in placed_and_not(batch, ["time"]):
                names = pd.Index(events["antenna"].cat.categories)
                number = np.append(places.index.get_indexer(names), -1)[events["antenna"].cat.codes.to_numpy()]
                there = np.where(number < 0, len(places), number)
                lat, lon = (np.append(places[name].to_numpy(), np.nan)[there] for name in ("lat", "lon"))
                yield events.assign(lat=lat, lon=lon, antenna=number.astype(np.int32))

    def places(self) -> pd.DataFrame:
        """Where each antenna stands, sorted by its name; the index is the name."""
        columns = [
            Column("antenna", self.antenna, "text"),
            Column("lat", self.lat, "number"),
            Column("lon", self.lon, "number"),
        ]
        table = read_small(self.antennas, columns).to_pandas().dropna()
        table = table.astype({"antenna": "str"}).drop_duplicates().sort_values("antenna").set_index("antenna")
        if not table.index.is_unique:
            raise OdanonError(
                "the antenna table places an antenna twice; keep one row per antenna and time of validity"
            )
        return table
