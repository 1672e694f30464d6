"""Quarantine: every bad row is counted once, nothing is lost (PRIVACY rule 11)."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.reading.validate import Tally, validate

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


def test_ids_may_be_categories_and_antennas_come_along() -> None:
    frame = points(lat=[45.0, 46.0, 47.0]).assign(person=pd.Categorical(["p", "", None]), antenna=[3, 4, 5])
    tally = Tally()
    kept = validate(frame, START, END, tally)
    assert kept["antenna"].tolist() == [3]
    assert tally.reasons["no_person"] == 2


def test_a_row_that_is_wrong_in_two_ways_counts_once_under_the_first() -> None:
    tally = Tally()
    validate(points(lat=[np.nan], time=[pd.Timestamp(0, tz="UTC")]), START, END, tally)
    assert (tally.reasons["not_finite"], tally.quarantined) == (1, 1)


COORDINATES = st.sampled_from([45.0, -91.0, 181.0, 0.0, np.nan, np.inf, 4.0])
TIMES = st.sampled_from(
    [NOON, pd.NaT, pd.Timestamp(0, tz="UTC"), pd.Timestamp("2199-01-01", tz="UTC"), pd.Timestamp(END)]
)


@given(st.lists(st.tuples(st.sampled_from(["p", "", None]), TIMES, COORDINATES, COORDINATES), max_size=30))
def test_every_row_is_kept_or_counted(rows: list[tuple]) -> None:
    frame = pd.DataFrame(rows, columns=["person", "time", "lat", "lon"])
    frame = frame.assign(time=pd.to_datetime(frame["time"], utc=True).astype("datetime64[us, UTC]"))
    tally = Tally()
    kept = validate(frame.astype({"lat": float, "lon": float}), START, END, tally)
    assert tally.read == len(rows)
    assert tally.kept == len(kept)
    assert tally.read == len(kept) + tally.outside_window + tally.quarantined
    assert (kept["person"] == "p").all()
    assert kept[["lat", "lon"]].abs().le([90, 180]).all(axis=None)


def test_rows_of_other_days_of_one_large_file_are_outside_and_not_from_the_future() -> None:
    later = datetime.now(UTC) - timedelta(days=1)
    times = [NOON, pd.Timestamp("2026-02-01T12:00:00Z"), pd.Timestamp("2026-03-20T12:00:00Z"), pd.Timestamp(later)]
    tally = Tally()
    assert len(validate(points(time=times), START, END, tally)) == 1
    assert (tally.outside_window, tally.quarantined) == (3, 0)
    ahead = datetime.now(UTC) + timedelta(days=400)  # a day that is simulated ahead of the clock has its own future
    day = datetime(ahead.year, ahead.month, ahead.day, tzinfo=UTC)
    assert len(validate(points(time=[pd.Timestamp(day)]), day, day + timedelta(days=1), tally)) == 1
