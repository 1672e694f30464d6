"""Antenna events (CDR, NSD) as a source: an event lies where its antenna stands."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import model_validator

from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray
from odanon.model.tiles import on_earth
from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.frames import placed_and_not
from odanon.reading.table import FileTable, read_small
from odanon.traces.reach import Reach, reach_by_area, reach_by_weights
from odanon.traces.recordings import Recordings


@plugin
class Antennas(FileTable, Recordings):
    """Call or signalling records of phones in files, with a table that says where the antennas stand."""

    enters: ClassVar[str] = "traces"

    antennas: str = parameter(..., "file with the antenna table: columns of the antenna, its latitude and longitude")
    person: str = parameter("person", "column of the person's id")
    time: str = parameter("time", "column of the time")
    antenna: str = parameter("antenna", "column of the antenna, in events and table")
    lat: str = parameter("lat", "column of the table with the antenna's latitude, degrees")
    lon: str = parameter("lon", "column of the table with the antenna's longitude, degrees")
    spread: Literal["none", "area", "weights"] = parameter(
        "none",
        "where stays lie. none: at the mast. area: each person at one place of the antenna's Voronoi cell, all of it"
        " equally likely. weights: at one of the places in the table weights",
    )
    boundary: Path | None = parameter(
        None, "with spread area: polygon layer that clips the cells; none reaches 5 km beyond the outermost masts"
    )
    weights: str | None = parameter(
        None, "with spread weights: file with the places that an antenna reaches: columns antenna, lat, lon, weight"
    )

    @model_validator(mode="after")
    def _spread_and_its_files(self) -> "Antennas":
        if (self.spread == "weights") != (self.weights is not None):
            raise ValueError("spread: weights and the file weights belong together; give both or neither")
        if self.boundary is not None and self.spread != "area":
            raise ValueError("a boundary clips the cells of spread: area; give both or no boundary")
        return self

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

    def spread_out(
        self, person: npt.NDArray[np.int64], lat: FloatArray, lon: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Where people are who stay on the antenna at a position, as `spread` says; persons are pseudonyms."""
        return (lat, lon) if self._reach is None else self._reach.places(person, lat, lon)

    @cached_property
    def _reach(self) -> Reach | None:
        if self.spread == "none":
            return None
        places = self.places()
        lat, lon = places["lat"].to_numpy(), places["lon"].to_numpy()
        if self.spread == "area":
            return reach_by_area(lat, lon, self.boundary)
        table = self._weights()
        antenna = places.index.get_indexer(pd.Index(table["antenna"]))
        table, antenna = table[antenna >= 0], antenna[antenna >= 0]
        missing = len(places) - len(np.unique(antenna[table["weight"] > 0]))
        if missing:
            raise OdanonError(
                f"{missing} of {len(places)} antennas have no place with a weight; give each at least one, such as its own"
            )
        lat_to, lon_to, weight = (table[name].to_numpy() for name in ("lat", "lon", "weight"))
        return reach_by_weights(lat, lon, antenna, (lat_to, lon_to), weight)

    def _weights(self) -> pd.DataFrame:
        """The table of weights: antenna, lat, lon, weight."""
        assert self.weights is not None
        columns = [Column("antenna", "antenna", "text"), *(Column(n, n, "number") for n in ("lat", "lon", "weight"))]
        table = read_small(self.weights, columns).to_pandas().astype({"antenna": "str"})
        usable = on_earth(table["lat"].to_numpy(), table["lon"].to_numpy())
        bad = int((~usable | ~np.isfinite(table["weight"]) | (table["weight"] < 0)).sum())
        if bad:
            raise OdanonError(
                f"the weights of antennas have {bad} of {len(table)} rows without a place or a weight of at least 0; repair them"
            )
        return table
