"""Ready trips and ready OD rows that a source gives: bad rows quarantined, as points are (PRIVACY rule 11)."""

from datetime import datetime

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.matrix import MOST_TRIPS
from odanon.reading.frames import UNREADABLE
from odanon.reading.ids import AS_WRITTEN, Spelling
from odanon.reading.persons import IdKinds, with_persons
from odanon.reading.validate import Tally, on_null_island
from odanon.trips.build import TRIP_COLUMNS
from odanon.trips.od import ALL

PLACED = ("person", "start", "end", "origin", "destination")  # columns of trips by zone

Mask = npt.NDArray[np.bool_]


def validate_trips(
    trips: pd.DataFrame, start: datetime, end: datetime, tally: Tally, spelling: Spelling = AS_WRITTEN
) -> pd.DataFrame:
    """The good trips of one batch that depart in [start, end), and the counts of the others added to `tally`."""
    tally.unreadable_neighbours += trips.attrs.get(UNREADABLE, 0)
    columns = list(PLACED if "origin" in trips else TRIP_COLUMNS)
    if not _zoned(trips, ("start", "end")):
        return _unplaced(trips[columns], tally)
    trips, kinds = with_persons(trips, spelling)
    tests = {
        "no_person": _missing(trips["person"]),
        "no_time": (trips["start"].isna() | trips["end"].isna()).to_numpy(),
    }
    if "origin" in trips:
        tests["not_finite"] = _missing(trips["origin"]) | _missing(trips["destination"])
    else:
        lat = trips[["o_lat", "d_lat"]].to_numpy(np.float64)
        lon = trips[["o_lon", "d_lon"]].to_numpy(np.float64)
        tests["not_finite"] = ~(np.isfinite(lat) & np.isfinite(lon)).all(axis=1)
        tests["out_of_range"] = ((np.abs(lat) > 90) | (np.abs(lon) > 180)).any(axis=1)
        tests["null_island"] = on_null_island(lat, lon).any(axis=1)
    return _good(trips[columns], trips["start"], tests, start, end, tally, kinds)


def validate_od(
    rows: pd.DataFrame, start: datetime, end: datetime, tally: Tally, spelling: Spelling = AS_WRITTEN
) -> pd.DataFrame:
    """The good OD rows of one batch with a time bin in [start, end); trips as whole numbers, a segment on every row."""
    if not _zoned(rows, ("time_bin",)):
        return _unplaced(rows, tally)
    count = rows["trips"].to_numpy(np.float64)
    tests = {
        "no_time": rows["time_bin"].isna().to_numpy(),
        "not_finite": _missing(rows["origin"]) | _missing(rows["destination"]) | ~np.isfinite(count),
        "out_of_range": (count < 0) | (count >= MOST_TRIPS) | (count != np.floor(count)),
    }
    kinds = IdKinds()
    if "person" in rows:
        rows, kinds = with_persons(rows, spelling)
        tests = {"no_person": _missing(rows["person"]), **tests}
    if "weight" in rows:
        weight = rows["weight"].to_numpy(np.float64)
        tests["out_of_range"] |= ~((weight >= 0) & (weight < np.inf))
    good = _good(rows, rows["time_bin"], tests, start, end, tally, kinds)
    labels = {name: good[name].astype("str") for name in ("origin", "destination")}
    segment = good["segment"].astype("str") if "segment" in good else pd.Series(ALL, index=good.index, dtype="str")
    return good.assign(trips=good["trips"].astype(np.int64), segment=segment, **labels)


def _zoned(rows: pd.DataFrame, times: tuple[str, ...]) -> bool:
    return all(getattr(rows[name].dtype, "tz", None) is not None for name in times)


def _unplaced(rows: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    tally.read += len(rows)
    tally.reasons["no_time_zone"] += len(rows)
    return rows.iloc[:0]


def _missing(values: pd.Series) -> Mask:
    return values.isna().to_numpy(bool) | (values == "").to_numpy(bool)


def _good(
    rows: pd.DataFrame,
    when: pd.Series,
    tests: dict[str, Mask],
    start: datetime,
    end: datetime,
    tally: Tally,
    kinds: IdKinds,
) -> pd.DataFrame:
    """Rows that fail no test and lie in the window; a row that fails several counts under the first."""
    good = np.ones(len(rows), dtype=bool)
    for reason, bad in tests.items():
        tally.reasons[reason] += int((good & bad).sum())
        good &= ~bad
    inside = ((when >= start) & (when < end)).to_numpy(bool)
    tally.read += len(rows)
    tally.outside_window += int((good & ~inside).sum())
    if (good & inside).any():
        tally.ids.add(kinds)
    return rows[good & inside].reset_index(drop=True)
