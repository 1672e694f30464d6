"""Dirt: bad rows of every kind, added to good data and known by kind."""

from collections import Counter
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.simulate.dirt import EVENT_KINDS, POINT_KINDS, soil_events, soil_points
from odanon.simulate.records import Records

PARIS = ZoneInfo("Europe/Paris")
NOON = 1_772_449_200_000_000  # 2026-03-02 12:00 in Paris


def good_points(n=20_000):
    rng = np.random.default_rng(1)
    values = {"lat": rng.uniform(45.6, 45.9, n), "lon": rng.uniform(4.7, 5.0, n)}
    return Records(np.sort(rng.integers(0, 50, n)), NOON + rng.integers(0, 3600, n) * 1_000_000, values)


POINTS = good_points()
DIRT = soil_points(np.random.default_rng(2), POINTS, 0.2, PARIS)
ORIGINAL = POINTS.take(DIRT.source)


def of(kind):
    """(time, lat, lon) of the bad rows of a kind, and of the good rows they were copied from."""
    bad, good = (rows.take(DIRT.kind == kind) for rows in (DIRT.rows, ORIGINAL))
    return (bad.time, *bad.values.values()), (good.time, *good.values.values())


def test_every_kind_occurs_about_equally_often_and_the_total_is_the_share():
    counts = Counter(DIRT.kind.tolist())
    assert set(counts) == set(POINT_KINDS)
    assert len(DIRT.kind) == pytest.approx(0.2 * len(POINTS), rel=0.05)
    assert min(counts.values()) > 0.7 * len(DIRT.kind) / len(POINT_KINDS)


def test_nan_and_infinite_rows_lack_a_finite_coordinate():
    (_, lat, lon), _ = of("nan")
    assert np.all(np.isnan(lat) ^ np.isnan(lon))
    (_, lat, lon), _ = of("infinite")
    assert np.all(np.isinf(lat) ^ np.isinf(lon))


def test_rows_out_of_range_are_off_the_globe():
    (_, lat, lon), _ = of("out_of_range")
    assert np.all((np.abs(lat) > 90) ^ (np.abs(lon) > 180))
    assert np.all(np.isfinite(lat) & np.isfinite(lon))


def test_null_island_and_swapped_rows():
    (_, lat, lon), _ = of("null_island")
    assert not lat.any()
    assert not lon.any()
    (_, lat, lon), (_, good_lat, good_lon) = of("swapped")
    assert np.array_equal(lat, good_lon)
    assert np.array_equal(lon, good_lat)


def test_stamps_from_the_future_and_from_1970():
    (time, *_), (good_time, *_) = of("future")
    assert np.all(time - good_time > 19 * 365 * 86400 * 1_000_000)
    (time, *_), _ = of("epoch_1970")
    assert np.all(time.view("M8[us]").astype("M8[D]") == np.datetime64("1970-01-01"))


def test_naive_rows_show_the_wall_clock_and_come_apart():
    (time, lat, _), (good_time, good_lat, _) = of("naive")
    assert np.all(time - good_time == 3600 * 1_000_000)
    assert np.array_equal(lat, good_lat)
    zoned, naive = DIRT.split()
    assert len(naive) == len(time)
    assert len(zoned) + len(naive) == len(DIRT.rows)


def test_teleports_are_possible_places_at_impossible_speeds():
    (time, lat, lon), (good_time, good_lat, _) = of("teleport")
    assert np.all(np.abs(lat - good_lat) >= 5)  # 550 km
    assert np.all((time - good_time) == 1_000_000)
    assert np.all((np.abs(lat) <= 90) & (np.abs(lon) <= 180))


def test_duplicates_equal_their_source():
    bad, good = of("duplicate")
    assert all(np.array_equal(b, g) for b, g in zip(bad, good, strict=True))


def test_dirt_leaves_the_good_rows_and_the_person_alone():
    assert all(np.array_equal(v, good_points().values[k]) for k, v in POINTS.values.items())
    assert np.array_equal(DIRT.rows.person, ORIGINAL.person)


@given(share=st.floats(0, 1), seed=st.integers(0, 2**32), n=st.integers(0, 300))
def test_any_share_of_any_number_of_rows_is_repeatable(share, seed, n):
    points = good_points(300).take(np.arange(n))
    first, second = (soil_points(np.random.default_rng(seed), points, share, PARIS) for _ in range(2))
    assert np.array_equal(first.kind, second.kind)
    assert np.array_equal(first.rows.values["lat"], second.rows.values["lat"], equal_nan=True)
    assert len(first.rows) <= n
    if share == 0:
        assert len(first.rows) == 0


def test_antenna_events_get_wrong_stamps_and_missing_or_unknown_antennas():
    events = Records(POINTS.person, POINTS.time, {"antenna": np.arange(len(POINTS)) % 40})
    dirt = soil_events(np.random.default_rng(2), events, 0.2, PARIS, towers=40)
    antenna = pd.Series(dirt.rows.values["antenna"]).groupby(dirt.kind)
    assert set(antenna.groups) == set(EVENT_KINDS)
    assert set(antenna.get_group("no_antenna")) == {-1}
    assert antenna.min()["unknown_antenna"] >= 40
    assert antenna.max()["duplicate"] < 40
    assert events.values["antenna"].max() == 39
