"""The filter of agendas, case by case."""

import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.demand.agendas import PRIMARY, PURPOSES, Activity, filter_agendas, filtered


def day(*activities: tuple[str, float, float], leave: float = 480) -> list[Activity]:
    """Activities by purpose, length of the trip in metres and how long they last in minutes; trips of ten minutes."""
    made, at = [], leave
    for number, (purpose, metres, lasts) in enumerate(activities):
        made.append(Activity(purpose, at, f"mode {number}", metres, lasts))
        at += 10 + lasts
    return made


def told(activities: list[Activity]) -> list[tuple[str, float, str]]:
    return [(each.purpose, each.leave_min, each.mode) for each in filtered(activities, 20, 100)]


LAST = float("inf")


@pytest.mark.parametrize(
    ("activities", "kept"),
    [
        (day(("work", 5000, 480), ("home", 5000, LAST)), [("work", 480, "mode 0"), ("home", 970, "mode 1")]),
        # A short stop on the way: its trip belongs to the way to work, which has the mode of the longer one.
        (day(("personal", 900, 5), ("work", 5000, LAST)), [("work", 480, "mode 1")]),
        (day(("personal", 9000, 5), ("work", 500, LAST)), [("work", 480, "mode 0")]),
        # Two short stops.
        (
            day(("personal", 900, 5), ("shopping", 9000, 20), ("work", 500, LAST)),
            [("work", 480, "mode 1")],
        ),
        # Next door to the activity before: one activity with the purpose that matters more.
        (
            day(("work", 5000, 480), ("shopping", 80, 30), ("home", 5000, LAST)),
            [("work", 480, "mode 0"), ("home", 1010, "mode 2")],
        ),
        (
            day(("shopping", 5000, 30), ("work", 80, 30), ("home", 5000, LAST)),
            [("work", 480, "mode 0"), ("home", 560, "mode 2")],
        ),
        (
            day(("shopping", 5000, 30), ("personal", 80, 60), ("home", 5000, LAST)),
            [("personal", 480, "mode 0"), ("home", 590, "mode 2")],
        ),
        # Next door to a short stop.
        (
            day(("shopping", 5000, 10), ("work", 80, 200), ("home", 5000, LAST)),
            [("work", 480, "mode 0"), ("home", 710, "mode 2")],
        ),
        # Next door to home, where the day begins; and a candidate that nothing follows.
        (day(("shopping", 80, 60)), []),
        (day(("work", 5000, 480), ("home", 5000, 5)), [("work", 480, "mode 0")]),
        # From home to home.
        (day(("home", 5000, LAST)), []),
        (
            day(("work", 5000, 100), ("work", 3000, 100), ("home", 5000, LAST)),
            [("work", 480, "mode 0"), ("home", 700, "mode 2")],
        ),
        (
            day(("shopping", 5000, 100), ("shopping", 3000, LAST)),
            [("shopping", 480, "mode 0"), ("shopping", 590, "mode 1")],
        ),
    ],
)
def test_what_is_kept_of_a_day(activities: list[Activity], kept: list[tuple[str, float, str]]) -> None:
    assert told(activities) == kept


@given(
    st.lists(
        st.tuples(st.sampled_from(PURPOSES), st.sampled_from([50.0, 150.0, 9e3]), st.sampled_from([5.0, 60.0])),
        max_size=8,
    )
)
def test_no_day_has_repeats_of_a_primary_purpose_or_more_than_it_had(
    activities: list[tuple[str, float, float]],
) -> None:
    before = day(*activities)
    kept = filtered(before, 20, 100)
    places = ["home", *(each.purpose for each in kept)]
    assert not [a for a, b in itertools.pairwise(places) if a == b and a in PRIMARY]
    assert len(kept) <= len(before)
    starts = [each.leave_min for each in kept]
    assert starts == sorted(starts)
    assert {each.purpose for each in kept} <= {each.purpose for each in before}


def test_a_table_of_trips_becomes_a_table_of_activities() -> None:
    trips = pd.DataFrame(
        {
            "person": ["b", "a", "a", "a"],
            "seq": [0, 1, 0, 2],
            "leave_min": [600, 505, 480, 1000],
            "arrive_min": [610, 520, 490, 1020],
            "purpose": ["shopping", "work", "personal", "home"],
            "mode": ["foot", "car", "foot", "car"],
            "distance_m": [60.0, 9000.0, 500.0, 9500.0],
        }
    )
    found = filter_agendas(trips)
    assert found[["person", "seq", "purpose", "leave_min", "mode"]].to_numpy().tolist() == [
        ["a", 0, "work", 480.0, "car"],
        ["a", 1, "home", 1000.0, "car"],
    ]
