"""Stays of devices that record on the way only, and the kernel against a slow twin."""

from itertools import pairwise

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from short_traces import fixes, metres, minute, spans

from odanon.staypoints.frame import sort_points
from odanon.staypoints.gap import Gap
from odanon.testing import check_staypoints
from odanon.trips.build import great_circle_m

GAP = Gap(silence="3min", radius_m=250)


def test_conforms() -> None:
    check_staypoints(GAP)


def test_a_silence_between_trips_is_a_stay_and_the_ends_of_the_trace_are_stays_without_length() -> None:
    stays = GAP.detect(fixes((0, 0), (1, 800), (2, 1600), (40, 1620), (41, 900)))
    assert spans(stays) == [(0, 0), (2, 40), (41, 41)]
    assert metres(stays) == [0.0, 1610.0, 900.0]
    assert stays["fixes"].tolist() == [1, 2, 1]


def test_a_silence_of_exactly_the_limit_ends_a_trip_and_a_shorter_one_does_not() -> None:
    assert spans(GAP.detect(fixes((0, 0), (1, 800), (4, 800), (5, 1600)))) == [(0, 0), (1, 4), (5, 5)]
    assert spans(GAP.detect(fixes((0, 0), (1, 800), (3.9, 800), (5, 1600)))) == [(0, 0), (5, 5)]


def test_a_device_that_moved_in_silence_arrived_and_departed_at_two_places() -> None:
    stays = GAP.detect(fixes((0, 0), (1, 800), (30, 4000), (31, 4800)))
    assert spans(stays) == [(0, 0), (1, 1), (30, 30), (31, 31)]


def test_a_gap_after_the_first_fix_makes_the_first_stay_long() -> None:
    assert spans(GAP.detect(fixes((0, 0), (30, 10), (31, 900)))) == [(0, 30), (31, 31)]


def test_a_lone_fix_within_a_silence_does_not_split_the_stay() -> None:
    assert spans(GAP.detect(fixes((0, 0), (1, 900), (20, 900), (60, 910), (61, 0)))) == [(0, 0), (1, 60), (61, 61)]


def test_one_fix_is_no_stay() -> None:
    assert spans(GAP.detect(fixes((0, 0)))) == []


def test_identical_timestamps_do_no_harm() -> None:
    assert spans(GAP.detect(fixes((0, 0), (0, 0), (5, 0), (5, 900)))) == [(0, 0), (0, 5), (5, 5)]


def test_a_stay_across_midnight_is_one() -> None:
    assert spans(GAP.detect(fixes((0, 0), (1, 900), (1440, 900), (1441, 0)))) == [(0, 0), (1, 1440), (1441, 1441)]


def slow_gap(points: pd.DataFrame, gap: Gap) -> list[tuple[int, int]]:
    """Rows of stays of one person: cut the trace into trips, then look at what lies between them."""
    time = points["time"].tolist()
    if len(time) < 2:
        return []
    cuts = [row for row in range(1, len(time)) if time[row] - time[row - 1] >= gap.silence]
    trips = list(pairwise([0, *cuts, len(time)]))
    stays = [[0]]
    for (_, arrival), (departure, _) in pairwise(trips):
        ends = points.iloc[[arrival - 1, departure]]
        apart = great_circle_m(*(ends[name].to_numpy()[[side]] for side in (0, 1) for name in ("lat", "lon")))
        stays += [[arrival - 1, departure]] if apart <= gap.radius_m else [[arrival - 1], [departure]]
    stays.append([len(time) - 1])
    joined = stays[:1]
    for stay in stays[1:]:
        if stay[0] == joined[-1][-1]:
            joined[-1] = joined[-1] + stay[1:]
        else:
            joined.append(stay)
    return [(stay[0], stay[-1]) for stay in joined]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 3)), min_size=1, max_size=30))
def test_the_kernel_equals_the_definition(steps: list[tuple[int, int]]) -> None:
    points = sort_points(fixes(*[(time, 180 * place) for time, place in steps]))
    stays, expected = GAP.detect(points), slow_gap(points, GAP)
    assert spans(stays) == [(minute(points["time"][a]), minute(points["time"][b])) for a, b in expected]
    assert stays["fixes"].tolist() == [b - a + 1 for a, b in expected]
    np.testing.assert_allclose(stays["lat"], [points["lat"][a : b + 1].mean() for a, b in expected], rtol=0, atol=1e-9)
