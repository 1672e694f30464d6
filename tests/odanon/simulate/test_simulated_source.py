"""The simulated source: any window of any city, drawn on its own."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from odanon import registry
from odanon.errors import OdanonError
from odanon.simulate.city import CHUNK, draw_people
from odanon.simulate.gps import day_points
from odanon.simulate.records import frame
from odanon.simulate.source import Simulated

START = datetime(2026, 3, 27, 17, tzinfo=UTC)  # the clocks of Paris change two nights later
LENGTH = timedelta(days=3)
SMALL = Simulated(people=40, seed=2, dirt=0.05)


def together(source, start, end):
    """All rows, those without a zone marked and read as if they were UTC."""
    frames = [
        b.assign(naive=b["time"].dt.tz is None, time=pd.to_datetime(b["time"], utc=True))
        for b in source.batches(start, end)
    ]
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def day():
    return list(Simulated(people=CHUNK + 20, seed=2).batches(START, START + timedelta(days=1)))


def test_batches_have_the_columns_and_types_of_a_source(day):
    for batch in day:
        assert {name: str(kind) for name, kind in batch.dtypes.items()} == {
            "person": "str",
            "time": "datetime64[us, UTC]",
            "lat": "float64",
            "lon": "float64",
        }
        assert batch["time"].between(START, START + timedelta(days=1), inclusive="left").all()


def test_a_batch_holds_whole_people_sorted_by_person_and_time(day):
    assert [batch["person"].nunique() for batch in day] == [CHUNK, 20]
    assert not set(day[0]["person"]) & set(day[1]["person"])
    for batch in day:
        assert batch.equals(batch.sort_values(["person", "time"], kind="stable"))


def test_a_chunk_drawn_alone_equals_the_same_chunk_of_the_whole(day):
    source = Simulated(people=CHUNK + 20, seed=2)
    people = draw_people(source.city, 1, source.people)
    alone = frame(people, day_points(source.city, people, date(2026, 3, 28), source.device))
    whole = day[1][day[1]["time"] >= pd.Timestamp("2026-03-28", tz="Europe/Paris")].reset_index(drop=True)
    alone = alone[alone["time"] < START + timedelta(days=1)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, whole)


def test_the_same_seed_repeats_and_another_does_not(day):
    again = next(iter(Simulated(people=CHUNK + 20, seed=2).batches(START, START + timedelta(days=1))))
    other = next(iter(Simulated(people=CHUNK + 20, seed=3).batches(START, START + timedelta(days=1))))
    assert day[0].equals(again)
    assert not day[0]["lat"].head(100).equals(other["lat"].head(100))


@given(
    first=st.integers(0, int(LENGTH.total_seconds()) - 1),
    seconds=st.integers(1, int(LENGTH.total_seconds())),
    zone=st.sampled_from(["Europe/Paris", "Asia/Tokyo"]),
)
def test_a_window_equals_the_longer_window_restricted_to_it(first, seconds, zone):
    source = Simulated(people=8, seed=2, timezone=zone)
    start = START + timedelta(seconds=first)
    end = min(start + timedelta(seconds=seconds), START + LENGTH)
    whole, part = (next(iter(source.batches(*window))) for window in ((START, START + LENGTH), (start, end)))
    expected = whole[(whole["time"] >= start) & (whole["time"] < end)].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, expected)


def test_daily_windows_add_up_to_the_whole_dirt_included():
    edges = [START + timedelta(hours=h) for h in (0, 6, 30, 55, 72)]
    parts = pd.concat([together(SMALL, *window) for window in pairwise(edges)])
    whole = together(SMALL, START, START + LENGTH)
    columns = list(whole.columns)
    pd.testing.assert_frame_equal(
        parts.sort_values(columns, ignore_index=True), whole.sort_values(columns, ignore_index=True)
    )


def test_removing_bad_rows_gives_back_the_city_without_dirt():
    rows = together(SMALL, START, START + LENGTH)
    near = rows["lat"].between(45, 46.5) & rows["lon"].between(4, 5.7)
    dated = (rows["time"] >= START) & (rows["time"] < START + LENGTH)
    cleaned = rows[near & dated & ~rows["naive"]].drop(columns="naive").drop_duplicates()
    pristine = together(Simulated(people=40, seed=2), START, START + LENGTH).drop(columns="naive").drop_duplicates()
    pd.testing.assert_frame_equal(cleaned.reset_index(drop=True), pristine.reset_index(drop=True))
    assert len(rows) > 1.04 * len(pristine)


def test_times_without_a_zone_come_in_their_own_batch_only_if_dirt_is_asked_for(day):
    zones = [batch["time"].dt.tz for batch in SMALL.batches(START, START + LENGTH)]
    assert [zone is None for zone in zones] == [False, True]
    assert all(batch["time"].dt.tz is not None for batch in day)


def test_there_is_about_one_fix_per_device_rhythm(day):
    per_person = pd.concat(day).groupby("person").size()
    assert 250 < per_person.mean() < 500


def test_persons_are_those_who_send_points(day):
    persons = pd.concat(Simulated(people=CHUNK + 20, seed=2).persons())
    assert list(persons.columns) == ["person", "sex", "age_band", "occupation", "weight"]
    assert set(persons["person"]) == set(pd.concat(day)["person"])


def test_the_city_lies_where_it_is_asked_to():
    source = Simulated(people=50, lat=-33.45, lon=-70.66, radius_km=8, timezone="America/Santiago", outlier_share=0)
    batch = next(iter(source.batches(START, START + timedelta(hours=30))))
    north = (batch["lat"] + 33.45) * 111.2
    east = (batch["lon"] + 70.66) * 111.2 * np.cos(np.radians(33.45))
    assert np.hypot(north, east).quantile(0.99) < 9


@pytest.mark.parametrize(("day_", "there"), [(date(1999, 12, 31), False), (date(2000, 1, 1), True)])
def test_days_are_available_from_2000_on(day_, there):
    assert SMALL.available(day_) is there
    noon = datetime.combine(day_, datetime.min.time(), ZoneInfo("Europe/Paris")) + timedelta(hours=12)
    assert bool(list(SMALL.batches(noon, noon + timedelta(hours=1)))) is there


def test_a_window_without_a_zone_is_refused():
    with pytest.raises(OdanonError, match="aware"):
        next(SMALL.batches(START.replace(tzinfo=None), START.replace(tzinfo=None) + LENGTH))


@pytest.mark.parametrize("wrong", [{"people": 0}, {"timezone": "Nowhere"}, {"dirt": -0.1}, {"speed": 3}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValidationError):
        Simulated(**wrong)


def test_it_is_installed_as_a_source_and_every_parameter_is_explained():
    plugin = registry.find("source", "simulated")
    assert plugin.cls is Simulated
    assert all(parameter.description for parameter in plugin.parameters)
