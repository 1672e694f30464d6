"""GPS fixes: where and how often phones record, and what goes wrong with them."""

from dataclasses import replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from odanon.simulate.city import City, draw_people
from odanon.simulate.gps import Device, day_points
from odanon.simulate.plan import timeline
from odanon.simulate.rhythm import Rhythm
from odanon.simulate.timeline import local_instant

CITY = City(seed=5, lat=45.75, lon=4.85, radius_km=12.0, zone=ZoneInfo("Europe/Paris"))
PEOPLE = draw_people(CITY, 0, 500)
DAY = date(2026, 3, 2)
PERFECT = Device(Rhythm(300.0, 30.0, 0.0), noise_m=0.0, outlier_share=0.0, duplicate_share=0.0)


def residual_m(points, day=DAY):
    """Metres between each fix and where the person truly was (to within the rounding of times to seconds)."""
    segments = timeline(CITY, PEOPLE, day, day)
    seconds = points.time / 1e6 + 0.5
    axis = segments.person * 1e7 + (segments.start - segments.start.min())
    segment = np.searchsorted(axis, points.person * 1e7 + (seconds - segments.start.min()), side="right") - 1
    f = (seconds - segments.start[segment]) / (segments.end - segments.start)[segment]
    bow = 4 * f * (1 - f) * segments.bow[segment]
    dx, dy = segments.dx[segment], segments.dy[segment]
    x, y = segments.x[segment] + f * dx - bow * dy, segments.y[segment] + f * dy + bow * dx
    lat, lon = CITY.to_degrees(x, y)
    per_lat, per_lon = CITY.degrees_per_km
    off_y, off_x = (points.values["lat"] - lat) / per_lat * 1000, (points.values["lon"] - lon) / per_lon * 1000
    return off_x, off_y, segments.moving[segment]


def test_perfect_fixes_lie_on_the_truth():
    off_x, off_y, moving = residual_m(day_points(CITY, PEOPLE, DAY, PERFECT))
    off = np.hypot(off_x, off_y)
    assert off[~moving].max() < 0.2  # a millionth of a degree
    assert off[moving].max() < 30  # half a second at the speed of a fast car


def test_noise_has_the_asked_standard_deviation_on_both_axes():
    points = day_points(CITY, PEOPLE, DAY, replace(PERFECT, noise_m=25.0))
    off_x, off_y, moving = residual_m(points)
    assert np.std(off_x[~moving]) == pytest.approx(25, rel=0.02)
    assert np.std(off_y[~moving]) == pytest.approx(25, rel=0.02)


def test_stray_fixes_are_as_many_and_as_far_as_asked():
    off_x, off_y, _ = residual_m(day_points(CITY, PEOPLE, DAY, replace(PERFECT, outlier_share=0.02)))
    off = np.hypot(off_x, off_y)
    stray = off > 100
    assert stray.mean() == pytest.approx(0.02, rel=0.05)
    assert off[stray].min() > 470
    assert off[stray].max() < 5030


def test_fixes_come_at_the_interval_of_the_state():
    points = day_points(CITY, PEOPLE, DAY, PERFECT)
    _, _, moving = residual_m(points)
    follows = (points.person[1:] == points.person[:-1]) & (moving[1:] == moving[:-1])
    wait = np.diff(points.time)[follows] / 1e6
    on_move = moving[1:][follows]
    assert np.median(wait[on_move]) == pytest.approx(30, abs=1)
    assert np.median(wait[~on_move]) == pytest.approx(300, abs=5)
    assert wait[on_move].min() >= 14


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_silent_spans_take_their_share_and_are_long(share):
    whole = day_points(CITY, PEOPLE, DAY, PERFECT)
    holed = day_points(CITY, PEOPLE, DAY, replace(PERFECT, rhythm=Rhythm(300.0, 30.0, share)))
    assert 1 - len(holed) / len(whole) == pytest.approx(share, rel=0.15)
    wait = np.diff(holed.time)[holed.person[1:] == holed.person[:-1]] / 1e6
    assert (wait > 1800).sum() > len(PEOPLE) / 3
    assert wait.max() > 3 * 3600


def test_repeated_fixes_are_exact_copies_next_to_each_other():
    points = day_points(CITY, PEOPLE, DAY, replace(PERFECT, noise_m=5.0, duplicate_share=0.03))
    same = np.ones(len(points) - 1, bool)
    for column in (points.person, points.time, *points.values.values()):
        same &= column[1:] == column[:-1]
    assert same.sum() / (len(points) - same.sum()) == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 3, 2), 24)])
def test_a_civil_day_has_its_hours_and_no_fix_outside(day, hours):
    points = day_points(CITY, PEOPLE, day, PERFECT)
    opens, closes = local_instant(day, CITY.zone), local_instant(day + timedelta(days=1), CITY.zone)
    assert closes - opens == hours * 3600
    assert points.time.min() >= opens * 1_000_000
    assert points.time.max() < closes * 1_000_000
    hour = ((points.time / 1e6 - opens) // 3600).astype(int)
    assert set(hour) == set(range(hours))
    assert np.all(np.diff(points.person) >= 0)
    assert np.all(np.diff(points.time)[np.diff(points.person) == 0] >= 0)
