"""A column of a table as the time bins of a window: instants cut by a local clock, or hours of a day."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from odanon.errors import OdanonError
from odanon.model.matrix import ODMatrix
from odanon.model.window import Times, day_window
from odanon.product.clock import Bins
from odanon.trips.bins import bin_instants

SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # on which hours of a day are laid
_MOST = 366  # days of a window
_HOUR = pd.Timedelta(hours=1)
_DAY = "1d"
_BINS: TypeAdapter[timedelta | tuple[time, ...]] = TypeAdapter(Bins)


def parse_bins(option: str, text: str) -> timedelta | tuple[time, ...]:
    """Time bins as an option writes them: 15min, 1h, 3h, day, or the clock times at which they start."""
    try:
        return _BINS.validate_python(text.split(",") if ":" in text else _DAY if text == "day" else text)
    except (ValidationError, ValueError):
        raise OdanonError(f"{option} {text}: write a length that divides a day, such as 1h, 3h or day") from None


@dataclass(frozen=True, eq=False)
class CutTimes:
    """The bin of every row, and all bins of the days that the rows lie on."""

    number: npt.NDArray[np.int32]
    times: Times

    def names(self) -> dict[int, str]:
        """The bins that have rows under their names: start and end in UTC."""
        label = self.times.tree.label[self.times.tree.tiles]
        return {number: str(label[number]) for number in np.unique(self.number).tolist()}


def cut(column: pd.Series, zone: ZoneInfo, bins: timedelta | Sequence[time], where: str) -> CutTimes:
    """Instants, or hours of a day, by the bins of the local days from the first to the last of them.

    All bins of whole days are there, whatever the rows are: an end of theirs would tell when somebody travelled who is in no
    flow. On days of 23 and 25 hours, bins are as those of a product are.
    """
    zone = ZoneInfo("UTC") if is_hours(column) else zone  # hours are those of any clock, on a day of their own
    instants = as_instants(column, zone, where)
    local = instants.dt.tz_convert(zone)
    days = _days(local, where)
    edges = np.concatenate([bin_instants(day, zone, bins) for day in days])
    starts = pd.DatetimeIndex(edges, tz="UTC")
    told = [moment.to_pydatetime() for moment in starts] + [day_window(days[-1], zone)[1]]
    clock = [moment.to_pydatetime() for moment in starts.tz_convert(zone).tz_localize(None)]
    number = _bin_of(instants.to_numpy("datetime64[us]"), edges, np.datetime64(told[-1].replace(tzinfo=None), "us"))
    return CutTimes(number, Times.of(list(itertools.pairwise(told)), clock))


def _bin_of(moments: npt.NDArray[np.datetime64], edges: npt.NDArray, end: np.datetime64) -> npt.NDArray[np.int32]:
    """The bin of every moment, by a table of the longest steps that fit into all bins: much faster than a search for each."""
    step = np.gcd.reduce(np.diff(np.append(edges, end)).astype(np.int64))
    number = np.searchsorted(edges, np.arange(edges[0], end, step), side="right") - 1
    place = (moments - edges[0]).view(np.int64)
    place //= step
    np.minimum(place, len(number) - 1, out=place)  # where a clock goes back over midnight, a day is on it once more
    return number.astype(np.int32)[place]


def _days(local: pd.Series, where: str) -> list[date]:
    """All days from the first to the last."""
    first, last = sorted((local.min().date(), local.max().date()))  # a clock may go back over midnight
    days = (last - first).days + 1
    if days > _MOST:
        raise OdanonError(
            f"{where}: the times lie on {days:,} days from {first} to {last}, and at most {_MOST} are released together; {_busiest(local)}; leave"
            " the other rows out of the table"
        )
    return [first + timedelta(days=n) for n in range(days)]


def _busiest(local: pd.Series) -> str:
    """The stretch of days with the most rows, and how many of them lie outside."""
    days = local.dt.tz_localize(None).dt.normalize().to_numpy("datetime64[D]")
    on, rows = np.unique(days, return_counts=True)
    until = np.searchsorted(on, on + np.timedelta64(_MOST, "D"))
    passed = np.append(0, np.cumsum(rows))
    best = int(np.argmax(passed[until] - passed[:-1]))
    inside = int(passed[until[best]] - passed[best])
    return f"all but {len(days) - inside:,} of {len(days):,} rows lie on {on[best]} to {on[until[best] - 1]}"


def is_hours(column: pd.Series) -> bool:
    """Whether a column holds whole hours of a day."""
    return pd.api.types.is_numeric_dtype(column) and bool((column.between(0, 23) & (column % 1 == 0)).all())


def as_instants(column: pd.Series, zone: ZoneInfo, where: str) -> pd.Series:
    """A column of times in UTC; hours of a day are laid on a day of their own."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC")
    if not is_hours(column):
        raise OdanonError(
            f"{where}: the column of times holds no instants of one kind, nor hours from 0 to 23; write instants, such as 2026-03-02T08:15, or say how"
            " all are written, such as --csv-set 'time=%d.%m.%y %H:%M'"
        )
    midnight = pd.Timestamp(SOME_DAY.replace(tzinfo=None))
    hours = pd.Series(pd.Timestamp(midnight) + pd.to_timedelta(column.astype("int64"), unit="h"), column.index)
    return hours.dt.tz_localize(zone).dt.tz_convert("UTC")


def on_the_clock(instants: pd.Series, zone: ZoneInfo) -> pd.DataFrame:
    """Day and minute of the day at which a local clock shows some instants."""
    local = instants.dt.tz_convert(zone)
    return pd.DataFrame({"day": local.dt.date.to_numpy(), "minute": (local.dt.hour * 60 + local.dt.minute).to_numpy()})


def column_bins(column: pd.Series, where: str) -> tuple[npt.NDArray[np.int32], Times]:
    """The bin of every row and all bins: whole hours from 0 to 23, or those of the days from the first instant to the last.

    Bins are hours, and windows whole days, whatever the rows are: a step or an end of theirs would tell when somebody
    travelled who is in no flow.
    """
    if is_hours(column):
        return column.to_numpy(np.int32), hours_of_a_day()
    found = cut(column, ZoneInfo("UTC"), timedelta(hours=1), where)
    if (column.dt.floor("h") != column).any():
        raise OdanonError(f"{where}: times must be whole hours on at most {_MOST} days; cut them with --bin 1h")
    return found.number, found.times


def refuse_thin_ends(od: ODMatrix, k: int) -> None:
    """Intervals tell the first and the last day of a table: enough must have travelled on both (PRIVACY rule 24)."""
    assert od.time is not None
    assert od.times is not None
    day = np.array([moment.toordinal() for moment in od.times.clock])[od.time]
    for end in {moment.toordinal() for moment in (od.times.clock[0], od.times.clock[-1])}:
        mine = day == end
        units = od.trips[mine].sum() if od.person is None else len(np.unique(od.person[mine]))
        if units < k:
            raise OdanonError(
                f"fewer than {k} travelled on the first or the last day of the table, which the times of flows would tell;"
                " cut the table to the days that you want to tell of"
            )


def are_hours(start: pd.Series, end: pd.Series) -> bool:
    """Whether intervals in UTC are hours of a day, which lie on a day of their own, and no instants."""
    return bool(((start >= SOME_DAY) & (end <= SOME_DAY + timedelta(days=1))).all())


def is_interval(name: Any) -> bool:
    """Whether a matrix is named by the start and end of its time bin."""
    return isinstance(name, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[^/]+/\d{4}-\d\d-\d\dT[^/]+", name) is not None


def hours_of_a_day() -> Times:
    """Whole hours, laid on a day of their own."""
    moments = [SOME_DAY + timedelta(hours=hour) for hour in range(25)]
    return Times.of(list(itertools.pairwise(moments)))


def over_bins(flows: pd.DataFrame, names: Sequence[Any]) -> pd.DataFrame:
    """Flows of intervals as `write_folder` writes them, one row for each of the given bins in theirs, under its name.

    Numbers are spread evenly over time; what falls into bins that are not among the given ones is left out. A bin is named by its
    hour of a day, the instant at which its hour starts, or its start and end.
    """
    start, end = _named_bins(names)
    bounds = [flows[side] for side in ("time_start", "time_end")]
    if not isinstance(bounds[0].dtype, pd.DatetimeTZDtype):  # hours of a day, as the clock says
        bounds = [SOME_DAY + pd.to_timedelta(side + ":00") for side in bounds]
    since, until = (side.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]") for side in bounds)
    first, last = np.searchsorted(start, since), np.searchsorted(end, until, side="right")
    row = np.repeat(np.arange(len(flows)), last - first)
    place = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - last, last - first)
    share = (end - start)[place] / (until - since)[row]
    parts = flows.iloc[row].drop(columns=["time_start", "time_end"]).reset_index(drop=True)
    for column in [each for each in parts if each == "trips" or each.startswith("spread")]:
        parts[column] = parts[column].to_numpy() * share
    return parts.assign(time=pd.Series(list(names)).iloc[place].to_numpy())


def _named_bins(names: Sequence[Any]) -> tuple[npt.NDArray[np.datetime64], npt.NDArray[np.datetime64]]:
    """Start and end of bins, in order, in UTC."""
    if all(isinstance(name, str) and "/" in name for name in names):
        edges = [name.split("/") for name in names]
        start, end = (pd.to_datetime([each[at] for each in edges], utc=True) for at in (0, 1))
    else:
        given = pd.Series(list(names))
        start = pd.DatetimeIndex(
            as_instants(given, ZoneInfo("UTC"), "the table") if is_hours(given) else pd.to_datetime(given, utc=True)
        )
        end = start + _HOUR
    first, last = (side.tz_localize(None).to_numpy("datetime64[us]") for side in (start, end))
    return first, last
