"""A polycentric city: where people live, work, learn and spend time, and who they are.

Every random draw belongs to a stream keyed by (seed, subject, chunk of people, day), so any part of the city
can be drawn on its own, in any order and on any machine, and comes out the same.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

CHUNK = 500  # people drawn together: the size of a batch, so memory does not grow with the population
KM_PER_DEGREE = 111.195

SEXES = ("female", "male")
AGE_BANDS = ("15-24", "25-44", "45-64", "65+")
OCCUPATIONS = ("student", "employed", "inactive", "retired")
STUDENT, EMPLOYED = 0, 1

_AGE_SHARES = (0.17, 0.36, 0.28, 0.19)
_OCCUPATION_SHARES = (  # one row per age band
    (0.65, 0.25, 0.10, 0.00),
    (0.04, 0.82, 0.14, 0.00),
    (0.00, 0.76, 0.14, 0.10),
    (0.00, 0.06, 0.04, 0.90),
)
_MEAN_WEIGHT, _WEIGHT_SIGMA = 20.0, 0.7
_SUBCENTRES = 7
_EVEN_SHARE = 0.12  # of the homes: spread over the whole disc instead of around a centre
_NEAREST_KM = 0.3  # places of a person lie no closer together, so that going from one to another is a trip


class Place(IntEnum):
    """The places a person knows; MAIN is the workplace or the school."""

    HOME = 0
    MAIN = 1
    SHOP = 2
    MARKET = 3
    LEISURE = 4
    FRIENDS = 5
    MEAL = 6
    STOP = 7


class Stream(IntEnum):
    """The subjects that have their own random stream."""

    CITY = 0
    PEOPLE = 1
    PLAN = 2
    POINTS = 3
    EVENTS = 4
    DIRT = 5
    SURVEY = 6


@dataclass(frozen=True)
class Sites:
    """Places open to everyone, with the pull they exert."""

    x: np.ndarray
    y: np.ndarray
    attraction: np.ndarray


@dataclass(frozen=True)
class People:
    """One chunk of people: coded attributes, and the position of each known place (km east and north)."""

    chunk: int  # number of the chunk in the city
    sex: np.ndarray
    age_band: np.ndarray
    occupation: np.ndarray
    weight: np.ndarray
    x: np.ndarray  # (people, places)
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.sex)

    @property
    def ids(self) -> list[str]:
        first = self.chunk * CHUNK
        return [f"p{number:07d}" for number in range(first, first + len(self))]

    def frame(self) -> pd.DataFrame:
        """The attributes a survey or an operator would hold, one row per person."""
        return pd.DataFrame(
            {
                "person": self.ids,
                "sex": np.array(SEXES)[self.sex],
                "age_band": np.array(AGE_BANDS)[self.age_band],
                "occupation": np.array(OCCUPATIONS)[self.occupation],
                "weight": self.weight,
            }
        )


@dataclass(frozen=True)
class City:
    """The ground on which people move and the zone of its clocks: a disc around (lat, lon), drawn from one seed."""

    seed: int
    lat: float
    lon: float
    radius_km: float
    zone: ZoneInfo

    def rng(self, stream: Stream, *key: int) -> np.random.Generator:
        """The random stream of one subject; SFC64 because points are drawn by the hundred million."""
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(stream, *key))))

    @property
    def degrees_per_km(self) -> tuple[float, float]:
        """(latitude, longitude) degrees in a kilometre; one value serves a city-sized disc."""
        return 1 / KM_PER_DEGREE, 1 / (KM_PER_DEGREE * np.cos(np.radians(self.lat)))

    def to_degrees(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kilometres east and north of the middle as (latitude, longitude)."""
        per_lat, per_lon = self.degrees_per_km
        return self.lat + y * per_lat, self.lon + x * per_lon

    @cached_property
    def centres(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, spread in km, share of the homes) of the old town and its satellites."""
        rng = self.rng(Stream.CITY, 0)
        angle = 2 * np.pi * (np.arange(_SUBCENTRES) + rng.uniform(-0.35, 0.35, _SUBCENTRES)) / _SUBCENTRES
        distance = self.radius_km * rng.uniform(0.3, 0.8, _SUBCENTRES)
        size = rng.uniform(0.5, 1.5, _SUBCENTRES)
        x = np.append(0.0, distance * np.cos(angle))
        y = np.append(0.0, distance * np.sin(angle))
        spread = self.radius_km * np.append(0.16, 0.05 * np.sqrt(size) + 0.02)
        return x, y, spread, np.append(0.4, 0.6 * size / size.sum())

    @cached_property
    def workplaces(self) -> Sites:
        return self._sites(1, count=300, concentration=0.5)

    @cached_property
    def schools(self) -> Sites:
        return self._sites(2, count=60, concentration=0.8)

    @cached_property
    def venues(self) -> Sites:
        return self._sites(3, count=400, concentration=0.7)

    def _sites(self, key: int, count: int, concentration: float) -> Sites:
        """Sites gather closer to the centres than homes do, and a few attract far more than most."""
        rng = self.rng(Stream.CITY, key)
        x, y = self.scatter(rng, count, concentration)
        return Sites(x, y, 1 + rng.pareto(1.5, count))

    def scatter(
        self, rng: np.random.Generator, count: int, concentration: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw positions from the mixture of centres; what falls outside the disc is spread evenly over it."""
        x0, y0, spread, share = self.centres
        centre = np.searchsorted(np.cumsum(share), rng.random(count)).clip(max=len(share) - 1)
        x = x0[centre] + concentration * spread[centre] * rng.standard_normal(count)
        y = y0[centre] + concentration * spread[centre] * rng.standard_normal(count)
        even_x, even_y = _disc(rng, count, 0.0, self.radius_km)
        even = (rng.random(count) < _EVEN_SHARE * concentration) | (np.hypot(x, y) > self.radius_km)
        return np.where(even, even_x, x), np.where(even, even_y, y)


def chunks(people: int) -> range:
    """The chunks that hold `people` people."""
    return range(-(-people // CHUNK))


def draw_people(city: City, chunk: int, people: int) -> People:
    """The people of one chunk of a city of `people` inhabitants."""
    n = min(CHUNK, people - chunk * CHUNK)
    rng = city.rng(Stream.PEOPLE, chunk)
    sex = rng.integers(0, len(SEXES), n)
    age_band = np.searchsorted(np.cumsum(_AGE_SHARES)[:-1], rng.random(n), side="right")
    thresholds = np.cumsum(_OCCUPATION_SHARES, axis=1)[age_band, :-1]
    occupation = (rng.random(n)[:, None] >= thresholds).sum(axis=1)
    weight = rng.lognormal(np.log(_MEAN_WEIGHT) - _WEIGHT_SIGMA**2 / 2, _WEIGHT_SIGMA, n).round(2)
    x, y = _known_places(city, rng, occupation)
    return People(chunk, sex, age_band, occupation, weight, x, y)


def _known_places(city: City, rng: np.random.Generator, occupation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (people, places): homes by density, the rest by gravity from home, meals near the workplace."""
    n = len(occupation)
    x, y = np.empty((2, n, len(Place)))
    home_x, home_y = city.scatter(rng, n)
    x[:, Place.HOME], y[:, Place.HOME] = home_x, home_y
    school = _attracted(rng, home_x, home_y, city.schools, 0.15 * city.radius_km)
    work = _attracted(rng, home_x, home_y, city.workplaces, 0.5 * city.radius_km)
    student = occupation == STUDENT
    x[:, Place.MAIN], y[:, Place.MAIN] = (np.where(student, s, w) for s, w in zip(school, work, strict=True))
    for place, reach in ((Place.SHOP, 0.1), (Place.MARKET, 0.2), (Place.LEISURE, 0.4)):
        x[:, place], y[:, place] = _attracted(rng, home_x, home_y, city.venues, reach * city.radius_km)
    x[:, Place.FRIENDS], y[:, Place.FRIENDS] = city.scatter(rng, n)
    _keep_apart(x, y)
    meal_x, meal_y = _disc(rng, n, 0.25, 0.7)
    x[:, Place.MEAL], y[:, Place.MEAL] = x[:, Place.MAIN] + meal_x, y[:, Place.MAIN] + meal_y
    along = rng.uniform(0.3, 0.7, n)
    aside_x, aside_y = _disc(rng, n, 0.25, 0.6)
    x[:, Place.STOP] = home_x + along * (x[:, Place.MAIN] - home_x) + aside_x
    y[:, Place.STOP] = home_y + along * (y[:, Place.MAIN] - home_y) + aside_y
    return x, y


def _attracted(
    rng: np.random.Generator, x: np.ndarray, y: np.ndarray, sites: Sites, reach_km: float
) -> tuple[np.ndarray, np.ndarray]:
    """Choose a site with probability attraction * exp(-distance / reach), at some metres from its middle."""
    # Single precision and no hypot: this people x sites table is the costliest part of drawing people.
    dx, dy = (np.subtract.outer(here, there, dtype=np.float32) for here, there in ((x, sites.x), (y, sites.y)))
    pull = np.exp(np.sqrt(dx * dx + dy * dy) * np.float32(-1 / reach_km)) * sites.attraction.astype(np.float32)
    cumulated = np.cumsum(pull, axis=1)
    chosen = (cumulated < rng.random((len(x), 1), np.float32) * cumulated[:, -1:]).sum(axis=1)
    return sites.x[chosen] + rng.normal(0, 0.02, len(x)), sites.y[chosen] + rng.normal(0, 0.02, len(x))


def _keep_apart(x: np.ndarray, y: np.ndarray) -> None:
    """Move a place that fell next to an earlier one straight away from it, to the least distance of a trip."""
    for place in range(Place.MAIN, Place.FRIENDS + 1):
        for other in range(place):
            dx, dy = x[:, place] - x[:, other], y[:, place] - y[:, other]
            distance = np.hypot(dx, dy)
            stretch = np.where(distance < _NEAREST_KM, _NEAREST_KM / np.maximum(distance, 1e-9), 1.0)
            x[:, place], y[:, place] = x[:, other] + dx * stretch, y[:, other] + dy * stretch


def _disc(rng: np.random.Generator, count: int, inner: float, outer: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions spread evenly over a ring."""
    radius = np.sqrt(rng.uniform(inner**2, outer**2, count))
    angle = rng.uniform(0, 2 * np.pi, count)
    return radius * np.cos(angle), radius * np.sin(angle)
