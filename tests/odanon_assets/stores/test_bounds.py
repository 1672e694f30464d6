"""Bounds of estimates: what was published lies between them, whatever areas and times are asked; both stores and Python agree."""

from datetime import UTC, date, datetime, timedelta

import geopandas
import pytest
from bundles import accept
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_databases import emptied
from told_town import HALVES, Town, drawn

from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Estimate, Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 30) + timedelta(days=n) for n in range(3)]
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
    exact = min(low / estimate, 1.0) if estimate else None
    for store in stores:
        found = store.flow("told", drawn(origins), drawn(destinations), *moments(town, halves))
        assert found == pytest.approx(Estimate(low, estimate, high, exact), rel=1e-7, abs=1e-6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(town=st.sampled_from(TOWNS), west=st.integers(1, 15), halves=TIME)
def test_a_matrix_tells_the_same_of_all_pairs(
    stores: tuple[Store, Store], town: Town, west: int, halves: tuple[int, int]
) -> None:
    parts = {"first": [*range(west)], "last": [*range(west, 16)]}
    areas = geopandas.GeoDataFrame(geometry=[drawn(tiles) for tiles in parts.values()], index=[*parts], crs="EPSG:4326")
    for store in stores:
        table = store.matrix("told", areas, *moments(town, halves)).set_index(["origin", "destination"])
        for a, origins in parts.items():
            for b, destinations in parts.items():
                expected = town.expected(town.asked(origins, destinations, halves))
                found = table.loc[(a, b), ["low", "estimate", "high"]].tolist() if (a, b) in table.index else [0, 0, 0]
                assert found == pytest.approx(expected, rel=1e-7, abs=1e-6)
