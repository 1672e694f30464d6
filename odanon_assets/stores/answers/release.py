"""The rows of one release in a folder, with what bounds and time need to know of them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.release import REST
from odanon.model.when.shares import AskedTime, Steps
from odanon.model.window import told_times
from odanon.reconstruct.answers.along import followed, pulses
from odanon.reconstruct.answers.nesting import lengths_of, places_of, rests_around
from odanon.reconstruct.answers.segments import of_segment
from odanon_assets.stores.answers.shapes import read_zones
from odanon_assets.stores.duck import flows_over, manifest_of

INSTANT = "datetime64[us, UTC]"
MOMENT = pd.Timedelta(seconds=1)  # how long rows last that are older than ends of bins: they count where they start
_COLUMNS = ("time_start", "time_end", "segment", "origin_zone", "destination_zone", "kind", "trips", "spread")
_ENDS = ("origin_zone", "destination_zone")
_KEPT = 4  # releases whose rows are at hand for the next question


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release; `number` is that of its zones among the distinct ones of all releases."""

    folder: Path
    number: pd.Series
    time: AskedTime
    steps: Steps
    segment: str | None

    def met(self) -> pd.DataFrame:
        """The rows by step that has some of their time, as `bounds.rests_met` takes them."""
        rows = self._nested
        if self.segment is not None:
            other = rows["segment"] != self.segment
            rows = rows.assign(trips=rows["trips"].mask(other, 0), hours=rows["hours"].mask(other, 0.0))
        asked = shares_of(rows, self.time, self.steps)
        return rows.loc[asked["at"]].assign(
            row=asked["at"].to_numpy(), step=asked["step"].to_numpy(), length=asked["seconds"].to_numpy()
        )

    def spreads(self, column: str) -> pd.DataFrame:
        """What the places of a release carry of one segment in every step, as `column`."""
        assert self.segment is not None
        flows = flows_over([self.folder]).execute(f"SELECT {column} FROM flows").df()
        told = of_segment(self._nested.assign(**{column: flows[column]}), self.segment, [column]).reset_index(drop=True)
        asked = shares_of(told, self.time, self.steps)
        rows = told.loc[asked["at"]].reset_index(drop=True)
        return self._told(rows, asked["step"], column, rows[column] * asked["share"])

    def shifted(self, column: str) -> pd.DataFrame:
        """What flows have more, or less, in steps if they follow their surroundings instead of the clock, as `column`."""
        flows, pulse = self._numbered[self._numbered["kind"] != REST], self._pulses
        if self.segment is not None:
            flows = flows[flows["segment"] == self.segment]
        flows = flows.reset_index(drop=True)
        even, inside = (shares_of(rows, self.time, self.steps) for rows in (flows, pulse))
        even = even.rename(columns={"at": "row"})
        even = even[even["share"] < 1]  # all others have the same either way
        along = followed(flows.loc[even["row"].unique()], pulse, inside.rename(columns={"at": "piece"}))
        both = even.merge(along, on=["row", "step"], how="outer", suffixes=("", "_along")).fillna({"share": 0.0})
        both = both[both["row"].isin(along["row"])].fillna({"share_along": 0.0})
        rows = flows.loc[both["row"]].reset_index(drop=True)
        more = (both["share_along"] - both["share"]).reset_index(drop=True)
        return self._told(rows, both["step"], column, rows["trips"] * more)

    def _told(self, rows: pd.DataFrame, step: pd.Series, column: str, values: pd.Series) -> pd.DataFrame:
        told = {"release_id": self.folder.name, "time_bin": rows["time_start"], "step": step.to_numpy(), column: values}
        return rows.assign(**told)[[*told, *_ENDS]]

    @cached_property
    def timed(self) -> bool:
        """Whether some interval of the release holds another."""
        return len(self._pulses) > 0

    @cached_property
    def _flows(self) -> pd.DataFrame:
        return rows_of(self.folder)

    @cached_property
    def _numbered(self) -> pd.DataFrame:
        """With numbers of zones in place of their names."""
        return self._flows.assign(**{name: self.number.loc[self._flows[name]].to_numpy() for name in _ENDS})

    @cached_property
    def _nested(self) -> pd.DataFrame:
        """With the rest around each row, and how long rows are."""
        return self._numbered.assign(**nesting_of(self.folder))

    @cached_property
    def _pulses(self) -> pd.DataFrame:
        found = pulses(self._flows, read_zones(self.folder), told_times(manifest_of(self.folder)))
        return found.assign(zone_id=self.number.loc[found["zone_id"]].to_numpy())


def rows_of(folder: Path) -> pd.DataFrame:
    """The rows of a release with their times."""
    return _rows_of(folder, _written_ns(folder)).copy(deep=False)


def nesting_of(folder: Path) -> dict[str, npt.ArrayLike]:
    """Which rest lies around each row of a release, which rows are of one place, and their trips times how long they are."""
    return _nesting_of(folder, _written_ns(folder))


def _written_ns(folder: Path) -> int:
    return (folder / "flows.parquet").stat().st_mtime_ns


# A release never changes, and people ask several questions of the same one.
@lru_cache(maxsize=_KEPT)
def _rows_of(folder: Path, _written_ns: int) -> pd.DataFrame:
    return ended(flows_over([folder]).execute(f"SELECT {', '.join(_COLUMNS)} FROM flows").df())


@lru_cache(maxsize=_KEPT)
def _nesting_of(folder: Path, written_ns: int) -> dict[str, npt.ArrayLike]:
    flows = _rows_of(folder, written_ns)
    around = rests_around(flows, read_zones(folder), told_times(manifest_of(folder)))
    return {"around": around, "place": places_of(flows), "hours": flows["trips"] * lengths_of(flows) / 3600}


def ended(times: pd.DataFrame) -> pd.DataFrame:
    """Times of rows with an end, also of those that are older than ends of bins."""
    start = times["time_start"].astype(INSTANT)
    return times.assign(time_start=start, time_end=times["time_end"].astype(INSTANT).fillna(start + MOMENT))


def shares_of(rows: pd.DataFrame, time: AskedTime, steps: Steps) -> pd.DataFrame:
    """at (position in rows), step, share and seconds of the time of rows that steps ask for."""
    start, end = (rows[name].to_numpy("datetime64[us]").astype(np.int64) for name in ("time_start", "time_end"))
    return pd.DataFrame(dict(zip(("at", "step", "share", "seconds"), time.shares(start, end, steps), strict=True)))
