"""A column of a table as the time bins of a window: instants, or hours of a day."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.matrix import ODMatrix
from odanon.model.window import Times

SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # on which hours of a day are laid
_MOST = 366  # days of a window
_HOUR = pd.Timedelta(hours=1)


def column_bins(column: pd.Series, where: str) -> tuple[npt.NDArray[np.int32], Times]:
    """The bin of every row and all bins: whole hours from 0 to 23, or those of the days from the first instant to the last.

    Bins are hours, and windows whole days, whatever the rows are: a step or an end of theirs would tell when somebody
    travelled who is in no flow.
    """
    if pd.api.types.is_integer_dtype(column) and column.between(0, 23).all():
        return column.to_numpy(np.int32), hours_of_a_day()
    try:
        starts = pd.to_datetime(column, utc=True)
    except (TypeError, ValueError):
        raise OdanonError(
            f"{where}: the column of times holds no instants, nor hours from 0 to 23; repair it"
        ) from None
    first, last = starts.min().floor("D"), starts.max().floor("D")
    number = ((starts - first) / _HOUR).to_numpy()
    days = (last - first).days + 1
    if not np.array_equal(number, np.floor(number)) or days > _MOST:
        raise OdanonError(f"{where}: times must be whole hours on at most {_MOST} days; round them, or cut the table")
    moments = [(first + at * _HOUR).to_pydatetime() for at in range(24 * days + 1)]
    return number.astype(np.int32), Times.of(list(itertools.pairwise(moments)))


def refuse_thin_ends(od: ODMatrix, k: int) -> None:
    """Intervals tell the first and the last day of a table: enough must have travelled on both (PRIVACY rule 24)."""
    assert od.time is not None
    assert od.times is not None
    for hours in (slice(0, 24), slice(len(od.times) - 24, len(od.times))):
        mine = (od.time >= hours.start) & (od.time < hours.stop)
        units = od.trips[mine].sum() if od.person is None else len(np.unique(od.person[mine]))
        if units < k:
            raise OdanonError(
                f"fewer than {k} travelled on the first or the last day of the table, which the times of flows would tell;"
                " cut the table to the days that you want to tell of"
            )


def hours_of_a_day() -> Times:
    """Whole hours, laid on a day of their own."""
    moments = [SOME_DAY + timedelta(hours=hour) for hour in range(25)]
    return Times.of(list(itertools.pairwise(moments)))


def over_bins(flows: pd.DataFrame, names: Sequence[Any]) -> pd.DataFrame:
    """Flows of intervals as `write_folder` writes them, one row for each of the given bins in theirs, under its name.

    Numbers are spread evenly over time; what falls into bins that are not among the given ones is left out.
    """
    number, times = column_bins(pd.Series(names), "the table")
    name = pd.Series(list(names), index=number)
    bounds = [flows[side] for side in ("time_start", "time_end")]
    if not isinstance(bounds[0].dtype, pd.DatetimeTZDtype):  # hours of a day, as the clock says
        bounds = [SOME_DAY + pd.to_timedelta(side + ":00") for side in bounds]
    first = pd.DatetimeIndex(times.start).get_indexer(pd.DatetimeIndex(bounds[0]))
    last = pd.DatetimeIndex(times.end).get_indexer(pd.DatetimeIndex(bounds[1])) + 1
    row = np.repeat(np.arange(len(flows)), last - first)
    place = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - last, last - first)
    told = np.isin(place, number)
    row, place = row[told], place[told]
    parts = flows.iloc[row].drop(columns=["time_start", "time_end"]).reset_index(drop=True)
    for column in [each for each in parts if each == "trips" or each.startswith("spread")]:
        parts[column] = parts[column].to_numpy() / (last - first)[row]
    return parts.assign(time=name.loc[place].to_numpy())
