"""Time bins of local days and the OD rows counted in them."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.model.window import day_window
from odanon.trips.bins import assign_bins, bin_instants
from odanon.trips.od import OD_COLUMNS, merge_rows, od_rows, pair_table

PARIS = ZoneInfo("Europe/Paris")
SPRING, AUTUMN, PLAIN = date(2026, 3, 29), date(2026, 10, 25), date(2026, 3, 2)
UNEQUAL = (time(0), time(2, 30), time(7), time(9, 30), time(16))


def clocks(day: date, bins: timedelta | tuple[time, ...], zone: ZoneInfo = PARIS) -> list[str]:
    """What the clock shows when the bins of a day start."""
    return (
        pd.DatetimeIndex(bin_instants(day, zone, bins)).tz_localize("UTC").tz_convert(zone).strftime("%H:%M").tolist()
    )


@pytest.mark.parametrize(
    ("day", "length", "count"),
    [
        (PLAIN, timedelta(minutes=15), 96),
        (SPRING, timedelta(minutes=15), 92),
        (AUTUMN, timedelta(minutes=15), 100),
        (PLAIN, timedelta(hours=1), 24),
        (SPRING, timedelta(hours=1), 23),
        (AUTUMN, timedelta(hours=1), 25),
        (SPRING, timedelta(hours=3), 8),
        (AUTUMN, timedelta(hours=3), 8),
        (AUTUMN, timedelta(days=1), 1),
    ],
)
def test_number_of_bins_of_short_and_long_days(day: date, length: timedelta, count: int) -> None:
    assert len(bin_instants(day, PARIS, length)) == count


@pytest.mark.parametrize("day", [PLAIN, SPRING, AUTUMN])
def test_bins_of_several_hours_keep_their_clock_times_when_the_clock_changes(day: date) -> None:
    assert clocks(day, timedelta(hours=6)) == ["00:00", "06:00", "12:00", "18:00"]
    assert clocks(day, UNEQUAL[:1] + UNEQUAL[2:]) == ["00:00", "07:00", "09:30", "16:00"]


def test_a_start_time_that_the_clock_skips_is_the_moment_of_the_change() -> None:
    assert clocks(SPRING, UNEQUAL) == ["00:00", "03:00", "07:00", "09:30", "16:00"]


def test_a_start_time_that_the_clock_shows_twice_starts_one_bin() -> None:
    assert clocks(AUTUMN, UNEQUAL) == ["00:00", "02:30", "07:00", "09:30", "16:00"]
    assert bin_instants(AUTUMN, PARIS, UNEQUAL)[1] == np.datetime64("2026-10-25T00:30")


@given(
    day=st.dates(date(2020, 1, 1), date(2030, 12, 31)),
    zone=st.sampled_from(["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
    length=st.sampled_from([15, 30, 60]),
)
def test_short_bins_cover_the_day_without_one_longer_than_asked(day: date, zone: str, length: int) -> None:
    start, end = day_window(day, ZoneInfo(zone))
    instants = pd.DatetimeIndex(bin_instants(day, ZoneInfo(zone), timedelta(minutes=length))).tz_localize("UTC")
    edges = [*instants, pd.Timestamp(end)]
    assert edges[0] == pd.Timestamp(start)
    assert all(timedelta() < b - a <= timedelta(minutes=length) for a, b in pairwise(edges))


def departures(*minutes: int) -> pd.Series:
    start = pd.Timestamp(datetime(2026, 3, 2, tzinfo=UTC)).as_unit("us")
    return pd.Series([start + pd.Timedelta(minutes=minute) for minute in minutes])


def test_a_departure_at_the_start_of_a_bin_belongs_to_it() -> None:
    bins = bin_instants(PLAIN, ZoneInfo("UTC"), timedelta(hours=1))
    assert assign_bins(departures(0, 59, 60, 1439), bins).hour.tolist() == [0, 0, 1, 23]


def rows_of(people: pd.DataFrame | None) -> pd.DataFrame:
    """Person 7 goes twice and 8 once from a to b in the first hour, 7 once in the second."""
    trips = pd.DataFrame({"person": np.array([7, 7, 8, 7]), "start": departures(10, 50, 20, 60)})
    bins = bin_instants(PLAIN, ZoneInfo("UTC"), timedelta(hours=1))
    return od_rows(trips, np.array(["a"] * 4, object), np.array(["b"] * 4, object), bins, people)


def test_od_rows_count_trips_per_bin_pair_and_person() -> None:
    rows = rows_of(None)
    assert tuple(rows.columns) == OD_COLUMNS
    assert rows[["person", "trips"]].values.tolist() == [[7, 2], [8, 1], [7, 1]]
    assert rows["time_bin"].dt.hour.tolist() == [0, 0, 1]
    assert set(rows["segment"]) == {"all"}
    pairs = pair_table(rows)
    assert pairs[["trips", "persons"]].values.tolist() == [[3, 2], [1, 1]]


def test_rows_carry_the_segment_of_the_person_and_its_weight_for_each_trip() -> None:
    people = pd.DataFrame({"person": [8, 7], "segment": ["visitor", "resident"], "weight": [10.0, 2.5]})
    rows = rows_of(people)
    assert rows[["segment", "person", "trips", "weight"]].values.tolist() == [
        ["resident", 7, 2, 5.0],
        ["visitor", 8, 1, 10.0],
        ["resident", 7, 1, 2.5],
    ]
    assert pair_table(rows)["weight"].tolist() == [5.0, 10.0, 2.5]


@given(st.permutations(range(8)))
def test_rows_do_not_depend_on_how_people_are_split_into_parts(order: list[int]) -> None:
    everybody = pd.concat([rows_of(None).assign(person=lambda r, n=n: r["person"] + 10 * n) for n in range(8)])
    parts = [everybody[everybody["person"] // 10 == n] for n in order]
    assert merge_rows(parts).equals(merge_rows([everybody]))
