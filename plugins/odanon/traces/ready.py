"""Ready trips and ready OD tables as sources: they enter the chain after the stages that they make needless."""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import model_validator

from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.frames import placed_and_not
from odanon.reading.table import FileTable
from odanon.trips.build import great_circle_m

_PLACES = ("o_lat", "o_lon", "d_lat", "d_lon")


@plugin
class Trips(FileTable):
    """Ready trips in files: by coordinates, or by zones or cells of the product's zoning."""

    enters: ClassVar[str] = "trips"

    person: str = parameter(
        "person", "column of the person's id; trips without one are counted first: see the source od"
    )
    start: str = parameter("start", "column of the departure")
    end: str = parameter("end", "column of the arrival")
    o_lat: str = parameter("o_lat", "column of the origin's latitude, degrees")
    o_lon: str = parameter("o_lon", "column of the origin's longitude, degrees")
    d_lat: str = parameter("d_lat", "column of the destination's latitude, degrees")
    d_lon: str = parameter("d_lon", "column of the destination's longitude, degrees")
    origin: str | None = parameter(None, "column of the origin's zone or cell, instead of coordinates")
    destination: str | None = parameter(None, "column of the destination's zone or cell, instead of coordinates")

    @model_validator(mode="after")
    def _both_ends(self) -> "Trips":
        if (self.origin is None) != (self.destination is None):
            raise ValueError("name both the origin and the destination column, or neither")
        return self

    def trips(self, start: datetime, end: datetime) -> Iterator[pd.DataFrame]:
        """Trips in the files of [start, end): `odanon.trips.build.TRIP_COLUMNS`.

        Trips by zone have the columns origin and destination instead of the coordinates and the distance.
        """
        columns = [
            Column("person", self.person, "id"),
            Column("start", self.start, "time"),
            Column("end", self.end, "time"),
        ]
        if self.origin is not None and self.destination is not None:
            columns += [Column("origin", self.origin, "text"), Column("destination", self.destination, "text")]
        else:
            columns += [Column(name, getattr(self, name), "number") for name in _PLACES]
        for batch in self._rows(columns, start, end):
            for trips in placed_and_not(batch, ["start", "end"]):
                yield trips if self.origin is not None else with_distance(trips)


def with_distance(trips: pd.DataFrame) -> pd.DataFrame:
    """Trips with the great-circle distance between their ends, in metres."""
    with np.errstate(invalid="ignore"):  # bad coordinates are quarantined later
        return trips.assign(distance_m=great_circle_m(*(trips[name].to_numpy() for name in _PLACES)))


@plugin
class OdTable(FileTable):
    """A ready origin-destination table in files: trips per time bin and pair of zones, with or without persons."""

    enters: ClassVar[str] = "od"

    time_bin: str = parameter("time_bin", "column of the start of the time bin")
    origin: str = parameter("origin", "column of the origin's zone or cell")
    destination: str = parameter("destination", "column of the destination's zone or cell")
    trips: str = parameter("trips", "column of the number of trips")
    person: str | None = parameter(None, "column of the person's id; without it only unit: trips is possible")
    segment: str | None = parameter(None, "column of the segment; without it everybody is in one")
    weight: str | None = parameter(None, "column of the expanded number of trips")

    def od(self, start: datetime, end: datetime) -> Iterator[pd.DataFrame]:
        """Rows in the files of [start, end): time_bin, origin, destination, trips and the optional columns named."""
        columns = [
            Column("time_bin", self.time_bin, "time"),
            Column("origin", self.origin, "text"),
            Column("destination", self.destination, "text"),
            Column("trips", self.trips, "number"),
        ]
        columns += [Column("person", self.person, "id")] if self.person is not None else []
        columns += [Column("segment", self.segment, "text")] if self.segment is not None else []
        columns += [Column("weight", self.weight, "number")] if self.weight is not None else []
        for batch in self._rows(columns, start, end):
            yield from placed_and_not(batch, ["time_bin"])
