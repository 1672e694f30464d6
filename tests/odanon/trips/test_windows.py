"""Time bins of windows of several days: against the clock of every single trip, and rows added up against a plain sum."""

from datetime import date, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.model.window import LENGTHS, days_of, next_window, window_instants, window_start
from odanon.product.sections import Calendar
from odanon.trips.bins import bin_instants
from odanon.trips.windows import added_rows, window_bins

PARIS = ZoneInfo("Europe/Paris")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
dates = st.dates(date(1999, 1, 1), date(2040, 12, 31))


@given(dates, st.sampled_from(LENGTHS))
def test_every_day_lies_in_one_window(day: date, length: str) -> None:
    start = window_start(day, length)
    assert day in days_of(start, length)
    assert window_start(start, length) == start
    assert window_start(next_window(start, length), length) == next_window(start, length)
    assert days_of(start, length)[-1] + DAY == next_window(start, length)


def test_weeks_begin_on_monday_and_a_window_is_as_long_as_its_clock_says() -> None:
    assert window_start(date(2026, 3, 8), "week") == date(2026, 3, 2)
    start, end = window_instants(date(2026, 3, 1), PARIS, "month")
    assert end - start == timedelta(days=31) - HOUR  # summer time begins


@pytest.mark.parametrize("bins", [HOUR, DAY, (time(), time(2, 30), time(6), time(20))])
@pytest.mark.parametrize("month", [date(2026, 3, 1), date(2026, 10, 1)])  # with days of 23 and 25 hours
def test_every_bin_of_a_day_is_in_the_bin_of_its_clock_and_type(
    bins: timedelta | tuple[time, ...], month: date
) -> None:
    calendar, days = Calendar(holidays=[date(2026, 3, 4)]), days_of(month, "month")
    made = window_bins(days, PARIS, bins, calendar.day_type)
    spans = {(span, each) for each in made.bins for span in each.spans}
    assert len(spans) == sum(len(bin_instants(day, PARIS, bins)) for day in days)
    covered = sum((end - start for (start, end), _ in spans), timedelta())
    first, last = window_instants(month, PARIS, "month")
    assert covered == last - first
    for (start, _), each in spans:
        local = start.astimezone(PARIS)
        assert calendar.day_type(local.date()) == each.day_type
        assert local.date() in each.days
        assert each.since <= f"{local:%H:%M}" < each.until
    starts = [each.start for each in made.bins]
    assert starts == sorted(set(starts)), "each bin has a name of its own"
    for day in days:
        moments = pd.Series(pd.DatetimeIndex(bin_instants(day, PARIS, bins)).tz_localize("UTC") + timedelta(minutes=29))
        for number, at in zip(made.number(day, moments), moments, strict=True):
            assert any(start <= at < end for start, end in made.bins[number].spans)


@pytest.mark.parametrize("first", [date(2026, 3, 29), date(2026, 10, 25)])  # Sundays of 23 and 25 hours
def test_bins_are_named_after_a_day_on_which_nobody_turns_the_clock(first: date) -> None:
    made = window_bins([first + number * DAY for number in range(8)], PARIS, HOUR, Calendar().day_type)
    sundays = [each for each in made.bins if each.day_type == "sunday_holiday"]
    assert [(each.since, each.start.astimezone(PARIS).hour) for each in sundays] == [
        (f"{hour:02d}:00", hour) for hour in range(24)
    ]
    assert all(each.end - each.start == HOUR for each in made.bins)
    alone = window_bins([first], PARIS, HOUR, Calendar().day_type)
    assert {each.start.astimezone(PARIS).date() for each in alone.bins} == {first}


def test_types_of_days() -> None:
    calendar = Calendar(country="FR", holidays=[date(2026, 5, 2)])
    told = {day: calendar.day_type(date(2026, 5, day)) for day in (1, 2, 3, 4, 9)}
    assert told == {1: "sunday_holiday", 2: "sunday_holiday", 3: "sunday_holiday", 4: "working", 9: "saturday"}
    assert not Calendar(country="DE-BY").is_working(date(2026, 1, 6))  # Epiphany, of which Berlin knows nothing
    assert Calendar(country="DE-BE").is_working(date(2026, 1, 6))


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(1, 9), st.integers(0, 3)), max_size=40))
def test_rows_are_added_up_as_a_plain_sum_does(rows: list[tuple[int, ...]]) -> None:
    frame = pd.DataFrame(rows, columns=["origin", "destination", "person", "trips", "part"], dtype=np.int64)
    frame = frame.assign(segment="all", weight=frame["trips"] * 0.5).astype({"origin": "str", "destination": "str"})
    frame = frame[["segment", "origin", "destination", "person", "trips", "weight", "part"]]
    parts = [part.drop(columns="part") for _, part in frame.groupby("part")] or [frame.drop(columns="part")]
    keys = ["segment", "origin", "destination", "person"]
    expected = frame.groupby(keys, sort=True)[["trips", "weight"]].sum().reset_index()
    pd.testing.assert_frame_equal(added_rows(parts), expected, check_dtype=len(frame) > 0)
