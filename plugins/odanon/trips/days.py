"""OD rows over several local days, and the typical working day made of them."""

from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from zoneinfo import ZoneInfo

import numpy.typing as npt
import pandas as pd

from odanon.trips.bins import bin_instants
from odanon.trips.od import OD_COLUMNS, merge_rows, od_rows


def od_rows_of_days(
    trips: pd.DataFrame,
    origin: npt.NDArray,
    destination: npt.NDArray,
    zone: ZoneInfo,
    bins: timedelta | Sequence[time],
) -> pd.DataFrame:
    """Person-level OD rows of trips on any number of days; each day has its own bins."""
    departed = trips["start"].dt.tz_convert(zone).dt.date.to_numpy()
    parts = []
    for day in sorted(set(departed)):
        that = departed == day
        instants = bin_instants(day, zone, bins)
        parts.append(od_rows(trips[that], origin[that], destination[that], instants, None))
    return merge_rows(parts) if parts else od_rows(trips, origin, destination, _NO_BINS, None)


_NO_BINS = bin_instants(date(2000, 1, 1), ZoneInfo("UTC"), timedelta(days=1))


def typical_day(rows: pd.DataFrame, zone: ZoneInfo, is_working: Callable[[date], bool]) -> tuple[pd.DataFrame, int]:
    """All working days laid over each other, and how many there are from the first to the last day of the rows.

    `time_bin` becomes the clock time, such as 07:00. Trips are totals over the days; a person who makes a trip every
    day is one row, so distinct persons stay exact. Divide trips by the number of days for a mean.
    """
    local = rows["time_bin"].dt.tz_convert(zone)
    days = sorted(set(local.dt.date))
    span = range((days[-1] - days[0]).days + 1) if days else range(0)
    working = {day for n in span if is_working(day := days[0] + timedelta(days=n))}
    kept = rows.assign(time_bin=local.dt.strftime("%H:%M"))[local.dt.date.isin(working).to_numpy(bool)]
    return kept.groupby(list(OD_COLUMNS[:-1]), sort=True)["trips"].sum().reset_index(), len(working)
