"""Quarantine: every bad row is counted once, nothing is lost (PRIVACY rule 11)."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from odanon.errors import OdanonError
from odanon.traces.validate import Tally, validate

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
NOON = pd.Timestamp("2026-03-02T12:00:00Z")


def points(**columns: list) -> pd.DataFrame:
    rows = max(len(values) for values in columns.values())
    base = {"person": ["p"] * rows, "time": [NOON] * rows, "lat": [45.0] * rows, "lon": [4.0] * rows}
    frame = pd.DataFrame({**base, **columns})
    return frame.assign(time=pd.to_datetime(frame["time"], utc=True))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"person": [None]}, "no_person"),
        ({"person": [""]}, "no_person"),
        ({"time": [pd.NaT]}, "no_time"),
        ({"lat": [np.nan]}, "not_finite"),
        ({"lon": [np.inf]}, "not_finite"),
        ({"lat": [91.0]}, "out_of_range"),
        ({"lon": [-181.0]}, "out_of_range"),
        ({"lat": [0.0], "lon": [0.0]}, "null_island"),
        ({"time": [pd.Timestamp(0, tz="UTC")]}, "before_2000"),
        ({"time": [pd.Timestamp("2199-01-01", tz="UTC")]}, "in_the_future"),
    ],
)
def test_each_kind_of_bad_row_has_its_reason(columns: dict[str, list], reason: str) -> None:
    tally = Tally()
    assert len(validate(points(**columns), START, END, tally)) == 0
    assert tally.reasons[reason] == 1
    assert tally.quarantined == 1
    assert tally.kept == 0


def test_good_rows_are_kept_and_others_of_the_source_are_outside_the_window() -> None:
    tally = Tally()
    kept = validate(points(time=[NOON, pd.Timestamp("2026-03-03T00:00:00Z"), START]), START, END, tally)
    assert len(kept) == 2
    assert (tally.read, tally.kept, tally.outside_window, tally.quarantined) == (3, 2, 1, 0)


def test_times_without_a_zone_are_quarantined() -> None:
    frame = points(lat=[45.0, 46.0])
    frame["time"] = frame["time"].dt.tz_localize(None)
    tally = Tally()
    assert len(validate(frame, START, END, tally)) == 0
    assert (tally.read, tally.reasons["no_time_zone"], tally.kept) == (2, 2, 0)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(OdanonError, match="no column 'lat'"):
        validate(points(lat=[1.0]).drop(columns="lat"), START, END, Tally())
