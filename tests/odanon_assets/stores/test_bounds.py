"""Bounds of estimates: what was published lies between them, whatever areas and times are asked; both stores and Python agree."""

import math
import os
from datetime import UTC, date, datetime, timedelta

import geopandas
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely.geometry import box
from store_databases import emptied
from told_town import HALVES, Town, drawn

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.database import execute, transaction
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import PROFILE_COLUMNS, Act, Estimate, Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 30) + timedelta(days=n) for n in range(3)]
EXAMPLES = 100 if os.environ.get("ODANON_STRESS") else 5  # a profile is a question for each of its steps
TOWNS = [Town.of(seed, day) for seed, day in zip((2, 3, 6), DAYS, strict=True)]
SOME = st.lists(st.integers(0, 15), min_size=1, max_size=16, unique=True)
TIME = st.tuples(st.integers(0, HALVES), st.integers(0, HALVES)).filter(lambda t: t[0] < t[1])


@pytest.fixture(scope="module")
def stores(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    found = EmbeddedStore(tmp_path_factory.mktemp("store")), PostgisStore(emptied(shared_database))
    for store in found:
        for town in TOWNS:
            store.publish(town.bundle, accept)
    return found


def moments(town: Town, halves: tuple[int, int]) -> tuple[datetime, datetime]:
    start = datetime(town.day.year, town.day.month, town.day.day, tzinfo=UTC)
    return start + timedelta(minutes=30 * halves[0]), start + timedelta(minutes=30 * halves[1])


def test_the_towns_have_rests_inside_rests_and_rows_of_several_lengths() -> None:
    for town in TOWNS:
        rests = [row for row in town.rows if row[3] == "rest"]
        assert len(rests) > 2
        assert len({row[2][1] - row[2][0] for row in town.rows}) > 1
    left = [town.trips.sum() - town.truth(town.asked([*range(16)], [*range(16)], (0, HALVES))) for town in TOWNS]
    assert [bool(some) for some in left] == [True, True, False]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(town=st.sampled_from(TOWNS), origins=SOME, destinations=SOME, halves=TIME)
def test_what_was_published_lies_within_bounds_that_both_stores_and_python_agree_on(
    stores: tuple[Store, Store], town: Town, origins: list[int], destinations: list[int], halves: tuple[int, int]
) -> None:
    asked = town.asked(origins, destinations, halves)
    low, estimate, high = town.expected(asked)
    assert low <= town.truth(asked) <= high
    assert low - 1e-6 <= estimate <= high + 1e-6
    exact = min(low / estimate, 1.0) if estimate else math.nan
    for store in stores:
        found = store.flow("told", drawn(origins), drawn(destinations), When(*moments(town, halves)))
        told = [math.nan if value is None else value for value in found]
        assert told == pytest.approx([low, estimate, high, exact], rel=1e-7, abs=1e-6, nan_ok=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(town=st.sampled_from(TOWNS), west=st.integers(1, 15), halves=TIME)
def test_a_matrix_tells_the_same_of_all_pairs(
    stores: tuple[Store, Store], town: Town, west: int, halves: tuple[int, int]
) -> None:
    parts = {"first": [*range(west)], "last": [*range(west, 16)]}
    areas = geopandas.GeoDataFrame(geometry=[drawn(tiles) for tiles in parts.values()], index=[*parts], crs="EPSG:4326")
    for store in stores:
        table = store.matrix("told", areas, When(*moments(town, halves))).set_index(["origin", "destination"])
        for a, origins in parts.items():
            for b, destinations in parts.items():
                expected = town.expected(town.asked(origins, destinations, halves))
                found = table.loc[(a, b), ["low", "estimate", "high"]].tolist() if (a, b) in table.index else [0, 0, 0]
                assert found == pytest.approx(expected, rel=1e-7, abs=1e-6)


def evenly(
    town: Town, asked: list[tuple[int, int]], origins: list[int], destinations: list[int]
) -> list[tuple[float, ...]]:
    return [town.expected(town.asked(origins, destinations, halves)) for halves in asked]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES)
@given(town=st.sampled_from(TOWNS), origins=SOME, destinations=SOME, step=st.sampled_from([2, 3]))
def test_a_profile_tells_the_same_step_by_step_and_says_how_long_its_rows_are(
    stores: tuple[Store, Store], town: Town, origins: list[int], destinations: list[int], step: int
) -> None:
    steps = [(at, min(at + step, HALVES)) for at in range(0, HALVES, step)]
    expected = evenly(town, steps, origins, destinations)
    since, until = moments(town, (0, HALVES))
    for store in stores:
        ends = drawn(origins), drawn(destinations)
        found = store.profile("told", *ends, When(since, until), timedelta(minutes=30 * step))
        assert tuple(found.columns) == PROFILE_COLUMNS
        assert found["time_start"].tolist() == [moments(town, each)[0] for each in steps]
        assert found["time_end"].tolist() == [moments(town, each)[1] for each in steps]
        assert found[["low", "estimate", "high"]].to_numpy() == pytest.approx(np.array(expected), rel=1e-7, abs=1e-6)
        for each, told in zip(steps, found["spread_over_hours"], strict=True):
            assert told == pytest.approx(town.hours(town.asked(origins, destinations, each)), nan_ok=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES)
@given(town=st.sampled_from(TOWNS), origins=SOME, destinations=SOME)
def test_flows_that_follow_their_surroundings_keep_their_trips_and_bounds(
    stores: tuple[Store, Store], town: Town, origins: list[int], destinations: list[int]
) -> None:
    steps = [(0, 3), (3, 6), (6, HALVES)]
    span, ends = moments(town, (0, HALVES)), (drawn(origins), drawn(destinations))
    expected = [town.followed(town.asked(origins, destinations, each)) for each in steps]
    for store in stores:
        even, along = (
            store.profile("told", *ends, When(*span), timedelta(minutes=90), along=how)
            for how in ("even", "surroundings")
        )
        assert along["estimate"].tolist() == pytest.approx(expected, rel=1e-7, abs=1e-6)
        assert along["estimate"].sum() == pytest.approx(even["estimate"].sum(), abs=1e-6)
        assert (along["estimate"] <= along["high"] + 1e-6).all()
        same = ["time_start", "time_end", "low", "high", "spread_over_hours"]
        pd.testing.assert_frame_equal(along[same], even[same])


def three_hours(*, finer: bool) -> Bundle:
    """One flow of three hours between two zones, and a finer one beside it, most of it in the second hour."""
    zones, start = town_zones(["z1", "z2", "z3"]), pd.Timestamp(DAYS[0], tz="UTC")
    made = bundle(product="hours", day=DAYS[0], zones=zones, rows=1, finer=finer)
    rows = [(0, 3, "z2", 30), *([(0, 1, "z3", 10), (1, 2, "z3", 80), (2, 3, "z3", 10)] if finer else [])]
    parts = [
        made.flows.assign(
            time_start=start + timedelta(hours=first),
            time_end=start + timedelta(hours=last),
            destination_zone=end,
            trips=trips,
            spread=float(trips),
        )
        for first, last, end, trips in rows
    ]
    return Bundle(**{**vars(made), "flows": pd.concat(parts, ignore_index=True)})


@pytest.mark.parametrize("finer", [False, True])
def test_one_hour_of_a_row_of_three_is_never_nothing(store: Store, *, finer: bool) -> None:
    made = three_hours(finer=finer)
    store.publish(made, accept)
    start = datetime(2026, 3, 30, tzinfo=UTC)
    ends, hour = (box(0, 0, 1, 1), box(1, 0, 2, 1)), timedelta(hours=1)
    for n in range(3):
        found = store.flow("hours", *ends, When(start + n * hour, start + (n + 1) * hour))
        assert found == pytest.approx(Estimate(0, 10, 30, 0))
    even = store.profile("hours", *ends, When(start, start + 3 * hour), hour)
    assert even["estimate"].tolist() == pytest.approx([10, 10, 10])
    assert even["spread_over_hours"].tolist() == [3, 3, 3]
    along = store.profile("hours", *ends, When(start, start + 3 * hour), hour, along="surroundings")
    # What leaves z1 is 20, 90, 20 an hour, what enters z2 10, 10, 10.
    expected = np.array([30, 100, 30]) * 30 / 160 if finer else [10, 10, 10]
    assert along["estimate"].tolist() == pytest.approx(expected)


def test_profiles_without_end_and_unknown_ways_are_refused(store: Store) -> None:
    store.publish(three_hours(finer=False), accept)
    area, start, hour = box(0, 0, 1, 1), datetime(2026, 3, 30, tzinfo=UTC), timedelta(hours=1)
    for until, step, sentence in (
        (start, hour, "longer than nothing"),
        (start + hour, -hour, "longer than nothing"),
        (start + 10_001 * hour, hour, "more than 10000 steps"),
    ):
        with pytest.raises(OdanonError, match=sentence):
            store.profile("hours", area, area, When(start, until), step)
    with pytest.raises(OdanonError, match="along is none of even, surroundings"):
        store.profile("hours", area, area, When(start, start + hour), hour, along="odd")


def test_readers_may_ask_and_what_a_withdrawn_release_pulsed_goes_with_it(database: str) -> None:
    publisher, reader, admin = (
        PostgisStore(f"{database}?options=-c%20role%3Dodanon_{name}") for name in ("publisher", "reader", "admin")
    )
    town = TOWNS[0]
    publisher.publish(town.bundle, accept)
    ends, span = (drawn([0, 1]), drawn([2, 3, 6])), moments(town, (0, HALVES))
    assert reader.flow("told", *ends, When(*span)).high > 0
    told = reader.profile("told", *ends, When(*span), timedelta(hours=2), along="surroundings")
    assert told["estimate"].sum() == pytest.approx(reader.flow("told", *ends, When(*span)).estimate)
    assert reader.query("select count(*) as n from pulses")["n"].item() > 0
    admin.withdraw("told", town.day, Act("somebody", "a test"))
    with transaction(database) as connection:
        assert execute(connection, "SELECT count(*) FROM published.pulse").scalar() == 0
