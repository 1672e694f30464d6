"""Profiles laid over each other by the time of the day or of the week, as means over the days that were published."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.model.when.clock import pieces_of
from odanon.model.when.shares import days_behind, microseconds

_LENGTHS = {"day": timedelta(days=1), "week": timedelta(days=7)}
_ADDED = ["low", "estimate", "high"]


def checked_fold(fold: str | None, step: timedelta) -> None:
    """Refuse what cannot be laid over each other."""
    if fold is None:
        return
    if fold not in _LENGTHS:
        raise OdanonError(f"fold is none of {', '.join(_LENGTHS)}")
    if step <= timedelta(0) or _LENGTHS[fold] % step:
        raise OdanonError(f"a {fold} has no whole number of such steps; give a step that divides it, such as 1h")


def folded(profile: pd.DataFrame, fold: str, manifests: Sequence[Mapping[str, Any]], when: When) -> pd.DataFrame:
    """clock, low, estimate, high, exact, spread_over_hours and days: means of all steps at the same time of the day, or the week.

    `clock` is the local time at which steps start, such as 07:00 or Monday 07:00; `days` how many days each mean is over.
    """
    start, end = (profile[name].to_numpy("datetime64[us]").astype(np.int64) for name in ("time_start", "time_end"))
    inside = np.maximum(start, microseconds(when.since)), np.minimum(end, microseconds(when.until))
    days = sum((days_behind(pieces_of(each), when, inside) for each in manifests), np.zeros(len(profile)))
    local = profile["local_start"]
    at = local.dt.hour * 60 + local.dt.minute + (local.dt.weekday * 24 * 60 if fold == "week" else 0)
    clock = (local.dt.day_name() + " " if fold == "week" else "") + local.dt.strftime("%H:%M")
    hours = (profile["spread_over_hours"] * profile["high"]).fillna(0.0)
    table = profile[_ADDED].assign(at=at, clock=clock, hours=hours, days=days)
    sums = table.groupby(["at", "clock"], as_index=False).sum()
    means = sums[_ADDED].div(sums["days"], axis=0)
    exact = (sums["low"] / sums["estimate"].where(sums["estimate"] != 0)).clip(0.0, 1.0)
    spread = sums["hours"] / sums["high"].where(sums["high"] > 0)
    return sums[["clock"]].assign(**means, exact=exact, spread_over_hours=spread, days=sums["days"])
