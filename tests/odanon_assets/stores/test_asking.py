"""Questions of days, clocks, months and segments: both stores against cells one by one, and profiles against a flow a step."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely.geometry import box
from store_databases import emptied
from told_town import HALVES, Town, drawn
from told_windows import GRAIN, WINDOWS

from odanon.model.when import DAYS as TYPES
from odanon.model.when import When, clock_of
from odanon.model.when.clock import span_of
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import PROFILE_COLUMNS, Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 30) + timedelta(days=n) for n in range(3)]  # from a Monday on
TOWNS = [Town.of(seed, day) for seed, day in zip((2, 3, 6), DAYS, strict=True)]
SPAN = datetime(2026, 3, 30, tzinfo=UTC), datetime(2026, 4, 2, tzinfo=UTC)
SOME = st.lists(st.integers(0, 15), min_size=1, max_size=16, unique=True)
MATCHED = {None: [0, 1, 2], "monday": [0], "wednesday": [2], "working": [0, 1, 2], "saturday": []}
HALF = st.integers(0, HALVES)
SEGMENT = st.sampled_from([None, "F", "M", "all"])
ENDS = box(0, 0, 1, 1), box(1, 0, 2, 1)


@pytest.fixture(scope="module")
def stores(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    found = EmbeddedStore(tmp_path_factory.mktemp("store")), PostgisStore(emptied(shared_database))
    for store in found:
        for town in TOWNS:
            store.publish(town.bundle, accept)
    return found


def clock(halves: tuple[int, int]) -> tuple[time, time]:
    first, last = (time(half // 2, 30 * (half % 2)) for half in halves)
    return first, last


def asked(origins: list[int], destinations: list[int], halves: list[int]) -> np.ndarray:
    mask = np.zeros((16, 16, HALVES), dtype=bool)
    mask[np.ix_(origins, destinations, halves)] = True
    return mask


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(days=st.sampled_from([*MATCHED]), halves=st.tuples(HALF, HALF), segment=SEGMENT, origins=SOME, destinations=SOME)
def test_days_clocks_and_segments_are_those_of_their_cells(
    stores: tuple[Store, Store], days, halves, segment, origins: list[int], destinations: list[int]
) -> None:
    first, last = halves
    inside = [n for n in range(HALVES) if (first <= n < last if first < last else n >= first or n < last)]
    mask, towns = asked(origins, destinations, inside), [TOWNS[number] for number in MATCHED[days]]
    expected = np.sum([town.expected(mask, segment) for town in towns], axis=0) if towns else [0, 0, 0]
    if segment is None:
        assert expected[0] <= sum(town.truth(mask) for town in towns) <= expected[2]
    for store in stores:
        when = When(*SPAN, days, clock(halves))
        found = store.flow("told", drawn(origins), drawn(destinations), when, segment=segment)
        assert found[:3] == pytest.approx(tuple(expected), rel=1e-7, abs=1e-6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=3)
@given(
    days=st.sampled_from([None, "monday"]),
    halves=st.tuples(HALF, HALF),
    segment=SEGMENT,
    origins=SOME,
    destinations=SOME,
)
def test_a_profile_is_a_flow_for_every_step(
    stores: tuple[Store, Store], days, halves, segment, origins: list[int], destinations: list[int]
) -> None:
    ends, when = (drawn(origins), drawn(destinations)), When(*SPAN, days, clock(halves))
    both = [store.profile("told", *ends, when, timedelta(minutes=90), segment=segment) for store in stores]
    pd.testing.assert_frame_equal(both[0], both[1], rtol=1e-7, atol=1e-6)
    assert tuple(both[0].columns) == PROFILE_COLUMNS
    for row in both[0][both[0]["high"] > 0].iloc[::2].itertuples():
        step = When(row.time_start.to_pydatetime(), row.time_end.to_pydatetime(), days, when.clock)
        one = stores[0].flow("told", *ends, step, segment=segment)
        assert (row.low, row.estimate, row.high) == pytest.approx(one[:3], rel=1e-7, abs=1e-6)
    whole = stores[0].flow("told", *ends, when, segment=segment)
    assert both[0]["estimate"].sum() == pytest.approx(whole.estimate, rel=1e-7, abs=1e-6)


def rows_at(product: str, day: date, timezone: str, times: list[tuple[datetime, datetime, int]], **told) -> Bundle:
    """Flows from the first square to the second, each of some time."""
    made = bundle(product=product, day=day, zones=town_zones(["z1", "z2", "z3"]), rows=1, timezone=timezone, **told)
    parts = [
        made.flows.assign(time_start=start, time_end=end, destination_zone="z2", trips=trips, spread=float(trips))
        for start, end, trips in times
    ]
    flows = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(("time_start", "time_end"), "datetime64[us, UTC]"))
    return Bundle(**{**vars(made), "flows": flows})


def told_week() -> Bundle:
    """Four working days, and a Saturday, in halves of a day; one row is of the whole Saturday."""
    days = {"working": (2, 4), "saturday": (7, 1)}
    bins = [
        {
            "time_bin": datetime(2026, 3, day, 12 * half, tzinfo=UTC).isoformat(),
            "time_end": (datetime(2026, 3, day, 12 * half, tzinfo=UTC) + timedelta(hours=12)).isoformat(),
            "day_type": kind,
            "since": f"{12 * half:02}:00",
            "until": f"{12 * half + 12}:00",
            "days": number,
        }
        for kind, (day, number) in days.items()
        for half in (0, 1)
    ]
    at = [datetime(2026, 3, day, hour, tzinfo=UTC) for day, hour in ((2, 0), (2, 12), (7, 0), (8, 0))]
    rows = [(at[0], at[1], 40), (at[1], at[1] + timedelta(hours=12), 400), (at[2], at[3], 24)]
    told = {"window": "week", "missing_days": ["2026-03-06", "2026-03-08"], "bins": bins, "intervals": []}
    return rows_at("weeks", date(2026, 3, 2), "UTC", rows, **told)


@pytest.mark.parametrize(
    ("days", "span", "expected"),
    [
        (None, None, (464, 464, 464)),
        ("working", None, (440, 440, 440)),
        ("saturday", None, (24, 24, 24)),
        ("sunday_holiday", None, (0, 0, 0)),
        ("tuesday", None, (0, 110, 440)),
        ("working", "00:00-12:00", (40, 40, 40)),
        ("working", "06:00-18:00", (0, 220, 440)),
        (None, "18:00-06:00", (0, 232, 464)),
        ("saturday", "07:00-10:00", (0, 3, 24)),
    ],
)
def test_a_week_is_asked_by_the_types_of_its_days(days, span, expected, weeks: tuple[Store, Store]) -> None:
    when = When(*(datetime(2026, 3, day, tzinfo=UTC) for day in (1, 20)), days, span and clock_of(span))
    for store in weeks:
        assert store.flow("weeks", *ENDS, when)[:3] == pytest.approx(expected)


@pytest.fixture(scope="module")
def weeks(stores: tuple[Store, Store]) -> tuple[Store, Store]:
    for store in stores:
        store.publish(told_week(), accept)
    return stores


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ((4, 0), (5, 0), (0, 110, 440)),  # a Wednesday alone
        ((2, 0), (6, 0), (440, 440, 440)),
        ((2, 0), (5, 12), (40, 340, 440)),
        ((6, 0), (7, 0), (0, 0, 0)),  # missing
        ((7, 0), (9, 0), (24, 24, 24)),
        ((5, 18), (7, 6), (0, 50 + 6, 400 + 24)),
    ],
)
def test_a_part_of_a_week_is_asked_on_all_its_days(since, until, expected, weeks: tuple[Store, Store]) -> None:
    when = When(*(datetime(2026, 3, *at, tzinfo=UTC) for at in (since, until)))
    for store in weeks:
        assert store.flow("weeks", *ENDS, when)[:3] == pytest.approx(expected)


@pytest.fixture(scope="module")
def known(stores: tuple[Store, Store]) -> dict[str, list]:
    """Windows that both stores have, with their trips by instant."""
    found = {name: told.trips(seed) for seed, (name, told) in enumerate(WINDOWS.items())}
    for store in stores:
        for name, told in WINDOWS.items():
            times = [each[:3] for each in found[name]]
            store.publish(rows_at(name, told.start, times=times, **told.manifest), accept)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from([*WINDOWS]),
    days=st.none() | st.sampled_from(TYPES),
    halves=st.none() | st.tuples(HALF, HALF),
    data=st.data(),
)
def test_what_was_published_of_a_part_of_a_week_or_month_lies_within_bounds(
    stores: tuple[Store, Store], known: dict[str, list], name: str, days, halves, data
) -> None:
    told = WINDOWS[name]
    start, end = span_of(told.manifest)
    grain = st.integers(-2, (end - start) // GRAIN + 2)
    first, last = sorted(data.draw(st.lists(grain, min_size=2, max_size=2, unique=True)))
    when = When(start + first * GRAIN, start + last * GRAIN, days, halves and clock(halves))
    bins = {(row[0], row[1]): row[2] for row in told.rows}
    shares = [(trips, told.share(bins[since, until], when)) for since, until, trips, _ in known[name]]
    low, high = (sum(trips for trips, share in shares if met(share)) for met in (lambda s: s > 1 - 1e-9, bool))
    assert low <= sum(truly(when) for *_, truly in known[name]) <= high
    for store in stores:
        found = store.flow(name, *ENDS, when)
        expected = low, sum(trips * share for trips, share in shares), high
        assert found[:3] == pytest.approx(expected, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("name", ["turned-week", "turned-month"])
def test_a_profile_of_a_week_or_month_is_a_flow_for_every_step(
    stores: tuple[Store, Store], known: dict[str, list], name: str
) -> None:
    told = WINDOWS[name]
    when = When(*span_of(told.manifest), None, clock_of("05:00-18:00"))
    both = [store.profile(name, *ENDS, when, timedelta(hours=31)) for store in stores]
    pd.testing.assert_frame_equal(both[0], both[1], rtol=1e-7, atol=1e-6)
    for row in both[0].iloc[::4].itertuples():
        step = When(row.time_start.to_pydatetime(), row.time_end.to_pydatetime(), None, when.clock)
        assert (row.low, row.estimate, row.high) == pytest.approx(stores[0].flow(name, *ENDS, step)[:3])
    whole = stores[0].flow(name, *ENDS, when)
    assert both[0]["estimate"].sum() == pytest.approx(whole.estimate)
    assert both[0]["high"].max() <= whole.high


def test_local_clocks_hold_on_the_day_when_they_are_turned(stores: tuple[Store, Store]) -> None:
    paris, day = ZoneInfo("Europe/Paris"), date(2026, 10, 25)
    start = datetime.combine(day, time(), paris).astimezone(UTC)
    hours = [(start + timedelta(hours=n), start + timedelta(hours=n + 1), 2**n) for n in range(6)]
    made = rows_at("turned", day, "Europe/Paris", hours)
    for store in stores:
        store.publish(made, accept)
        when = When(start, start + timedelta(hours=25), "sunday", clock_of("02:00-03:00"))
        assert store.flow("turned", *ENDS, when)[:3] == (4 + 8,) * 3  # two hours are called 02:00
        assert store.flow("turned", *ENDS, When(when.since, when.until, "monday")).high == 0
        table = store.profile("turned", *ENDS, When(when.since, when.until), timedelta(hours=1))
        assert table["estimate"].tolist()[:5] == [1, 2, 12, 16, 32]
        assert len(table) == 24
        late = store.profile("turned", *ENDS, When(start - timedelta(days=9), when.until), timedelta(days=1))
        assert late["time_start"].tolist() == [start]  # of the days before nothing is published
