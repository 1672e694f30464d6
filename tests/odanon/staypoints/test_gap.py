"""Stays of devices that record on the way only, the trips between them, and the kernel against a slow twin."""

from datetime import timedelta

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from short_traces import METRE, START, fixes, metres, minute, spans

from odanon.staypoints.frame import sort_points
from odanon.staypoints.gap import Gap
from odanon.testing import check_staypoints
from odanon.trips.build import build_trips

GAP = Gap(silence="3min")


def trips(points: pd.DataFrame) -> list[tuple[float, float, float, float]]:
    """(minute and metres north of the start, of the end) of every trip."""
    day = START, START + timedelta(days=1)
    made = build_trips(GAP.detect(points), *day, min_distance_m=100, max_duration=timedelta(hours=12))
    north = [((made[name] - 45.0) / METRE).round(3).tolist() for name in ("o_lat", "d_lat")]
    minutes = [[minute(time) for time in made[name]] for name in ("start", "end")]
    return list(zip(minutes[0], north[0], minutes[1], north[1], strict=True))


def test_conforms() -> None:
    check_staypoints(GAP)


def test_a_trip_has_the_first_and_the_last_fix_of_its_own_recording_as_ends() -> None:
    recorded = fixes((0, 0), (1, 800), (2, 1600), (40, 1620), (41, 900))
    assert trips(recorded) == [(0, 0, 2, 1600), (40, 1620, 41, 900)]


def test_nothing_is_invented_between_two_recordings_however_far_apart() -> None:
    assert trips(fixes((0, 0), (1, 800), (30, 4000), (31, 4800))) == [(0, 0, 1, 800), (30, 4000, 31, 4800)]


def test_a_stay_lasts_from_recording_to_recording_and_lies_where_the_first_one_ended() -> None:
    stays = GAP.detect(fixes((0, 0), (1, 800), (2, 1600), (40, 1620), (41, 900)))
    assert spans(stays) == [(0, 0), (2, 40), (41, 41)]
    assert metres(stays) == [0.0, 1600.0, 900.0]
    assert stays["fixes"].tolist() == [1, 2, 1]


def test_a_silence_of_exactly_the_limit_does_not_end_a_trip_and_a_longer_one_does() -> None:
    assert spans(GAP.detect(fixes((0, 0), (1, 800), (4, 800), (5, 1600)))) == [(0, 0), (5, 5)]
    assert spans(GAP.detect(fixes((0, 0), (1, 800), (4.1, 800), (5, 1600)))) == [(0, 0), (1, 4.1), (5, 5)]


def test_a_lone_fix_is_no_recording() -> None:
    assert spans(GAP.detect(fixes((0, 0), (30, 10), (31, 900)))) == [(30, 30), (31, 31)]
    assert spans(GAP.detect(fixes((0, 0), (1, 900), (20, 900), (60, 910), (61, 0)))) == [(0, 0), (1, 60), (61, 61)]
    assert spans(GAP.detect(fixes((0, 0)))) == spans(GAP.detect(fixes((0, 0), (60, 900)))) == []


def test_identical_timestamps_do_no_harm() -> None:
    assert spans(GAP.detect(fixes((0, 0), (0, 0), (5, 0), (5, 900)))) == [(0, 0), (0, 5), (5, 5)]


def test_a_stay_across_midnight_is_one() -> None:
    assert spans(GAP.detect(fixes((0, 0), (1, 900), (1440, 900), (1441, 0)))) == [(0, 0), (1, 1440), (1441, 1441)]


def slow_gap(points: pd.DataFrame) -> list[list[int]]:
    """Rows of the recordings of one person."""
    recordings: list[list[int]] = []
    for row, time in enumerate(points["time"]):
        if recordings and time - points["time"][recordings[-1][-1]] <= GAP.silence:
            recordings[-1].append(row)
        else:
            recordings.append([row])
    return [rows for rows in recordings if len(rows) > 1]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 3)), min_size=1, max_size=30))
def test_the_kernel_equals_the_definition(steps: list[tuple[int, int]]) -> None:
    points = sort_points(fixes(*[(time, 180 * place) for time, place in steps]))
    stays, recordings = GAP.detect(points), slow_gap(points)
    ends = [(rows[0], rows[-1]) for rows in recordings]
    left = stays[:-1][["end", "left_lat"]].itertuples(index=False, name=None)
    reached = stays[1:][["start", "lat"]].itertuples(index=False, name=None)
    assert list(left) == [(points["time"][a], points["lat"][a]) for a, _ in ends]
    assert list(reached) == [(points["time"][b], points["lat"][b]) for _, b in ends]
