"""Swapped coordinates and teleports, told from a person's other points (PRIVACY rule 11)."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.reading.plausible import implausible, region_of
from odanon.reading.validate import Tally, validate
from odanon.simulate.city import Stream, draw_people
from odanon.simulate.dirt import soil_points
from odanon.simulate.gps import day_points
from odanon.simulate.source import Simulated
from odanon.staypoints.frame import person_starts, sort_points

START, END = datetime(2026, 3, 1, 23, tzinfo=UTC), datetime(2026, 3, 2, 23, tzinfo=UTC)  # a day in Paris
LYON = (45.75, 4.85)


def verdict(track: list[tuple[float, float, float]]) -> str:
    """One letter per fix of one person: kept, swapped, teleport. A fix is (minutes, lat, lon)."""
    minutes, lat, lon = np.array(track, np.float64).T
    starts = np.array([0, len(track)])
    swapped, teleports = implausible(starts, (minutes * 60e6).astype(np.int64), lat, lon)
    assert not (swapped & teleports).any()
    return "".join(np.select([swapped, teleports], ["s", "t"], "k"))


def walk(*minutes: float) -> list[tuple[float, float, float]]:
    return [(m, LYON[0] + m / 1e4, LYON[1]) for m in minutes]


FAR = (38.0, 6.0)


@pytest.mark.parametrize(
    ("track", "expected"),
    [
        (walk(0, 5, 10), "kkk"),
        ([*walk(0, 5), (5.02, *FAR), *walk(10, 15)], "kktkk"),  # away and back
        ([*walk(0, 5), (5.02, *FAR), *walk(300, 305)], "kktkk"),  # back only hours later, at a possible speed
        ([*walk(0, 5), (5.02, *FAR)], "kkt"),  # the last fix
        ([(0, *FAR), *walk(1, 5, 10)], "tkkk"),  # the first fix
        ([*walk(0), (1, *FAR)], "kt"),
        ([*walk(0, 5), (5.02, *FAR), (5.03, 36.0, 3.0), *walk(10, 15)], "kkttkk"),  # two different ones
        ([*walk(0, 5), (245, *FAR), (250, *FAR)], "kkkk"),  # a flight of four hours
        ([*walk(0, 5), (6, *FAR), (10, *FAR), (15, *FAR)], "kkkkk"),  # they agree: nobody knows which are right
        ([*walk(0, 5), (5, LYON[0] + 0.2, LYON[1]), *walk(10)], "kkkk"),  # 22 km off: a stray fix, not a teleport
        ([(0, 52.0, 179.9), (1, 52.0, -179.9), (2, 52.0, 179.9)], "kkk"),  # across the date line
        ([*walk(0, 5), (7, LYON[1], LYON[0]), *walk(10, 15, 20)], "kkskkk"),
        ([(0, 8.0, 8.5), (1, 8.5, 8.0), (2, 8.0, 8.5)], "ktk"),  # on the diagonal a swap is told by its speed
    ],
)  # fmt: skip
def test_each_case(track: list[tuple[float, float, float]], expected: str) -> None:
    assert verdict(track) == expected


def test_people_do_not_disturb_each_other() -> None:
    time = np.array([0, 60e6, 0, 60e6], np.int64)
    lat, lon = np.array([45.0, 45.0, 41.0, 41.0]), np.array([4.0, 4.0, 2.0, 2.0])
    swapped, teleports = implausible(np.array([0, 2, 4]), time, lat, lon)
    assert not swapped.any()
    assert not teleports.any()


def test_someone_all_of_whose_points_are_swapped_is_noticed() -> None:
    lat, lon = np.full(100, 45.0), np.full(100, 4.0)
    lat[:10], lon[:10] = 4.0, 45.0
    swapped, teleports = implausible(np.arange(0, 101, 10), np.arange(100) * 1_000_000, lat, lon)
    assert list(np.flatnonzero(swapped)) == list(range(10))
    assert not teleports.any()


def test_nobody_at_all() -> None:
    nothing = np.zeros(0)
    swapped, teleports = implausible(np.zeros(1, np.int64), nothing.astype(np.int64), nothing, nothing)
    assert len(swapped) == len(teleports) == 0


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_the_region_of_a_place_holds_the_place(lat: float, lon: float) -> None:
    here = np.array([lat]), np.array([lon])
    assert region_of(*here).holds(*here).all()


def cleaned(source: Simulated) -> tuple[pd.DataFrame, Tally]:
    """What is left of a day of a simulated city after the whole door."""
    tally = Tally()
    parts = [validate(batch, START, END, tally) for batch in source.batches(START, END)]
    rows = sort_points(pd.concat([part for part in parts if len(part)]))
    distinct = rows.drop_duplicates(ignore_index=True)
    tally.duplicates += len(rows) - len(distinct)
    columns = distinct["time"].astype("int64").to_numpy(), distinct["lat"].to_numpy(), distinct["lon"].to_numpy()
    swapped, teleports = implausible(person_starts(distinct["person"].to_numpy()), *columns)
    tally.reasons["swapped"] += int(swapped.sum())
    tally.reasons["teleport"] += int(teleports.sum())
    return distinct[~swapped & ~teleports].reset_index(drop=True), tally


def planted(source: Simulated) -> Counter[str]:
    """How many bad rows of each kind the simulator added to the day."""
    people = draw_people(source.city, 0, source.people)
    points = day_points(source.city, people, date(2026, 3, 2), source.device)
    rng = source.city.rng(Stream.DIRT, 0, date(2026, 3, 2).toordinal())
    return Counter(soil_points(rng, points, source.dirt, source.city.zone).kind.tolist())


@pytest.mark.parametrize("place", [{}, {"lat": -33.45, "lon": -70.66}])
def test_cleaning_gives_back_the_city_without_dirt_and_counts_each_kind(place: dict[str, float]) -> None:
    soiled = Simulated(people=300, seed=5, dirt=0.1, **place)
    pristine, _ = cleaned(Simulated(people=300, seed=5, **place))
    clean, tally = cleaned(soiled)
    pd.testing.assert_frame_equal(clean, pristine)
    kinds = planted(soiled)
    assert min(kinds.values()) > 100
    assert tally.kept == len(clean)
    sent_twice = tally.reasons["swapped"] + tally.reasons["teleport"] + tally.reasons["in_the_future"]
    assert sent_twice > 0
    assert tally.reasons["no_time_zone"] == kinds["naive"]
    assert tally.reasons["not_finite"] == kinds["nan"] + kinds["infinite"]
    for reason, kind in (
        ("out_of_range", "out_of_range"),
        ("null_island", "null_island"),
        ("before_2000", "epoch_1970"),
        ("in_the_future", "future"),
    ):
        assert tally.reasons[reason] == kinds[kind], reason
    # Spoiled copies of one row that are spoiled alike repeat each other, and count as duplicates.
    alike = kinds["swapped"] - tally.reasons["swapped"] + kinds["teleport"] - tally.reasons["teleport"]
    assert 0 <= alike < 0.02 * (kinds["swapped"] + kinds["teleport"])


def test_a_day_lies_within_its_window() -> None:
    clean, _ = cleaned(Simulated(people=20, seed=5, dirt=0.1))
    assert clean["time"].between(START, END - timedelta(microseconds=1)).all()
