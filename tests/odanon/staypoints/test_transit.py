"""Stays of antenna events: each step of TRANSIT, and the kernels against a slow twin."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_traces import METRE, fixes, metres, minute, spans

from odanon.errors import OdanonError
from odanon.staypoints.frame import sort_points
from odanon.staypoints.transit import Transit
from odanon.testing import check_staypoints
from odanon.trips.build import great_circle_m

# Antennas A, B, C, ... stand 700 metres apart on a line.
SPACING = 700
STEPS_ONLY = Transit(oscillation="0s", max_speed_kmh=1e6, max_gap="2h", max_foreign=2, radius_m=1500)


def events(*steps: tuple[float, str], person: int = 1) -> pd.DataFrame:
    """Events from (minute, antenna) steps."""
    points = fixes(*[(time, SPACING * (ord(name) - ord("A"))) for time, name in steps], person=person)
    return points.assign(antenna=[name for _, name in steps])


def trace(text: str, every: float = 5) -> pd.DataFrame:
    """Events at equal intervals, a letter each; a dot is a silence."""
    return events(*[(every * i, name) for i, name in enumerate(text) if name != "."])


def test_conforms() -> None:
    check_staypoints(Transit())


def test_points_without_antennas_are_refused() -> None:
    with pytest.raises(OdanonError, match="use dwell for GPS"):
        Transit().detect(fixes((0, 0), (30, 0)))


def test_antennas_may_be_numbers_or_names() -> None:
    named = trace("AAAAAABBCDDDDDD")
    numbered = named.assign(antenna=[ord(name) for name in named["antenna"]])
    assert STEPS_ONLY.detect(named).equals(STEPS_ONLY.detect(numbered))


def test_a_phone_that_rests_on_an_antenna_stays_there() -> None:
    stays = STEPS_ONLY.detect(trace("AAAAABCDEEEEE"))
    assert spans(stays) == [(0, 22.5), (37.5, 60)]
    assert metres(stays) == [0.0, 4 * SPACING]
    assert stays["fixes"].tolist() == [5, 5]


def test_an_antenna_is_static_from_the_minimum_connection_on() -> None:
    assert spans(STEPS_ONLY.detect(events((0, "A"), (9, "A"), (11, "B"), (30, "B")))) == [(0, 30)]
    assert spans(STEPS_ONLY.detect(events((0, "A"), (9, "A"), (10.9, "B"), (29, "B")))) == []


def test_a_phone_changes_antennas_halfway_between_two_events() -> None:
    calls = events((0, "A"), (60, "H"), (80, "H"), (140, "A"), (150, "A"))
    assert spans(STEPS_ONLY.detect(calls)) == [(0, 30), (30, 110), (110, 150)]


def test_nothing_is_guessed_of_a_silence_that_is_too_long() -> None:
    calls = events((0, "A"), (30, "A"), (151, "H"), (180, "H"))
    assert spans(STEPS_ONLY.detect(calls)) == [(0, 30), (151, 180)]


def test_the_bound_on_distance_can_be_switched_off() -> None:
    far = trace("AAAAAFFFFF")
    assert spans(STEPS_ONLY.detect(far)) == [(0, 22.5), (22.5, 45)]
    assert spans(replace(STEPS_ONLY, radius_m=None).detect(far)) == [(0, 45)]


def test_static_antennas_in_a_row_are_one_session() -> None:
    stays = STEPS_ONLY.detect(trace("AAABBBBAAA"))
    assert spans(stays) == [(0, 45)]


def test_a_stay_lies_at_the_antenna_with_the_longest_connection() -> None:
    assert metres(STEPS_ONLY.detect(trace("AAABBBBAAA"))) == [0.0]
    assert metres(STEPS_ONLY.detect(trace("AAABBBBB"))) == [SPACING]


def test_static_antennas_too_far_apart_are_two_stays() -> None:
    assert spans(STEPS_ONLY.detect(trace("AAAAADDDDD"))) == [(0, 22.5), (22.5, 45)]


def test_sessions_that_share_an_antenna_are_merged_across_few_foreign_ones() -> None:
    assert spans(STEPS_ONLY.detect(trace("AAABCAAA"))) == [(0, 35)]
    assert spans(STEPS_ONLY.detect(trace("AAAAABCDAAAAA"))) == [(0, 22.5), (37.5, 60)]


def test_a_short_return_to_the_stay_s_own_antenna_is_not_foreign() -> None:
    assert spans(STEPS_ONLY.detect(trace("AAABACAAA"))) == [(0, 40)]


def test_sessions_without_a_common_antenna_are_not_merged() -> None:
    assert spans(STEPS_ONLY.detect(trace("AAAAABCCCCC"))) == [(0, 22.5), (27.5, 50)]


def test_foreign_antennas_do_not_count_as_events_of_the_stay() -> None:
    assert STEPS_ONLY.detect(trace("AAABCAAA"))["fixes"].tolist() == [6]


def test_short_stays_are_dropped() -> None:
    assert spans(STEPS_ONLY.detect(events((0, "A"), (18, "A"), (22, "F")))) == [(0, 20)]
    assert spans(STEPS_ONLY.detect(events((0, "A"), (18, "A"), (21, "F")))) == []


def test_a_long_silence_ends_a_stay_even_on_the_same_antenna() -> None:
    assert spans(STEPS_ONLY.detect(events((0, "A"), (25, "A"), (146, "A"), (170, "A")))) == [(0, 25), (146, 170)]


def test_a_gap_after_the_first_event_starts_anew() -> None:
    assert spans(STEPS_ONLY.detect(events((0, "A"), (130, "A"), (155, "A")))) == [(130, 155)]


def test_one_event_is_no_stay_and_identical_timestamps_do_no_harm() -> None:
    assert spans(STEPS_ONLY.detect(events((0, "A")))) == []
    assert spans(STEPS_ONLY.detect(events((0, "A"), (0, "A"), (20, "A"), (20, "A")))) == [(0, 20)]


def test_a_stay_across_midnight_is_one() -> None:
    assert spans(STEPS_ONLY.detect(events(*[(900 + 30 * i, "A") for i in range(6)]))) == [(900, 1050)]


def test_people_are_kept_apart() -> None:
    both = pd.concat([events((0, "A"), (15, "A")), events((16, "A"), (31, "A"), person=2)], ignore_index=True)
    assert spans(STEPS_ONLY.detect(both)) == []


PING_PONG = events((0, "A"), (8, "A"), (8.2, "B"), (8.4, "C"), (8.6, "A"), (8.8, "B"), (9, "A"), (20, "A"))


def test_an_oscillation_does_not_interrupt_a_connection() -> None:
    strict = Transit(oscillation="0s", max_speed_kmh=1e6, max_foreign=0, min_static="15min")
    assert spans(strict.detect(PING_PONG)) == []
    calm = Transit(oscillation="2min", max_speed_kmh=1e6, max_foreign=0, min_static="15min")
    assert spans(calm.detect(PING_PONG)) == [(0, 20)]


def test_a_jump_does_not_interrupt_a_connection() -> None:
    jump = events((0, "A"), (8, "A"), (8.1, "Z"), (14, "A"), (22, "A"))
    blind = Transit(oscillation="0s", max_speed_kmh=1e6, max_foreign=0, min_static="15min")
    assert spans(blind.detect(jump)) == []
    assert spans(Transit(oscillation="0s", max_foreign=0, min_static="15min").detect(jump)) == [(0, 22)]


def test_a_fast_journey_is_not_a_jump() -> None:
    # The phone never comes back: the direct way is as fast as the way over the event in question.
    away = events((0, "A"), (8, "A"), (8.1, "Z"), (8.2, "Z"), (35, "Z"))
    assert spans(Transit(min_stay="10min").detect(away)) == [(8.05, 35)]


def slow_transit(points: pd.DataFrame, plugin: Transit) -> list[tuple[float, float, int]]:
    """(first minute, last minute, events) of one person's stays by the words of `Transit`'s description."""
    time, names = points["time"].tolist(), points["antenna"].tolist()
    where = {name: SPACING * (ord(name) - ord("A")) for name in names}

    def passable(a: int, b: int) -> bool:
        seconds = (time[b] - time[a]).total_seconds()
        return abs(where[names[a]] - where[names[b]]) <= seconds * plugin.max_speed_kmh / 3.6

    kept, row = [0], 1
    while row < len(time):
        here = names[kept[-1]]
        soon = [r for r in range(row, len(time)) if time[r] - time[kept[-1]] <= plugin.oscillation and names[r] == here]
        following = row + 1
        if names[row] == here:
            kept.append(row)
        elif soon:
            kept.append(soon[0])
            following = soon[0] + 1
        elif not (
            following < len(time)
            and not (passable(kept[-1], row) and passable(row, following))
            and passable(kept[-1], following)
        ):
            kept.append(row)
        row = following

    visits = [[kept[0]]]
    for a, b in pairwise(kept):
        if names[a] == names[b] and time[b] - time[a] <= plugin.max_gap:
            visits[-1].append(b)
        else:
            visits.append([b])
    silent = [False] + [time[b[0]] - time[a[-1]] > plugin.max_gap for a, b in pairwise(visits)]
    since, until = [time[v[0]] for v in visits], [time[v[-1]] for v in visits]
    for v in range(1, len(visits)):
        if not silent[v]:
            since[v] = until[v - 1] = until[v - 1] + (since[v] - until[v - 1]) / 2
    static = [b - a >= plugin.min_static for a, b in zip(since, until, strict=True)]

    sessions: list[list[int]] = []
    for v in range(len(visits)):
        if static[v]:
            joins = v > 0 and static[v - 1] and not silent[v]
            if joins and abs(where[names[visits[v][0]]] - where[names[visits[v - 1][0]]]) <= plugin.radius_m:
                sessions[-1].append(v)
            else:
                sessions.append([v])

    stays: list[list[int]] = []
    for session in sessions:
        if stays:
            own = {names[visits[v][0]] for v in stays[-1]}
            between = range(stays[-1][-1] + 1, session[0])
            foreign = sum(names[visits[v][0]] not in own for v in between)
            silence = any(silent[v] for v in range(stays[-1][-1] + 1, session[0] + 1))
            if not silence and foreign <= plugin.max_foreign and own & {names[visits[v][0]] for v in session}:
                stays[-1] += session
                continue
        stays.append(list(session))
    return [
        (minute(since[s[0]]), minute(until[s[-1]]), sum(len(visits[v]) for v in s))
        for s in stays
        if until[s[-1]] - since[s[0]] >= plugin.min_stay
    ]


PARAMETERS = st.builds(
    Transit,
    min_static=st.sampled_from(["0s", "5min", "10min"]),
    max_foreign=st.integers(0, 3),
    min_stay=st.sampled_from(["0s", "10min", "20min"]),
    max_gap=st.sampled_from(["12min", "2h"]),
    radius_m=st.sampled_from([300.0, 1000.0, 5000.0]),
    oscillation=st.sampled_from(["0s", "2min", "10min"]),
    max_speed_kmh=st.sampled_from([10.0, 50.0, 1e6]),
)


@given(st.lists(st.tuples(st.integers(0, 120), st.sampled_from("AAABBCDH")), min_size=1, max_size=40), PARAMETERS)
def test_the_kernels_equal_the_definition(steps: list[tuple[int, str]], plugin: Transit) -> None:
    points = sort_points(events(*steps))
    stays, expected = plugin.detect(points), slow_transit(points, plugin)
    assert spans(stays) == [(start, end) for start, end, _ in expected]
    assert stays["fixes"].tolist() == [n for _, _, n in expected]


def test_distances_of_the_line_are_those_of_the_sphere() -> None:
    far = great_circle_m(*(np.array(v) for v in (45.0, 4.0, 45.0 + 25 * SPACING * METRE, 4.0)))
    assert abs(far - 25 * SPACING) < 1
