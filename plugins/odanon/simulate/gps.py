"""GPS fixes of the people of a city: noisy, with stray fixes, silent spans and repeated fixes."""

import math
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from odanon.simulate.city import City, People, Stream
from odanon.simulate.plan import timeline
from odanon.simulate.records import Records
from odanon.simulate.rhythm import Rhythm, instants, positions
from odanon.simulate.timeline import local_instant

_LOG_STRAY_KM = (math.log(0.5), math.log(5.0))


@dataclass(frozen=True)
class Device:
    """How a phone records: noise in metres on each axis, shares of stray and of repeated fixes."""

    rhythm: Rhythm
    noise_m: float
    outlier_share: float
    duplicate_share: float


def day_points(city: City, people: People, day: date, device: Device) -> Records:
    """All fixes of one chunk of people on one civil day."""
    rng = city.rng(Stream.POINTS, people.chunk, day.toordinal())
    opens, closes = local_instant(day, city.zone), local_instant(day + timedelta(days=1), city.zone)
    segments = timeline(city, people, day, day)
    segment, seconds = instants(rng, segments, opens, closes, device.rhythm)
    lat, lon = city.to_degrees(*positions(segments, segment, seconds))
    _blur(rng, city, lat, lon, device)
    person = segments.person[segment].astype(np.int16)
    points = Records(person, np.floor(seconds).astype(np.int64) * 1_000_000, {"lat": lat, "lon": lon})
    return _repeat_some(rng, points, device.duplicate_share)


def _blur(rng: np.random.Generator, city: City, lat: np.ndarray, lon: np.ndarray, device: Device) -> None:
    """Add noise to every fix and throw a few far away, in place; a millionth of a degree is kept."""
    n = len(lat)
    per_lat, per_lon = city.degrees_per_km
    noise_km = device.noise_m / 1000
    lat += rng.standard_normal(n, np.float32) * np.float32(noise_km * per_lat)
    lon += rng.standard_normal(n, np.float32) * np.float32(noise_km * per_lon)
    stray = np.unique(rng.integers(0, max(n, 1), rng.binomial(n, device.outlier_share)))
    distance = np.exp(rng.uniform(*_LOG_STRAY_KM, len(stray)))
    angle = rng.uniform(0, 2 * np.pi, len(stray))
    lat[stray] += distance * np.sin(angle) * per_lat
    lon[stray] += distance * np.cos(angle) * per_lon
    np.round(lat, 6, out=lat)
    np.round(lon, 6, out=lon)


def _repeat_some(rng: np.random.Generator, points: Records, share: float) -> Records:
    """Send a share of the fixes twice."""
    again = rng.integers(0, max(len(points), 1), rng.binomial(len(points), share))
    if not len(again):
        return points
    return points.take(np.sort(np.concatenate([np.arange(len(points)), again]), kind="stable"))
