"""Dwell stay points: the meaning of the parameters, and the kernel against a slow twin."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_traces import fixes, metres, minute, spans

from odanon.staypoints.dwell import Dwell
from odanon.staypoints.frame import sort_points
from odanon.testing import check_staypoints
from odanon.trips.build import great_circle_m

PLAIN = Dwell(radius_m=100, min_stay="10min", max_gap="2h", max_outliers=0, merge_gap="0s")
TOLERANT = Dwell(radius_m=100, min_stay="10min", max_gap="2h", max_outliers=2, merge_gap="0s")
MERGING = Dwell(radius_m=100, min_stay="10min", max_gap="2h", max_outliers=0, merge_gap="10min")
ALL = [PLAIN, TOLERANT, MERGING, Dwell()]


@pytest.mark.parametrize("dwell", ALL)
def test_conforms(dwell: Dwell) -> None:
    check_staypoints(dwell)


@pytest.mark.parametrize("dwell", ALL)
class TestEveryVariant:
    def test_a_dwell_of_exactly_the_minimum_counts_and_a_shorter_one_does_not(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0), (10, 50), (20, 900)))) == [(0, 10)]
        assert spans(dwell.detect(fixes((0, 0), (9.9, 50), (20, 900)))) == []

    def test_adjacent_stays_are_two(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0), (12, 0), (14, 500), (30, 500)))) == [(0, 12), (14, 30)]

    def test_a_long_silence_ends_a_stay_even_at_the_same_place(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0), (15, 0), (136, 0), (150, 0)))) == [(0, 15), (136, 150)]

    def test_a_gap_after_the_first_fix_starts_anew(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0), (130, 0), (145, 0)))) == [(130, 145)]

    def test_the_last_stay_is_reported_though_it_is_still_open(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 5000), (5, 0), (30, 0)))) == [(5, 30)]

    def test_one_fix_is_no_stay(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0)))) == []

    def test_identical_timestamps_do_no_harm(self, dwell: Dwell) -> None:
        assert spans(dwell.detect(fixes((0, 0), (0, 10), (12, 0), (12, 5)))) == [(0, 12)]

    def test_a_stay_across_midnight_is_one(self, dwell: Dwell) -> None:
        nights = fixes(*[(16 * 60 + 30 * i, 0) for i in range(-4, 5)])
        assert nights["time"].dt.date.nunique() == 2
        assert spans(dwell.detect(nights)) == [(840, 1080)]

    def test_people_are_kept_apart(self, dwell: Dwell) -> None:
        both = pd.concat([fixes((0, 0), (6, 0), person=1), fixes((7, 0), (13, 0), person=2)], ignore_index=True)
        assert spans(dwell.detect(both)) == []

    def test_a_fix_on_the_way_anchors_nothing(self, dwell: Dwell) -> None:
        way = [(i, 400 * i) for i in range(30)]
        assert spans(dwell.detect(fixes(*way, (30, 11900), (45, 11900)))) == [(30, 45)]


STRAY = ((0, 0), (6, 10), (8, 3000), (12, 20), (20, 0))


def test_a_stray_fix_splits_a_plain_dwell_but_not_a_tolerant_one() -> None:
    assert spans(PLAIN.detect(fixes(*STRAY))) == []
    stays = TOLERANT.detect(fixes(*STRAY))
    assert spans(stays) == [(0, 20)]


def test_stray_fixes_count_neither_in_the_position_nor_in_the_number_of_fixes() -> None:
    stays = TOLERANT.detect(fixes(*STRAY))
    assert metres(stays) == [7.5]
    assert stays["fixes"].tolist() == [4]


def test_a_stray_anchor_does_not_swallow_the_dwell_behind_it() -> None:
    assert spans(TOLERANT.detect(fixes((0, 3000), (1, 0), (6, 0), (12, 0)))) == [(1, 12)]


def test_more_strays_in_a_row_than_allowed_end_the_stay() -> None:
    two_away = [(0, 0), (12, 0), (14, 900), (16, 1800), (18, 0), (30, 0)]
    assert spans(TOLERANT.detect(fixes(*two_away))) == [(0, 30)]
    three_away = [(0, 0), (12, 0), (14, 900), (16, 1800), (17, 2700), (18, 0), (30, 0)]
    assert spans(TOLERANT.detect(fixes(*three_away))) == [(0, 12), (18, 30)]


def test_a_stay_does_not_end_with_stray_fixes() -> None:
    assert spans(TOLERANT.detect(fixes((0, 0), (12, 0), (13, 900), (14, 1800)))) == [(0, 12)]


def test_strays_do_not_bridge_a_long_absence() -> None:
    assert spans(TOLERANT.detect(fixes((0, 0), (15, 0), (80, 900), (150, 0), (165, 0)))) == [(0, 15), (150, 165)]


def test_a_short_absence_does_not_split_a_stay_and_a_longer_one_does() -> None:
    short = MERGING.detect(fixes((0, 0), (12, 0), (14, 500), (20, 500), (21, 10), (40, 10)))
    assert spans(short) == [(0, 40)]
    assert metres(short) == [5.0]
    assert short["fixes"].tolist() == [4]
    assert spans(MERGING.detect(fixes((0, 0), (12, 0), (14, 500), (20, 500), (22, 10), (40, 10)))) == [
        (0, 12),
        (22, 40),
    ]


def test_merging_spans_no_silence_that_ends_a_stay() -> None:
    strict = Dwell(max_gap="5min", min_stay="4min", merge_gap="1h")
    assert spans(strict.detect(fixes((0, 0), (4, 0), (10, 0), (14, 0)))) == [(0, 4), (10, 14)]


@dataclass
class Stay:
    first: int
    last: int
    rows: list[int]


def slow_dwell(points: pd.DataFrame, dwell: Dwell) -> list[Stay]:
    """The definition, word by word, for one person."""
    time, lat, lon = (points[name].tolist() for name in ("time", "lat", "lon"))

    def near(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return great_circle_m(*(np.array(value) for value in (*a, *b))) <= dwell.radius_m

    def window(anchor: int) -> list[int]:
        rows, outside = [anchor], 0
        for row in range(anchor + 1, len(time)):
            if time[row] - time[row - 1] > dwell.max_gap:
                break
            if near((lat[anchor], lon[anchor]), (lat[row], lon[row])):
                if time[row] - time[rows[-1]] > dwell.max_gap:
                    break
                rows.append(row)
                outside = 0
            else:
                outside += 1
                if outside > dwell.max_outliers:
                    break
        return rows

    def centre(rows: list[int]) -> tuple[float, float]:
        return float(np.mean([lat[row] for row in rows])), float(np.mean([lon[row] for row in rows]))

    found: list[Stay] = []
    anchor = 0
    while anchor < len(time):
        rows = window(anchor)
        if time[rows[-1]] - time[anchor] < dwell.min_stay:
            anchor += 1
            continue
        pause = time[anchor] - time[found[-1].last] if found else None
        if (
            pause is not None
            and pause < min(dwell.merge_gap, dwell.max_gap)
            and near(centre(found[-1].rows), centre(rows))
        ):
            found[-1] = Stay(found[-1].first, rows[-1], found[-1].rows + rows)
        else:
            found.append(Stay(anchor, rows[-1], rows))
        anchor = rows[-1] + 1
    return found


STEPS = st.lists(st.tuples(st.integers(0, 300), st.integers(-4, 4)), min_size=1, max_size=40)
PARAMETERS = st.builds(
    Dwell,
    radius_m=st.sampled_from([50.0, 97.0, 350.0]),
    min_stay=st.sampled_from(["0s", "5min", "10min", "40min"]),
    max_gap=st.sampled_from(["8min", "30min", "2h"]),
    max_outliers=st.integers(0, 3),
    merge_gap=st.sampled_from(["0s", "10min", "1h"]),
)


@given(STEPS, PARAMETERS)
def test_the_kernel_equals_the_definition(steps: list[tuple[int, int]], dwell: Dwell) -> None:
    # Places 61 metres apart keep every distance off the radii, and so out of reach of rounding.
    points = sort_points(fixes(*[(time, 61 * place) for time, place in steps]))
    stays, expected = dwell.detect(points), slow_dwell(points, dwell)
    assert spans(stays) == [(minute(points["time"][s.first]), minute(points["time"][s.last])) for s in expected]
    assert stays["fixes"].tolist() == [len(s.rows) for s in expected]
    np.testing.assert_allclose(stays["lat"], [points["lat"][s.rows].mean() for s in expected], rtol=0, atol=1e-9)
