"""Time bins of a window of several days: its days laid over each other by the clock, together or by their type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from odanon.model.window import day_window
from odanon.trips.bins import Instants, bin_instants, equal_starts
from odanon.trips.od import OD_COLUMNS

_MIDNIGHT = "24:00"


@dataclass(frozen=True)
class WindowBin:
    """A time bin of a window: a span of the clock on all its days of one type.

    `start` and `end` are its instants on one day and name the bin in tables: the first day of its type on which nobody
    turns the clock. `days` are those of the calendar, `spans` the stretches of time on them, in order; one that the
    clock repeats is two of them.
    """

    start: datetime
    end: datetime
    day_type: str
    since: str
    until: str
    days: tuple[date, ...]
    spans: tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True)
class WindowBins:
    """The time bins of a window, and which of them each bin of a day belongs to."""

    bins: tuple[WindowBin, ...]
    of_day: dict[date, tuple[Instants, np.ndarray]]  # by day: when its own bins start, and which of `bins` they are

    def number(self, day: date, moments: pd.Series) -> np.ndarray:
        """The bin of the window that instants of a day fall into."""
        instants, numbers = self.of_day[day]
        at = moments.dt.tz_convert(None).to_numpy("datetime64[us]")
        return numbers[np.searchsorted(instants, at, side="right") - 1]


def window_bins(
    days: Sequence[date], zone: ZoneInfo, bins: timedelta | Sequence[time], day_type: Callable[[date], str]
) -> WindowBins:
    """The bins of some days: those of one type have theirs in common, each from its clock time to the next.

    Which day comes first is told by the calendar, not by the data. Bins are in the order of their instants.
    """
    starts = equal_starts(bins) if isinstance(bins, timedelta) else sorted(bins)
    clock = np.array([start.hour * 60 + start.minute for start in starts])
    found: dict[tuple[str, int], list[tuple[date, datetime, datetime]]] = {}
    keys: dict[date, tuple[Instants, list[tuple[str, int]]]] = {}
    for day in sorted(days):
        instants = bin_instants(day, zone, bins)
        local = pd.DatetimeIndex(instants).tz_localize("UTC").tz_convert(zone)
        numbers = np.searchsorted(clock, local.hour * 60 + local.minute, side="right") - 1
        moments = [moment.to_pydatetime().replace(tzinfo=UTC) for moment in pd.DatetimeIndex(instants)]
        ends = [*moments[1:], day_window(day, zone)[1]]
        keys[day] = instants, [(day_type(day), int(number)) for number in numbers]
        for key, start, end in zip(keys[day][1], moments, ends, strict=True):
            found.setdefault(key, []).append((day, start, end))
    named: dict[str, date] = {}
    for day in sorted(keys, key=lambda each: (_is_turned(each, zone), each)):
        named.setdefault(day_type(day), day)
    shown = {
        key: next(((start, end) for day, start, end in spans if day == named[key[0]]), spans[0][1:])
        for key, spans in found.items()
    }
    order = sorted(found, key=shown.__getitem__)
    place = {key: number for number, key in enumerate(order)}
    names = [f"{start:%H:%M}" for start in starts] + [_MIDNIGHT]
    made = tuple(
        WindowBin(
            start=shown[kind, number][0],
            end=shown[kind, number][1],
            day_type=kind,
            since=names[number],
            until=names[number + 1],
            days=tuple(dict.fromkeys(day for day, _, _ in found[kind, number])),
            spans=tuple((start, end) for _, start, end in found[kind, number]),
        )
        for kind, number in order
    )
    return WindowBins(
        made, {day: (instants, np.array([place[key] for key in told])) for day, (instants, told) in keys.items()}
    )


def _is_turned(day: date, zone: ZoneInfo) -> bool:
    """Whether clocks are turned on a day."""
    start, end = day_window(day, zone)
    return end - start != timedelta(days=1)


def added_rows(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """OD rows of several days added up: one row for each segment, tile pair and person, sorted by them.

    Parts that come in the same order give the same sums to the last bit.
    """
    rows = pd.concat(parts, ignore_index=True)
    keys = [name for name in OD_COLUMNS[:-1] if name in rows]
    coded = [pd.factorize(rows[name], sort=True)[0] for name in keys]
    order = np.lexsort(coded[::-1])
    fresh = np.ones(len(rows), dtype=bool)
    if len(rows):
        fresh[1:] = np.any([code[order][1:] != code[order][:-1] for code in coded], axis=0)
    starts = np.flatnonzero(fresh)
    added = rows.iloc[order[starts]].reset_index(drop=True)
    for name in (name for name in ("trips", "weight") if name in rows):
        values = rows[name].to_numpy()[order]
        added[name] = np.add.reduceat(values, starts) if len(starts) else values[:0]
    return added
