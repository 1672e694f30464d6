"""Days are cut out of longer traces with their context: a stay across midnight is one, a trip belongs to one day."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from staypoints_truth import DATES, Traces, antenna_city, gps_city

from odanon.model.window import day_window
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.staypoints.dwell import Dwell
from odanon.staypoints.transit import Transit
from odanon.trips.build import build_trips

PARIS = ZoneInfo("Europe/Paris")
CONTEXT = timedelta(hours=6)
TOWN = Simulated(people=120, seed=5)


def trips_of(day: date, points: pd.DataFrame, detector: Any) -> pd.Series:
    """Departures of a day's trips, as a daily run sees them in these points, indexed by person."""
    trips = build_trips(
        detector.detect(points), *day_window(day, PARIS), min_distance_m=200, max_duration=timedelta(hours=12)
    )
    return trips.set_index("person")["start"]


def cut(day: date, points: pd.DataFrame) -> pd.DataFrame:
    """What the run of a day reads: the day and the context around it."""
    start, end = day_window(day, PARIS)
    inside = (points["time"] >= start - CONTEXT) & (points["time"] < end + CONTEXT)
    return points[inside].reset_index(drop=True)


@pytest.mark.parametrize(
    ("city", "detector"),
    [
        (gps_city, Dwell(radius_m=150)),
        (lambda town: antenna_city(town, Mode.nsd, 0.0), Transit()),
    ],
    ids=["dwell", "transit"],
)
def test_daily_runs_find_the_trips_of_one_long_run(city: Callable[[Simulated], Traces], detector: Any) -> None:
    """All but one in a hundred: what a person did before the context may decide which antennas a stay has."""
    points = city(TOWN).points
    for day in DATES:
        whole, daily = (trips_of(day, seen, detector) for seen in (points, cut(day, points)))
        of_person = [trips.groupby(level=0).size() for trips in (whole, daily)]
        assert len(whole) > 200
        assert of_person[0].sub(of_person[1], fill_value=0).abs().sum() <= 0.01 * len(whole)


def test_a_night_at_home_is_one_stay_for_both_days() -> None:
    """The stay that midnight cuts ends the trips of one day and starts those of the next, at one place."""
    points = gps_city(TOWN).points
    evening, morning = (Dwell(radius_m=150).detect(cut(day, points)) for day in DATES)
    midnight = day_window(DATES[1], PARIS)[0]
    across = [
        stays[(stays["start"] < midnight) & (stays["end"] > midnight)].set_index("person")
        for stays in (evening, morning)
    ]
    assert across[0].index.is_unique
    both = across[0].join(across[1], rsuffix="_next", how="inner")
    assert len(both) > 0.8 * TOWN.people
    assert ((both["lat"] - both["lat_next"]).abs() < 150 / 111_195).all()
