"""Conformance of sources."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.protocols import Source
from odanon.reading.validate import COLUMNS, Tally, validate
from odanon.testing.parameters import check_parameters
from odanon.trips.build import TRIP_COLUMNS
from odanon.trips.ready import PLACED, validate_od, validate_trips

# By the stage that a source feeds: the method that reads, the columns that its frames have at least, and what sorts good rows from bad.
_READS = {
    "traces": ("batches", COLUMNS, validate),
    "trips": ("trips", TRIP_COLUMNS, validate_trips),
    "od": ("od", ("time_bin", "origin", "destination", "trips"), validate_od),
}
_TIMES = ("time", "start", "end", "time_bin")
_NEVER = date(1999, 1, 1)


def check_source(plugin: Source, day: date) -> None:
    """All rules for a source, on a day (UTC) of which it has data."""
    check_parameters(plugin)
    name = type(plugin).__name__
    enters = getattr(plugin, "enters", None)
    assert enters in _READS, f"{name}: `enters` is {enters!r}, not one of {', '.join(_READS)}"
    method, columns, _ = _READS[enters]
    assert callable(getattr(plugin, method, None)), f"{name} feeds {enters} and has no method {method}()"
    assert plugin.available(day) is True, f"{name}: available() is not True on {day}, of which it has data"
    assert plugin.available(_NEVER) in (True, False), f"{name}: available() is neither True nor False on {_NEVER}"
    rows = _read(plugin, method, day)
    assert len(rows), f"{name} yields no row on {day}, of which it has data"
    for column in PLACED if enters == "trips" and "origin" in rows else columns:
        assert column in rows, f"{name}: its frames have no column {column!r}"
    _check_times(rows, name)
    inside = _on(rows, day, _moment(enters))
    assert len(inside), f"{name}: no row of {day} lies on that day"
    _check_usable(inside, enters, day, name)
    again = _read(plugin, method, day)
    assert _same(rows, again), f"{name}: reading a day twice gives other rows"
    if hasattr(plugin, "state"):
        state = plugin.state([day])
        assert isinstance(state, str), f"{name}: state() is no text"
        assert state == plugin.state([day]), f"{name}: state() changes though nothing did"
    if hasattr(plugin, "delivered"):
        assert any(delivery.files for delivery in plugin.delivered(day)), f"{name}: delivered() lists nothing of {day}"
    try:
        nothing = _read(plugin, method, _NEVER)
    except OdanonError:
        return  # a day without data may be refused in a sentence
    assert not len(nothing) or not plugin.available(day) or plugin.available(_NEVER), f"{name}: rows of a day it lacks"


def _check_usable(rows: pd.DataFrame, enters: str, day: date, name: str) -> None:
    """Bad rows are handed on as they are, so some may be bad; a day of nothing else would be quarantined whole."""
    start, tally = datetime.combine(day, time(), UTC), Tally()
    try:
        good = _READS[enters][2](rows, start, start + timedelta(days=1), tally)
    except (TypeError, ValueError):
        raise AssertionError(
            f"{name}: coordinates or numbers of trips are no numbers; give NaN for what is none"
        ) from None
    reasons = ", ".join(reason for reason, count in tally.reasons.items() if count)
    assert len(good), f"{name}: no row of {day} is usable ({reasons}); hand on bad rows beside good ones"


def _moment(enters: str) -> str:
    return {"traces": "time", "trips": "start", "od": "time_bin"}[enters]


def _read(plugin: Any, method: str, day: date) -> pd.DataFrame:
    start = datetime.combine(day, time(), UTC)
    frames = list(getattr(plugin, method)(start, start + timedelta(days=1)))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _check_times(rows: pd.DataFrame, name: str) -> None:
    for column in (column for column in _TIMES if column in rows):
        kind = rows[column].dtype
        assert isinstance(kind, pd.DatetimeTZDtype), f"{name}: {column} holds no aware instants"


def _on(rows: pd.DataFrame, day: date, column: str) -> pd.DataFrame:
    start = pd.Timestamp(day, tz="UTC")
    moments = pd.to_datetime(rows[column], utc=True)
    return rows[(moments >= start) & (moments < start + pd.Timedelta(days=1))]


def _same(one: pd.DataFrame, two: pd.DataFrame) -> bool:
    """The same rows, in any order."""
    columns = list(one.columns)
    if set(columns) != set(two.columns) or len(one) != len(two):
        return False
    ordered = [part[columns].astype(str).sort_values(columns, ignore_index=True) for part in (one, two)]
    return ordered[0].equals(ordered[1])
