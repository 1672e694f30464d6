"""The tree over the bins of a window."""

import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from odanon.errors import OdanonError
from odanon.model.files.times import read_times, write_times
from odanon.model.window import Times, day_window
from odanon.trips.bins import bin_instants

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


def hours(*starts: int) -> Times:
    moments = [MIDNIGHT + timedelta(hours=hour) for hour in (*starts, 24)]
    return Times.of(list(itertools.pairwise(moments)))


def lengths(times: Times) -> list[int]:
    return sorted(times.tree.n_tiles.tolist())


def test_hours_lie_in_three_six_and_twelve_of_them_and_in_the_day():
    times = hours(*range(24))
    assert lengths(times) == [1] * 24 + [3] * 8 + [6] * 4 + [12] * 2 + [24]
    assert times.tree.tile_start[-1] == 0
    assert [*times.tree.label[times.tree.tiles]] == sorted(times.tree.label[times.tree.tiles])


def test_unequal_bins_count_as_long_as_they_are():
    times = hours(0, 6, 7, 8, 9, 12, 18)
    assert times.weight.tolist() == [6, 1, 1, 1, 3, 6, 6]
    assert lengths(times) == [1, 1, 1, 3, 3, 6, 6, 6, 6, 12, 12, 24]  # 6-9, 6-12, both halves, the day


@pytest.mark.parametrize(("day", "n"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)])
def test_days_of_23_and_25_hours_lie_by_the_local_clock(day: date, n: int):
    starts = [
        at.to_pydatetime().replace(tzinfo=UTC) for at in pd.DatetimeIndex(bin_instants(day, PARIS, timedelta(hours=1)))
    ]
    ends = [*starts[1:], day_window(day, PARIS)[1]]
    times = Times.of(list(zip(starts, ends, strict=True)), [start.astimezone(PARIS) for start in starts])
    assert len(times) == n
    assert times.tree.n_tiles[-1] == n
    assert sorted(times.tree.n_tiles[times.tree.parent == times.tree.root].tolist()) == sorted([12, n - 12])


def test_days_of_a_window_lie_in_their_weeks():
    moments = [MIDNIGHT + timedelta(days=day) for day in range(15)]
    times = Times.of(list(itertools.pairwise(moments)))
    assert lengths(times) == [1] * 14 + [7, 7, 14]


def test_a_file_gives_the_same_times_back(tmp_path: Path):
    times = hours(0, 6, 7, 8)
    write_times(times, tmp_path / "times.parquet")
    again = read_times(tmp_path / "times.parquet")
    assert (again.start, again.end, again.seconds) == (times.start, times.end, times.seconds)
    assert again.tree.label.tolist() == times.tree.label.tolist()
    assert again.tree.parent.tolist() == times.tree.parent.tolist()


def test_bins_that_overlap_or_end_before_they_start_are_refused():
    with pytest.raises(OdanonError, match="follow one another"):
        Times.of(
            [(MIDNIGHT, MIDNIGHT + timedelta(hours=2)), (MIDNIGHT + timedelta(hours=1), MIDNIGHT + timedelta(hours=3))]
        )
    with pytest.raises(OdanonError, match="end after they start"):
        Times.of([(MIDNIGHT, MIDNIGHT)])
    with pytest.raises(OdanonError, match="no time bins"):
        Times.of([])


def told(day_type: str, day: int, days: int, *clock: str) -> list[dict[str, object]]:
    """Bins of one type of days as a manifest tells them, named after a day of October 2026 in Sydney."""
    sydney = ZoneInfo("Australia/Sydney")
    moments = [datetime(2026, 10, day, int(at[:2]) % 24, tzinfo=sydney) for at in clock]
    moments = [at + timedelta(days=at < moments[0]) for at in moments[:-1]] + [
        datetime(2026, 10, day, tzinfo=sydney) + timedelta(days=1) if clock[-1] == "24:00" else moments[-1]
    ]
    return [
        {
            "time_bin": start.astimezone(UTC).isoformat(),
            "time_end": end.astimezone(UTC).isoformat(),
            "day_type": day_type,
            "since": since,
            "until": until,
            "days": days,
        }
        for (start, end), (since, until) in zip(itertools.pairwise(moments), itertools.pairwise(clock), strict=True)
    ]


def test_bins_of_types_of_days_are_as_long_as_on_all_their_days_together():
    halves = "00:00", "12:00", "24:00"
    times = Times.of_told([*told("working", 1, 20, *halves), *told("saturday", 3, 4, *halves)])
    assert times.weight.tolist() == [5, 5, 1, 1]
    assert lengths(times) == [1, 1, 2, 5, 5, 10, 12]


def test_bins_without_a_day_are_none_and_an_hour_that_the_first_sunday_lacks_lies_with_sundays():
    """Clocks in Sydney go from two to three on the first Sunday of October: the bin between is named after the second."""
    sunday = told("sunday_holiday", 4, 4, "00:00", "02:00") + told("sunday_holiday", 4, 4, "03:00", "24:00")
    later = told("sunday_holiday", 11, 3, "02:00", "03:00")
    times = Times.of_told(
        [*told("working", 1, 0, "00:00", "24:00"), *told("saturday", 3, 4, "00:00", "24:00"), *sunday, *later]
    )
    assert times.weight.tolist() == [96, 8, 84, 3]
    assert lengths(times) == [3, 8, 84, 95, 96, 191]


def test_lengths_follow_the_days_behind_bins():
    halves = "00:00", "12:00", "24:00"
    times = Times.of_told([*told("working", 1, 20, *halves), *told("saturday", 3, 5, *halves)])
    noon, friday = times.start[1], times.end[1] + timedelta(hours=3)
    hour = timedelta(hours=1)
    assert times.length([noon, noon, friday], [noon + hour, times.end[-1], friday + hour]).tolist() == [
        20 * 3600,
        (20 * 12 + 5 * 24) * 3600,
        0,
    ]
