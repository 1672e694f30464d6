"""Dwell stay points: the meaning of the parameters, and the kernel against a slow twin."""

from datetime import timedelta

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from odanon.staypoints.dwell import Dwell
from odanon.staypoints.frame import sort_points
from odanon.testing import check_staypoints
from odanon.trips.build import great_circle_m

START = pd.Timestamp("2026-03-02T08:00:00Z").as_unit("us")
METRE = 1 / 111_195  # degrees of latitude


def fixes(*steps: tuple[float, float], person: int = 1) -> pd.DataFrame:
    """Points from (minute, metres north) steps."""
    minutes, metres = zip(*steps, strict=True)
    return pd.DataFrame(
        {
            "person": np.int64(person),
            "time": START + pd.to_timedelta(np.array(minutes) * 60.0, unit="s").as_unit("us"),
            "lat": 45.0 + np.array(metres, dtype=float) * METRE,
            "lon": 4.0,
        }
    )


def spans(stays: pd.DataFrame) -> list[tuple[float, float]]:
    """(first, last) minute of every stay."""
    return [
        ((row.start - START) / timedelta(minutes=1), (row.end - START) / timedelta(minutes=1))
        for row in stays.itertuples()
    ]


DWELL = Dwell(radius_m=100, min_stay="10min", max_gap="2h")


def test_conforms() -> None:
    check_staypoints(DWELL)


def test_a_dwell_of_exactly_the_minimum_counts_and_a_shorter_one_does_not() -> None:
    assert spans(DWELL.detect(fixes((0, 0), (10, 50), (20, 900)))) == [(0, 10)]
    assert spans(DWELL.detect(fixes((0, 0), (9.9, 50), (20, 900)))) == []


def test_adjacent_stays_are_two() -> None:
    assert spans(DWELL.detect(fixes((0, 0), (12, 0), (14, 500), (30, 500)))) == [(0, 12), (14, 30)]


def test_a_long_silence_ends_a_stay_even_at_the_same_place() -> None:
    assert spans(DWELL.detect(fixes((0, 0), (15, 0), (136, 0), (150, 0)))) == [(0, 15), (136, 150)]


def test_a_gap_after_the_first_fix_starts_anew() -> None:
    assert spans(DWELL.detect(fixes((0, 0), (130, 0), (145, 0)))) == [(130, 145)]


def test_the_last_stay_is_reported_though_it_is_still_open() -> None:
    assert spans(DWELL.detect(fixes((0, 5000), (5, 0), (30, 0)))) == [(5, 30)]


def test_identical_timestamps_do_no_harm() -> None:
    assert spans(DWELL.detect(fixes((0, 0), (0, 10), (12, 0), (12, 5)))) == [(0, 12)]


def test_people_are_kept_apart() -> None:
    both = pd.concat([fixes((0, 0), (6, 0), person=1), fixes((7, 0), (13, 0), person=2)], ignore_index=True)
    assert spans(DWELL.detect(both)) == []


def slow_dwell(points: pd.DataFrame, plugin: Dwell) -> list[tuple[int, int]]:
    """The definition, word by word."""
    found, anchor = [], 0
    rows = points.to_dict("records")
    while anchor < len(rows):
        last = anchor
        while last + 1 < len(rows):
            candidate, origin = rows[last + 1], rows[anchor]
            near = great_circle_m(
                *(np.array(v) for v in (origin["lat"], origin["lon"], candidate["lat"], candidate["lon"]))
            )
            if candidate["time"] - rows[last]["time"] > plugin.max_gap or near > plugin.radius_m:
                break
            last += 1
        if rows[last]["time"] - rows[anchor]["time"] >= plugin.min_stay:
            found.append((anchor, last))
            anchor = last + 1
        else:
            anchor += 1
    return found


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(-4, 4)), min_size=1, max_size=40))
def test_the_kernel_equals_the_definition(steps: list[tuple[int, int]]) -> None:
    # Metres are multiples of 60, so no distance lies within rounding of the radius.
    points = sort_points(fixes(*[(minute, 60 * place) for minute, place in steps]))
    stays = DWELL.detect(points)
    expected = slow_dwell(points, DWELL)
    assert spans(stays) == [
        ((points["time"][a] - START) / timedelta(minutes=1), (points["time"][b] - START) / timedelta(minutes=1))
        for a, b in expected
    ]
    assert stays["fixes"].tolist() == [b - a + 1 for a, b in expected]
