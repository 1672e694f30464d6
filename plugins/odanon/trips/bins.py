"""Time bins of a local day, right on days of 23 and 25 hours."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.window import day_window

Instants = npt.NDArray[np.datetime64]
_HOUR = timedelta(hours=1)


def equal_starts(length: timedelta) -> list[time]:
    """The clock times at which bins of one length start; the length divides a day."""
    minutes = round(length / timedelta(minutes=1))
    return [time(*divmod(minute, 60)) for minute in range(0, 24 * 60, minutes)]


def bin_instants(day: date, zone: ZoneInfo, bins: timedelta | Sequence[time]) -> Instants:
    """The UTC instants at which the bins of a day start: a length that divides the day, or clock times from 00:00 on.

    A bin starts when the clock first reaches its start time, so a start that the clock skips in spring is the moment of
    the change, and bins of several hours keep their clock times. The hour that the clock repeats in autumn lengthens
    its bin, except that bins of an hour or less are repeated too and none is longer than asked. A day that a zone left out has none.
    """
    starts = equal_starts(bins) if isinstance(bins, timedelta) else sorted(bins)
    minutes = pd.date_range(*day_window(day, zone), freq="min", inclusive="left").as_unit("us")
    local = minutes.tz_convert(zone)
    clock = local.hour.to_numpy() * 60 + local.minute.to_numpy()
    number = np.searchsorted([start.hour * 60 + start.minute for start in starts], clock, side="right")
    if isinstance(bins, timedelta) and bins <= _HOUR:
        change = (np.diff(number) != 0) | (np.diff(clock) < 0)
    else:
        change = np.diff(np.maximum.accumulate(number)) != 0
    return minutes.tz_convert(None).to_numpy()[np.append(True, change)[: len(minutes)]]


def assign_bins(departure: pd.Series, instants: Instants) -> pd.DatetimeIndex:
    """The start of the bin that each departure falls into; departures lie within the day of the bins."""
    moments = departure.to_numpy("datetime64[us]")
    return pd.DatetimeIndex(instants[np.searchsorted(instants, moments, side="right") - 1]).tz_localize("UTC")
