"""Trips between stays, local days and OD rows."""

from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from odanon.model.window import day_window
from odanon.trips.build import TRIP_COLUMNS, build_trips, great_circle_m

PARIS = ZoneInfo("Europe/Paris")


def at(text: str) -> pd.Timestamp:
    return pd.Timestamp(text, tz="UTC").as_unit("us")


def stays(*rows: tuple[int, str, str, float]) -> pd.DataFrame:
    """(person, start, end, latitude) on one meridian."""
    return pd.DataFrame(
        {
            "person": np.array([row[0] for row in rows], dtype=np.int64),
            "start": [at(row[1]) for row in rows],
            "end": [at(row[2]) for row in rows],
            "lat": [row[3] for row in rows],
            "lon": 4.0,
        }
    )


def trips(frame: pd.DataFrame, day: date = date(2026, 3, 2)) -> pd.DataFrame:
    start, end = day_window(day, ZoneInfo("UTC"))
    return build_trips(frame, start, end, min_distance_m=200, max_duration=timedelta(hours=12))


def test_a_trip_runs_from_the_end_of_one_stay_to_the_start_of_the_next() -> None:
    found = trips(
        stays((1, "2026-03-02 00:00", "2026-03-02 08:00", 45.0), (1, "2026-03-02 08:30", "2026-03-02 12:00", 45.1))
    )
    assert tuple(found.columns) == TRIP_COLUMNS
    assert found["start"].tolist() == [at("2026-03-02 08:00")]
    assert found["end"].tolist() == [at("2026-03-02 08:30")]
    assert found["distance_m"].iloc[0] == pytest.approx(11119.5, abs=1)


def test_people_are_not_joined_and_near_stays_make_no_trip() -> None:
    rows = stays(
        (1, "2026-03-02 00:00", "2026-03-02 08:00", 45.0),
        (2, "2026-03-02 09:00", "2026-03-02 10:00", 45.1),
        (2, "2026-03-02 11:00", "2026-03-02 12:00", 45.1001),
    )
    assert len(trips(rows)) == 0


def test_a_trip_belongs_to_the_day_of_its_departure() -> None:
    rows = stays((1, "2026-03-02 20:00", "2026-03-02 23:50", 45.0), (1, "2026-03-03 00:20", "2026-03-03 07:00", 45.1))
    assert len(trips(rows, date(2026, 3, 2))) == 1
    assert len(trips(rows, date(2026, 3, 3))) == 0


def test_a_long_silence_is_no_trip() -> None:
    rows = stays((1, "2026-03-02 00:00", "2026-03-02 01:00", 45.0), (1, "2026-03-02 13:01", "2026-03-02 15:00", 45.1))
    assert len(trips(rows)) == 0


def test_no_stays_no_trips() -> None:
    assert len(trips(stays((1, "2026-03-02 00:00", "2026-03-02 01:00", 45.0)).iloc[:0])) == 0


def test_distance_over_the_date_line() -> None:
    assert great_circle_m(*map(np.array, (0.0, 179.9, 0.0, -179.9))) == pytest.approx(22239, abs=1)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)])
def test_days_of_23_and_25_hours(day: date, hours: int) -> None:
    start, end = day_window(day, PARIS)
    assert end - start == timedelta(hours=hours)
    assert start.tzinfo is UTC
