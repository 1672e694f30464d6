"""The rows of one release in a folder, with what bounds and time need to know of them."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pandas as pd

from odanon.model.release import REST
from odanon.model.window import Times, told_times
from odanon.reconstruct.answers.along import followed, pulses
from odanon.reconstruct.answers.nesting import lengths_of, places_of, rests_around
from odanon.reconstruct.nested import Floats
from odanon_assets.stores.answers.shapes import read_zones
from odanon_assets.stores.duck import manifest_of, session_over

_INSTANT = "datetime64[us, UTC]"
_MOMENT = pd.Timedelta(
    microseconds=1
)  # how long rows last that are older than ends of bins: they count where they start
_COLUMNS = ("time_start", "time_end", "origin_zone", "destination_zone", "kind", "trips", "spread")
_ENDS = ("origin_zone", "destination_zone")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release; `number` is that of its zones among the distinct ones of all releases."""

    folder: Path
    number: pd.Series

    def met(self, since: datetime, until: datetime) -> pd.DataFrame:
        """The rows that have some of a time, as `bounds.rests_met` takes them."""
        rows = self._nested[self._meets(self._nested, since, until)]
        return rows.assign(length=self._length(rows, since, until))

    def shifted(self, since: datetime, until: datetime, column: str) -> pd.DataFrame:
        """What flows have more, or less, in some time if they follow their surroundings instead of the clock, as `column`."""
        flows, pulse = self._numbered[self._numbered["kind"] != REST], self._pulses
        cut = (flows["time_start"] < since) | (flows["time_end"] > until)  # all others have the same either way
        flows = flows[cut & self._meets(flows, since, until)]
        even, inside = (self._length(rows, since, until) / lengths_of(rows, self._times) for rows in (flows, pulse))
        along = followed(flows, pulse, pd.Series(inside, pulse.index)).fillna(pd.Series(even, flows.index))
        told = {
            "release_id": self.folder.name,
            "time_bin": flows["time_start"],
            column: flows["trips"] * (along - even),
        }
        return flows.assign(**told)[[*told, *_ENDS]]

    def meets(self, since: datetime, until: datetime) -> bool:
        """Whether a row has some of a time."""
        return bool(self._meets(self._flows, since, until).any())

    @cached_property
    def timed(self) -> bool:
        """Whether some interval of the release holds another."""
        return len(self._pulses) > 0

    @cached_property
    def _times(self) -> Times | None:
        return told_times(manifest_of(self.folder))

    @cached_property
    def _flows(self) -> pd.DataFrame:
        flows = session_over([self.folder]).execute(f"SELECT {', '.join(_COLUMNS)} FROM flows").df()
        start = flows["time_start"].astype(_INSTANT)
        return flows.assign(time_start=start, time_end=flows["time_end"].astype(_INSTANT).fillna(start + _MOMENT))

    @cached_property
    def _numbered(self) -> pd.DataFrame:
        """With numbers of zones in place of their names."""
        return self._flows.assign(**{name: self.number.loc[self._flows[name]].to_numpy() for name in _ENDS})

    @cached_property
    def _nested(self) -> pd.DataFrame:
        """With the rest around each row, and how long rows are."""
        around = rests_around(self._flows, read_zones(self.folder), self._times)
        hours = self._flows["trips"] * lengths_of(self._flows) / 3600
        return self._numbered.assign(around=around, place=places_of(self._flows), hours=hours)

    @cached_property
    def _pulses(self) -> pd.DataFrame:
        found = pulses(self._flows, read_zones(self.folder), self._times)
        return found.assign(zone_id=self.number.loc[found["zone_id"]].to_numpy())

    def _meets(self, rows: pd.DataFrame, since: datetime, until: datetime) -> pd.Series:
        return (rows["time_start"] < until) & (rows["time_end"] > since)

    def _length(self, rows: pd.DataFrame, since: datetime, until: datetime) -> Floats:
        """How much of the time of rows lies between two moments, in seconds."""
        asked = pd.Timestamp(since), pd.Timestamp(until)
        return lengths_of(
            pd.DataFrame({name: rows[name].clip(*asked) for name in ("time_start", "time_end")}), self._times
        )
