"""A city: who lives in it and where, drawn chunk by chunk from one seed."""

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from odanon.simulate.city import CHUNK, City, Place, chunks, draw_people

CITY = City(seed=3, lat=45.75, lon=4.85, radius_km=12.0, zone=ZoneInfo("Europe/Paris"))


@pytest.fixture(scope="module")
def people():
    return draw_people(CITY, 0, 10_000)


def test_the_same_seed_gives_the_same_people_and_another_seed_others(people):
    again = draw_people(City(3, 45.75, 4.85, 12.0, ZoneInfo("Europe/Paris")), 0, 10_000)
    other = draw_people(City(4, 45.75, 4.85, 12.0, ZoneInfo("Europe/Paris")), 0, 10_000)
    assert np.array_equal(people.x, again.x)
    assert people.frame().equals(again.frame())
    assert not np.array_equal(people.x, other.x)


@pytest.mark.parametrize(("population", "sizes"), [(1, [1]), (CHUNK, [CHUNK]), (CHUNK + 3, [CHUNK, 3])])
def test_chunks_hold_every_person_once(population, sizes):
    drawn = [draw_people(CITY, chunk, population) for chunk in chunks(population)]
    assert [len(part) for part in drawn] == sizes
    assert [name for part in drawn for name in part.ids] == [f"p{i:07d}" for i in range(population)]


def test_a_chunk_does_not_depend_on_the_size_of_the_city(people):
    assert np.array_equal(draw_people(CITY, 0, 700).y, people.y)


def test_attributes_are_plausible():
    frames = [draw_people(CITY, chunk, 10_000).frame() for chunk in range(8)]
    weight = np.concatenate([frame["weight"] for frame in frames])
    assert 17 < weight.mean() < 23
    assert weight.max() > 5 * weight.mean()
    assert weight.min() > 0
    for frame in frames:
        assert "retired" not in set(frame.loc[frame["age_band"] == "15-24", "occupation"])
        assert (frame.loc[frame["age_band"] == "65+", "occupation"] == "retired").mean() > 0.7
        assert abs((frame["sex"] == "female").mean() - 0.5) < 0.1


def test_homes_lie_in_the_disc_and_thicken_towards_the_middle(people):
    distance = np.hypot(people.x[:, Place.HOME], people.y[:, Place.HOME])
    assert distance.max() <= CITY.radius_km
    assert (distance < CITY.radius_km / 2).mean() > 2 * 0.25


def test_people_work_nearer_to_home_than_chance_would_have_it(people):
    to_work = people.x[:, Place.MAIN] - people.x[:, Place.HOME], people.y[:, Place.MAIN] - people.y[:, Place.HOME]
    shuffled = (
        (np.roll(people.x[:, Place.MAIN], 1) - people.x[:, Place.HOME]),
        (np.roll(people.y[:, Place.MAIN], 1) - people.y[:, Place.HOME]),
    )
    assert np.hypot(*to_work).mean() < 0.8 * np.hypot(*shuffled).mean()


def test_going_from_home_to_a_known_place_is_always_a_trip(people):
    for place in (Place.MAIN, Place.SHOP, Place.MARKET, Place.LEISURE, Place.FRIENDS):
        distance = np.hypot(people.x[:, place] - people.x[:, Place.HOME], people.y[:, place] - people.y[:, Place.HOME])
        assert np.quantile(distance, 0.01) >= 0.25


def test_kilometres_become_degrees_of_the_right_length():
    lat, lon = CITY.to_degrees(np.array([0.0, 3.0]), np.array([0.0, 4.0]))
    north = np.radians(lat[1] - lat[0]) * 6371.0
    east = np.radians(lon[1] - lon[0]) * 6371.0 * np.cos(np.radians(45.75))
    assert np.hypot(north, east) == pytest.approx(5.0, rel=1e-3)
