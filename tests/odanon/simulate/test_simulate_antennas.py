"""Antenna events: sparse calls or dense signalling, with the oscillations that real networks show."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from odanon.simulate.antennas import Network, cdr_events, nsd_events
from odanon.simulate.city import City, Place, draw_people
from odanon.simulate.timeline import local_instant

CITY = City(seed=5, lat=45.75, lon=4.85, radius_km=12.0, zone=ZoneInfo("Europe/Paris"))
NETWORK = Network(CITY)
PEOPLE = draw_people(CITY, 0, 500)
DAY = date(2026, 3, 2)


@pytest.fixture(scope="module", params=[cdr_events, nsd_events], ids=["cdr", "nsd"])
def events(request):
    return request.param(NETWORK, PEOPLE, DAY, 0.05)


@pytest.fixture(scope="module")
def signalling():
    return nsd_events(NETWORK, PEOPLE, DAY, 0.0)


def test_antennas_are_denser_where_people_live():
    def within(radius):
        return (np.hypot(*NETWORK.towers.T) < radius).sum() / radius**2

    assert within(3.0) > 1.5 * within(12.0)


def test_the_antenna_table_names_each_antenna_once_at_its_place():
    table = NETWORK.frame()
    assert list(table.columns) == ["antenna", "lat", "lon"]
    assert table["antenna"].is_unique
    lat, _ = CITY.to_degrees(*NETWORK.towers.T)
    np.testing.assert_allclose(table["lat"], lat, atol=1e-6)


def test_events_stay_within_their_day_and_are_sorted(events):
    opens, closes = local_instant(DAY, CITY.zone), local_instant(DAY + timedelta(days=1), CITY.zone)
    assert events.time.min() >= opens * 1_000_000
    assert events.time.max() < closes * 1_000_000
    assert np.all(np.diff(events.person) >= 0)
    assert np.all(np.diff(events.time)[np.diff(events.person) == 0] >= 0)
    assert events.values["antenna"].min() >= 0
    assert events.values["antenna"].max() < len(NETWORK)


def test_calls_are_sparse_and_uneven_and_signalling_is_dense():
    calls = np.bincount(cdr_events(NETWORK, PEOPLE, DAY, 0.05).person, minlength=len(PEOPLE))
    signals = np.bincount(nsd_events(NETWORK, PEOPLE, DAY, 0.05).person, minlength=len(PEOPLE))
    assert 8 < calls.mean() < 25
    assert np.quantile(calls, 0.95) > 5 * max(np.quantile(calls, 0.1), 1)
    assert 200 < signals.mean() < 450


def test_the_talkative_are_the_same_people_every_day():
    monday = np.bincount(cdr_events(NETWORK, PEOPLE, DAY, 0.0).person, minlength=len(PEOPLE))
    tuesday = np.bincount(cdr_events(NETWORK, PEOPLE, DAY + timedelta(days=1), 0.0).person, minlength=len(PEOPLE))
    assert np.corrcoef(monday, tuesday)[0, 1] > 0.6


def test_at_night_phones_are_mostly_on_the_antenna_nearest_to_home(signalling):
    opens = local_instant(DAY, CITY.zone)
    night = (signalling.time / 1e6 >= opens + 4 * 3600) & (signalling.time / 1e6 < opens + 4.3 * 3600)
    person = signalling.person[night]
    near = NETWORK.nearest(PEOPLE.x[person, Place.HOME], PEOPLE.y[person, Place.HOME])
    on = signalling.values["antenna"][night]
    assert (on == near[:, 0]).mean() > 0.8
    assert (on[:, None] == near).any(axis=1).mean() > 0.98


def test_there_are_ping_pongs_and_one_off_jumps(signalling):
    antenna, person, time = signalling.values["antenna"], signalling.person, signalling.time / 1e6
    back = (antenna[2:] == antenna[:-2]) & (antenna[1:-1] != antenna[:-2]) & (person[2:] == person[:-2])
    quick = time[2:] - time[:-2] < 60
    assert (back & quick).mean() > 0.01
    away = np.hypot(*(NETWORK.towers[antenna[1:-1]] - NETWORK.towers[antenna[:-2]]).T) > 4
    assert 0.0003 < (back & away).mean() < 0.01


@pytest.mark.parametrize("record", [cdr_events, nsd_events])
def test_events_repeat_exactly(record):
    first, second = (record(Network(CITY), PEOPLE, DAY, 0.05) for _ in range(2))
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first.values["antenna"], second.values["antenna"])
