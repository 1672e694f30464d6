"""Days as people live them: stays and trips that follow one another without a hole."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.simulate.city import City, Place, draw_people
from odanon.simulate.plan import plan_day, timeline
from odanon.simulate.timeline import local_instant, true_stays, true_trips

ZONES = ["Europe/Paris", "UTC", "America/New_York", "Africa/Cairo", "Asia/Kolkata", "Australia/Lord_Howe"]
MONDAY, SATURDAY = date(2026, 3, 2), date(2026, 3, 7)


def make_city(zone="Europe/Paris", seed=3):
    return City(seed=seed, lat=45.75, lon=4.85, radius_km=12.0, zone=ZoneInfo(zone))


@pytest.fixture(scope="module")
def city():
    return make_city()


@pytest.fixture(scope="module")
def people(city):
    return draw_people(city, 0, 500)


def assert_tiles(segments, people, opens, closes):
    """Each person is somewhere at every instant, and gets nowhere without a trip."""
    same = segments.person[1:] == segments.person[:-1]
    assert np.array_equal(segments.start[1:][same], segments.end[:-1][same])
    assert np.all(segments.moving[1:][same] != segments.moving[:-1][same])
    assert np.all(segments.end > segments.start)
    for axis, step in (("x", "dx"), ("y", "dy")):
        reached = getattr(segments, axis) + getattr(segments, step)
        np.testing.assert_allclose(reached[:-1][same], getattr(segments, axis)[1:][same], atol=1e-9)
    first = np.flatnonzero(np.append(True, ~same))
    last = np.append(first[1:], len(segments)) - 1
    assert np.array_equal(segments.person[first], np.arange(len(people)))
    assert np.all(segments.start[first] == opens)
    assert np.all(segments.end[last] == closes)
    assert np.all(segments.place[np.append(first, last)] == Place.HOME)
    assert not segments.moving[np.append(first, last)].any()


@given(zone=st.sampled_from(ZONES), day=st.dates(date(2000, 1, 1), date(2060, 12, 31)), seed=st.integers(0, 2**63))
def test_stays_and_trips_alternate_and_fill_the_day_from_four_to_four(zone, day, seed):
    city = make_city(zone, seed)
    people = draw_people(city, 0, 60)
    opens, closes = (local_instant(d, city.zone, 4) for d in (day, day + timedelta(days=1)))
    assert_tiles(plan_day(city, people, day), people, opens, closes)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 28), 23), (date(2026, 10, 24), 25), (date(2026, 6, 1), 24)])
def test_the_night_of_the_clock_change_is_an_hour_shorter_or_longer(city, people, day, hours):
    plan = plan_day(city, people, day)
    lived = np.bincount(plan.person, plan.end - plan.start)
    assert np.all(lived == hours * 3600)


def test_days_join_into_one_course_and_a_night_at_home_is_one_stay(city, people):
    week = timeline(city, people, MONDAY, MONDAY + timedelta(days=6))
    opens = local_instant(MONDAY - timedelta(days=1), city.zone, 4)
    closes = local_instant(MONDAY + timedelta(days=7), city.zone, 4)
    assert_tiles(week, people, opens, closes)


def test_a_day_is_the_same_alone_and_within_a_week(city, people):
    alone = timeline(city, people, MONDAY, MONDAY)
    week = timeline(city, people, MONDAY, MONDAY + timedelta(days=6))
    noon, evening = local_instant(MONDAY, city.zone, 12), local_instant(MONDAY, city.zone, 20)
    assert true_stays(alone, city, people, noon, evening).equals(true_stays(week, city, people, noon, evening))
    assert true_trips(alone, city, people, noon, evening).equals(true_trips(week, city, people, noon, evening))


def trips_per_person(city, day):
    drawn = [draw_people(city, chunk, 3000) for chunk in range(6)]
    return np.mean([plan_day(city, people, day).moving.sum() / len(people) for people in drawn])


def test_people_make_about_three_and_a_half_trips_on_a_weekday_and_fewer_at_the_weekend(city):
    weekday = trips_per_person(city, MONDAY)
    assert 3.2 < weekday < 3.9
    assert trips_per_person(city, SATURDAY) < weekday - 0.2


def test_weekdays_have_a_morning_peak(city, people):
    plan = plan_day(city, people, MONDAY)
    hour = (plan.start[plan.moving] - local_instant(MONDAY, city.zone)) / 3600
    leaving = np.histogram(hour, bins=np.arange(4, 29))[0]
    assert leaving[3] > 2 * leaving[2]  # seven against six o'clock
    assert leaving[3] > leaving[5]  # and against nine


def test_some_stay_in_all_day_some_are_out_at_midnight_some_stop_briefly(city, people):
    plan = plan_day(city, people, MONDAY)
    trips = np.bincount(plan.person, plan.moving)
    assert 0.01 < (trips == 0).mean() < 0.2
    midnight = local_instant(MONDAY + timedelta(days=1), city.zone)
    out = (plan.start <= midnight) & (plan.end > midnight) & ((plan.place != Place.HOME) | plan.moving)
    assert 0.005 < out.sum() / len(people) < 0.2
    minutes = (plan.end - plan.start) / 60
    stops = ~plan.moving & (plan.place == Place.STOP)
    assert stops.sum() > 0
    assert minutes[stops].max() < 10
    assert minutes[~plan.moving & ~stops].min() >= 19.9


def test_speeds_are_those_of_feet_wheels_and_rails(city, people):
    plan = plan_day(city, people, MONDAY)
    km = np.hypot(plan.dx, plan.dy)[plan.moving]
    speed = km / (plan.end - plan.start)[plan.moving] * 3600
    assert speed.min() > 1.5
    assert speed.max() < 100


def test_truth_is_cut_to_its_window_and_names_places_and_purposes(city, people):
    segments = timeline(city, people, MONDAY, MONDAY)
    opens, closes = local_instant(MONDAY, city.zone), local_instant(MONDAY + timedelta(days=1), city.zone)
    stays = true_stays(segments, city, people, opens, closes)
    trips = true_trips(segments, city, people, opens, closes)
    assert stays["start"].min().timestamp() == opens
    assert stays["end"].max().timestamp() == closes
    assert trips["start"].min().timestamp() >= opens
    assert trips["end"].max().timestamp() <= closes
    assert set(stays["place"]) == {"home", "work", "school", "shop", "leisure", "friends", "meal", "stop"}
    assert set(trips["purpose"]) == set(stays["place"])
    students = set(np.array(people.ids)[people.occupation == 0])
    assert set(trips.loc[trips["purpose"] == "school", "person"]) <= students
    assert not set(trips.loc[trips["purpose"] == "work", "person"]) & students
