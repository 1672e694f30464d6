"""Trips between areas of one's own, and over time, with bounds."""

from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from odanon.client.publications import Publications, PublishedProduct
from odanon.model.when.question import WEEKDAYS
from odanon_assets.explore.answers.areas import drawn, table_of
from odanon_assets.explore.models import MatrixAsked, ProfileAsked

_NOTHING = "nothing that is published meets these areas at this time"
_ISO = "%Y-%m-%dT%H:%M"
_LABELS = {"1h": "%a %-d %b %H:%M", "3h": "%a %-d %b %H:%M", "1d": "%a %-d %b", "7d": "%-d %b %Y"}
_WEEKDAYS = tuple(name.capitalize() for name in WEEKDAYS)
_HOURS = {"1h": 1, "3h": 3, "1d": 24, "7d": 168}


def matrix(published: Publications, request: dict[str, Any], asked: MatrixAsked) -> dict[str, Any]:
    """The cells between all areas that some row may tell of."""
    areas = table_of(asked.areas)
    chosen = published[request["product"]]
    cells = _told(chosen.matrix(areas, reading=asked.reading, **asked.when.told(chosen.timezone)))
    return {
        "areas": [str(name) for name in areas.index],
        "cells": cells.to_dict("records"),
        "reading": _reading(chosen, asked.reading),
        "note": None if len(cells) else _NOTHING,
    }


def profile(published: Publications, request: dict[str, Any], asked: ProfileAsked) -> dict[str, Any]:
    """The steps of a pair of areas; where they are laid over each other, means by the time of the day or the week."""
    origin, destination = drawn(asked.origin, asked.destination)
    chosen = published[request["product"]]
    table = chosen.profile(
        origin,
        destination,
        step=asked.step,
        reading=asked.reading,
        along=asked.along,
        fold=asked.fold,
        **asked.when.told(chosen.timezone),
    )
    steps = _told(table[["low", "estimate", "high", "exact", "spread_over_hours"]])
    if asked.fold is None:
        start, end = (_local(table[name], chosen.timezone) for name in ("time_start", "time_end"))
        named = {"start": start.dt.strftime(_ISO), "end": end.dt.strftime(_ISO)}
        named |= {"label": start.dt.strftime(_LABELS[asked.step]), "days": None}
    else:
        ends = table["clock"].map(lambda clock: _later(clock, _HOURS[asked.step]))
        named = {"start": table["clock"], "end": ends, "label": table["clock"]}
        named |= {"days": table["days"].round(2)}
    return {
        "steps": steps.assign(**named).to_dict("records"),
        "note": _spread(table["spread_over_hours"].max(), _HOURS[asked.step]) if len(steps) else _NOTHING,
    }


def _later(clock: str, hours: int) -> str:
    """A time of the day, or of the week, some hours later; the steps beside it may be missing.

    >>> _later("Sunday 21:00", 3), _later("08:00", 1)
    ('Monday 00:00', '09:00')
    """
    weekday, _, at = clock.rpartition(" ")
    days, hour = divmod(int(at[:2]) + hours, 24)
    told = f"{hour:02}:{at[3:]}"
    return f"{_WEEKDAYS[(_WEEKDAYS.index(weekday) + days) % 7]} {told}" if weekday else told


def _local(instants: pd.Series, zone: ZoneInfo) -> pd.Series:
    return pd.to_datetime(instants, utc=True).dt.tz_convert(zone)


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers as JSON knows them: rounded, and none where there is none."""
    numbers = table.select_dtypes("number").columns
    return table.assign(
        **{name: table[name].round(4).astype(object).where(table[name].notna(), None) for name in numbers}
    )


def _spread(longest: float, hours: int) -> str | None:
    if not longest > hours:
        return None
    return (
        f"some trips are published for up to {longest:.3g} hours together; they are spread over the steps of their time"
    )


def _reading(chosen: PublishedProduct, reading: str) -> str:
    """Which reading it was; of several releases there may be several."""
    if reading != "auto":
        return reading
    return ", ".join(sorted({told.get("reading", "even") for told in chosen.manifests()}))
