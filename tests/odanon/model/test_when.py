"""What a question asks of the time of a release, against going through its minutes one by one."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_windows import ALWAYS, GRAIN, WINDOWS

from odanon.errors import OdanonError
from odanon.model.when import DAYS, When, clock_of, local_steps, month_of
from odanon.model.when.clock import pieces_of, span_of
from odanon.model.when.shares import AskedTime, all_time, days_behind, microseconds

# Ordinary days, those on which clocks are turned (by half an hour in one place), and a zone off the hour.
CASES = [
    ("Europe/Paris", date(2026, 3, 28)),
    ("Europe/Paris", date(2026, 3, 29)),
    ("Europe/Paris", date(2026, 10, 25)),
    ("Australia/Lord_Howe", date(2026, 4, 5)),
    ("Australia/Lord_Howe", date(2026, 10, 4)),
    ("Asia/Kathmandu", date(2026, 3, 2)),
]
CLOCK = st.none() | st.tuples(*[st.times().map(lambda at: at.replace(second=0, microsecond=0))] * 2)
MINUTE = timedelta(minutes=1)


def is_asked(at: datetime, zone: ZoneInfo, when: When) -> bool:
    local = at.astimezone(zone)
    day = DAYS[local.weekday()]
    fits = when.days in (None, day) or (when.days, day) in (("sunday_holiday", "sunday"),)
    fits |= when.days == "working" and local.weekday() < 5
    if when.clock is None:
        return fits
    first, last = when.clock
    now = local.time()
    return fits and (first <= now < last if first < last else now >= first or now < last)


@given(case=st.sampled_from(CASES), clock=CLOCK, days=st.none() | st.sampled_from(DAYS), data=st.data())
def test_shares_of_times_are_those_of_their_minutes(case, clock, days, data) -> None:
    zone = ZoneInfo(case[0])
    when = When(*ALWAYS, days, clock)
    pieces = pieces_of({"window_start": case[1].isoformat(), "timezone": case[0]})
    start, whole = pieces[0].start, (pieces[-1].end - pieces[0].start) // MINUTE
    cuts = sorted(data.draw(st.sets(st.integers(0, whole), min_size=4, max_size=4)))
    step, row = data.draw(st.permutations(cuts).map(lambda each: (sorted(each[:2]), sorted(each[2:]))))
    asked = [is_asked(start + n * MINUTE, zone, when) for n in range(whole)]
    inside = [n for n in range(*row) if step[0] <= n < step[1] and asked[n]]
    edges = [np.array([microseconds(start + n * MINUTE)]) for n in (*row, *step)]
    at, number, share, seconds = AskedTime.of(pieces, when).shares(edges[0], edges[1], (edges[2], edges[3]))
    assert share.sum() == pytest.approx(len(inside) / (row[1] - row[0]), abs=1e-12)
    assert seconds.sum() == pytest.approx(60 * len(inside), abs=1e-6)
    assert (len(at), len(number)) == ((1, 1) if inside else (0, 0))


def week(*types: tuple[str, int, int], missing: tuple[str, ...] = ()) -> dict:
    """The manifest of a week from Monday, 2026-03-02, with a bin of twelve hours for each (type, first day, days)."""
    bins = [
        {
            "time_bin": datetime(2026, 3, day, 12 * half, tzinfo=UTC).isoformat(),
            "day_type": kind,
            "since": f"{12 * half:02}:00",
            "until": f"{12 * (half + 1):02}:00",
            "days": days,
        }
        for kind, day, days in types
        for half in (0, 1)
    ]
    told = {"window": "week", "window_start": "2026-03-02", "timezone": "UTC", "bins": bins}
    return {**told, "missing_days": [*missing]}


WORKING_WEEK = week(("working", 2, 4), ("saturday", 7, 1), ("sunday_holiday", 6, 2))


HOLIDAY_SOMEWHERE = week(
    ("working", 2, 4), ("saturday", 7, 1), ("sunday_holiday", 4, 2)
)  # on Wednesday: it names its bin
BEGUN = week(("working", 2, 3), ("saturday", 7, 1), ("sunday_holiday", 8, 1))  # of two days nothing is told


@pytest.mark.parametrize(
    ("manifest", "days", "of_bins"),
    [
        (WORKING_WEEK, "working", [1, 0, 0]),
        (WORKING_WEEK, "saturday", [0, 0, 1]),  # in the order of their instants: the holiday on Friday names its bin
        (WORKING_WEEK, "sunday_holiday", [0, 1, 0]),
        (WORKING_WEEK, "sunday", [0, 0.5, 0]),
        (WORKING_WEEK, "friday", [0, 0.5, 0]),
        (WORKING_WEEK, "tuesday", [0.25, 0, 0]),
        (HOLIDAY_SOMEWHERE, "wednesday", [0, 0.5, 0]),
        (BEGUN, "tuesday", [1 / 6, 0, 0]),
        (BEGUN, "monday", [1 / 3, 0, 0]),
        (week(("all", 2, 7)), "working", [5 / 7]),
        (week(("all", 2, 6), missing=("2026-03-03",)), "tuesday", [0]),
        (week(("all", 2, 6), missing=("2026-03-03",)), "sunday_holiday", [1 / 6]),
        (week(("friday", 6, 1)), "working", [1]),
        (week(("friday", 6, 1)), "sunday", [0]),
    ],
)
def test_bins_of_a_week_tell_of_days_what_their_types_do(manifest: dict, days: str, of_bins: list[float]) -> None:
    pieces = pieces_of(manifest)
    starts = [at for at in dict.fromkeys(piece.start for piece in pieces) if at.hour == 0]
    here = [[piece for piece in pieces if piece.start == at] for at in starts]
    shares = [sum(p.days for p in each if p.is_of(days)) / sum(p.days for p in each) for each in here]
    assert shares == pytest.approx(of_bins)


def test_a_bin_lasts_on_all_its_days_and_a_clock_takes_its_part() -> None:
    pieces = pieces_of(WORKING_WEEK)
    start, end = (np.array([microseconds(datetime(2026, 3, day, tzinfo=UTC))]) for day in (2, 3))
    assert all_time(pieces).lengths(start, end).tolist() == [4 * 86400]
    when = When(*ALWAYS, None, clock_of("11:00-13:00"))
    assert AskedTime.of(pieces, when).between(start, end).tolist() == pytest.approx([7200])
    assert days_behind(pieces, when, (start, end)).tolist() == pytest.approx([1])
    week_long = start, start + 7 * 86_400_000_000
    assert days_behind(pieces, when, week_long).tolist() == pytest.approx([7])
    assert days_behind(pieces, When(*ALWAYS, "monday"), week_long).tolist() == pytest.approx([1])
    assert days_behind(pieces_of(BEGUN), When(*ALWAYS), week_long).tolist() == pytest.approx([5])
    assert span_of(WORKING_WEEK) == (datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))


@pytest.mark.parametrize("window", [*WINDOWS])
@given(
    data=st.data(),
    days=st.none() | st.sampled_from(DAYS),
    clock=st.none() | st.tuples(*[st.integers(0, 47).map(lambda half: time(half // 2, 30 * (half % 2)))] * 2),
)
def test_rows_of_weeks_and_months_are_asked_on_every_day_that_they_may_be_of(window: str, data, days, clock) -> None:
    told = WINDOWS[window]
    first, last = span_of(told.manifest)
    cuts = data.draw(st.lists(st.integers(-5, (last - first) // GRAIN + 5), min_size=3, max_size=3, unique=True))
    edges = [first + cut * GRAIN for cut in sorted(cuts)]
    steps = np.array([microseconds(at) for at in edges])
    rows = data.draw(st.lists(st.sampled_from(told.rows), min_size=1, max_size=5))
    start, end = (np.array([microseconds(row[side]) for row in rows]) for side in (0, 1))
    time_asked = AskedTime.of(pieces_of(told.manifest), When(*ALWAYS, days, clock))
    at, step, share, _ = time_asked.shares(start, end, (steps[:-1], steps[1:]))
    found = dict(zip(zip(at.tolist(), step.tolist(), strict=True), share.tolist(), strict=True))
    for number, (_, _, bins) in enumerate(rows):
        for place, span in enumerate(pairwise(edges)):
            when, asked = When(*span, days, clock), found.pop((number, place), 0.0)
            assert asked == pytest.approx(told.share(bins, when), abs=1e-12)
            truly = told.truly(bins, when)
            assert all(truly) or asked < 1 - 1e-9
            assert asked > 0 or not any(truly)
    assert not found


@pytest.mark.parametrize(
    ("day", "hours", "lengths"),
    [
        (date(2026, 3, 28), 6, [6, 6, 6, 6]),
        (date(2026, 3, 29), 6, [5, 6, 6, 6]),
        (date(2026, 10, 25), 6, [7, 6, 6, 6]),
        (date(2026, 10, 25), 1, [1, 1, 2, *[1] * 21]),
        (date(2026, 3, 29), 1, [1] * 23),
    ],
)
def test_steps_are_those_of_the_local_clock(day: date, hours: int, lengths: list[int]) -> None:
    zone = ZoneInfo("Europe/Paris")
    since, until = (datetime.combine(each, time(), zone) for each in (day, day + timedelta(days=1)))
    steps = local_steps(since, until, timedelta(hours=hours), zone)
    assert [(last - first) / timedelta(hours=1) for first, last in steps] == lengths
    assert (steps[0][0], steps[-1][1]) == (since, until)


def test_months_are_local_and_clocks_may_pass_midnight() -> None:
    zone = ZoneInfo("Europe/Paris")
    assert month_of("2026-03", zone) == (datetime(2026, 3, 1, tzinfo=zone), datetime(2026, 4, 1, tzinfo=zone))
    assert When(*ALWAYS, None, clock_of("22:00-06:00")).spans == [(0, 6 * 3600), (22 * 3600, 86400)]
    assert When(*ALWAYS, None, clock_of("22:00-24:00")).spans[1] == (22 * 3600, 86400)
    assert When(*ALWAYS, None, clock_of("07:00-09:00")).clock_text == "07:00-09:00"


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: When(*ALWAYS[::-1]), "not longer than nothing"),
        (lambda: When(datetime(2026, 3, 1), ALWAYS[1]), "not an instant"),
        (lambda: When(*ALWAYS, "holiday"), "days is none of monday"),
        (lambda: When(*ALWAYS, None, (time(7, 0, 1), time(8))), "by the minute"),
        (lambda: clock_of("7-9"), "write 07:00-09:00"),
        (lambda: clock_of("07:00-25:00"), "write 07:00-09:00"),
        (lambda: month_of("2026-13", ZoneInfo("UTC")), "write 2026-03"),
        (lambda: local_steps(*ALWAYS, timedelta(0), ZoneInfo("UTC")), "longer than nothing"),
        (lambda: local_steps(*ALWAYS, timedelta(hours=1), ZoneInfo("UTC")), "more than 10000 steps"),
    ],
)
def test_mistakes_are_one_sentence(ask, sentence: str) -> None:
    with pytest.raises(OdanonError, match=sentence):
        ask()
