"""Time segments of Eurostat's multimno as a source of trips.

Its silver table of time segments has a row per device and stretch of time: user_id, start_timestamp, end_timestamp,
cells (a list), state (stay, move, undetermined, unknown, abroad), in folders year=/month=/day=/user_id_modulo=. Its
silver network table places the cells. A trip goes from the end of a stay to the start of the device's next stay if the
device was seen moving in between and was neither unknown nor abroad. A stay lies at the mean of its cells. Stays cut at
midnight need no joining: without a move between them they make no trip.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from odanon.errors import OdanonError
from odanon.plugin import Duration, parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.frames import NUMBERED, UNREADABLE, numbered_in, unreadable_in
from odanon.reading.table import FileTable, read_small
from odanon.traces.ready import with_distance

_COLUMNS = [
    Column("person", "user_id", "id"),
    Column("start", "start_timestamp", "time"),
    Column("end", "end_timestamp", "time"),
    Column("cells", "cells", "texts"),
    Column("state", "state", "text"),
]
_STAY, _MOVE, _PASSING, _BREAK = range(4)
_STATES = {"stay": _STAY, "move": _MOVE, "undetermined": _PASSING, "unknown": _BREAK, "abroad": _BREAK}


@plugin
class Multimno(FileTable):
    """Trips from the time segments of Eurostat's multimno pipeline (stay, move, unknown, abroad)."""

    enters: ClassVar[str] = "trips"

    network: str = parameter(..., "path of the silver network table, which places the cells")
    context: Duration = parameter("1d", "time read before and after, so that a trip past midnight finds its next stay")

    def trips(self, start: datetime, end: datetime) -> Iterator[pd.DataFrame]:
        """Trips that depart in [start, end): `odanon.trips.build.TRIP_COLUMNS`, in one frame."""
        places, segments, unreadable, numbered = self._places(), [], 0, False
        for batch in self._rows(_COLUMNS, start, end, around=self.context):
            segments.append(_located(batch, places))
            unreadable += unreadable_in(batch)
            numbered |= numbered_in(batch)
        if segments:
            trips = trips_between_stays(pd.concat(segments, ignore_index=True))
            trips = trips[(trips["start"] >= start) & (trips["start"] < end)].reset_index(drop=True)
            trips.attrs |= {UNREADABLE: unreadable, NUMBERED: numbered}
            yield trips

    def _places(self) -> pd.DataFrame:
        """Where each cell stands; several rows of a cell (one per day of validity) must agree."""
        columns = [
            Column("cell", "cell_id", "text"),
            Column("lat", "latitude", "number"),
            Column("lon", "longitude", "number"),
        ]
        places = read_small(self.network, columns).to_pandas().dropna().astype({"cell": "str"}).drop_duplicates()
        if places["cell"].duplicated().any():
            raise OdanonError("the network table places a cell twice; give the network of the days that are read")
        return places.set_index("cell")


def _located(batch: pa.RecordBatch, places: pd.DataFrame) -> pd.DataFrame:
    """Segments with the mean position of their cells; not a number where no cell is in the network table."""
    if pc.any(pc.or_(batch.column("start_unzoned"), batch.column("end_unzoned"))).as_py():
        raise OdanonError(
            "the time segments have times that no zone places; add timezone: to the product file's source"
        )
    cells = batch.column("cells")
    row = pc.list_parent_indices(cells).to_numpy()
    at = places.index.get_indexer(pd.Index(pc.list_flatten(cells).to_pandas(), dtype="str"))
    row, at = row[at >= 0], at[at >= 0]
    with np.errstate(invalid="ignore"):
        count = np.bincount(row, minlength=batch.num_rows).astype(np.float64)
        lat, lon = (
            np.bincount(row, places[name].to_numpy()[at], minlength=batch.num_rows) / count for name in ("lat", "lon")
        )
    frame = batch.select(["person", "start", "end", "state"]).to_pandas()
    state = frame["state"].astype("str").map(_STATES).fillna(_BREAK).to_numpy(np.int64)
    return frame.assign(person=frame["person"].astype("str"), state=state, lat=lat, lon=lon)


def trips_between_stays(segments: pd.DataFrame) -> pd.DataFrame:
    """Trips from each stay to the person's next one, if between them are moves and nothing unknown or abroad.

    `segments`: person, start, end, state, lat, lon. Repeated segments change nothing.
    """
    segments = segments.drop_duplicates(["person", "start", "end", "state"])
    segments = segments.sort_values(["person", "start", "end", "state"], ignore_index=True)
    state = segments["state"].to_numpy()
    stays = np.flatnonzero(state == _STAY)
    here, there = stays[:-1], stays[1:]
    moves, breaks = (np.append(0, np.cumsum(state == kind)) for kind in (_MOVE, _BREAK))
    person = segments["person"].to_numpy()
    made = (person[here] == person[there]) & (moves[there] > moves[here]) & (breaks[there] == breaks[here])
    origin, destination = (segments.iloc[rows[made]].reset_index(drop=True) for rows in (here, there))
    trips = pd.DataFrame(
        {
            "person": origin["person"],
            "start": origin["end"],
            "end": destination["start"],
            "o_lat": origin["lat"],
            "o_lon": origin["lon"],
            "d_lat": destination["lat"],
            "d_lon": destination["lon"],
        }
    )
    return with_distance(trips)
