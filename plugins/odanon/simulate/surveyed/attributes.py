"""Who people are, as a census and a travel survey ask: attributes that go with where they live and with the day that they had."""

import numpy as np
import pandas as pd

from odanon.simulate.city import EMPLOYED, OCCUPATIONS, SEXES, STUDENT, City, People, Place, Stream
from odanon.simulate.surveyed.days import CAR

AGES = ("0-17", "18-29", "30-59", "60+")
OWNER, TENANT, SOCIAL = HOME_STATUS = ("owner", "tenant", "social")
JOBS = ("farmer", "independent", "executive", "intermediate", "employee", "worker")
YES, NO = "yes", "no"

_RETIRED = OCCUPATIONS.index("retired")
_AGE_EDGES = (18, 30, 60)
_OLDEST = np.array([24, 44, 64, 89])  # of the age bands
_YOUNGEST = np.array([15, 25, 45, 65])
_JOB_SHARES = np.array([0.01, 0.09, 0.22, 0.27, 0.25, 0.16])
# How much more often somebody has a job (in the order of JOBS) than others do, who ...
_STARTS_AT_ODD_HOURS = np.array([3.0, 1.0, 0.3, 0.7, 1.5, 3.0])
_GOES_FAR = np.array([0.5, 0.7, 1.7, 1.2, 0.8, 0.8])
_LIVES_FAR_OUT = np.array([8.0, 1.3, 0.7, 1.0, 1.0, 1.3])
_IS_YOUNG = np.array([0.5, 0.3, 0.3, 0.8, 1.6, 1.3])
_RUSH_MIN = (6.5 * 60, 9.5 * 60)
_FAR_KM = 6.0


def attributes(city: City, people: People, trips: pd.DataFrame) -> pd.DataFrame:
    """person, age, gender, occupation, car and home_status of one chunk of people; `trips` are those of their day (`days.day_trips`)."""
    rng = city.rng(Stream.SURVEY, 1, people.chunk)
    age = _ages(rng, people)
    out = np.hypot(people.x[:, Place.HOME], people.y[:, Place.HOME]) / city.radius_km  # 0 in the middle, 1 at the edge
    occupation = _occupations(rng, people, age, out, trips)
    return pd.DataFrame(
        {
            "person": people.ids,
            "age": np.array(AGES, dtype=object)[np.searchsorted(_AGE_EDGES, age, side="right")],
            "gender": np.array(SEXES, dtype=object)[people.sex],
            "occupation": occupation,
            "car": _cars(rng, age, out, _share_driven(people, trips)),
            "home_status": _homes(rng, age, out, occupation),
        }
    ).astype("str")


def _ages(rng: np.random.Generator, people: People) -> np.ndarray:
    """Years: pupils are students, nobody works before 18, and the retired are old."""
    young, old = _YOUNGEST[people.age_band], _OLDEST[people.age_band]
    young = np.where((people.age_band == 0) & (people.occupation != STUDENT), 18, young)
    young = np.where((people.age_band == 2) & (people.occupation == _RETIRED), 58, young)
    return rng.integers(young, old + 1)


def _occupations(
    rng: np.random.Generator, people: People, age: np.ndarray, out: np.ndarray, trips: pd.DataFrame
) -> np.ndarray:
    names = np.array(OCCUPATIONS, dtype=object)[people.occupation]
    starts = trips[trips["place"] == Place.MAIN].groupby("who")["leave_min"].first()
    start = starts.reindex(np.arange(len(people)), fill_value=8 * 60).to_numpy()
    far = np.hypot(*(side[:, Place.MAIN] - side[:, Place.HOME] for side in (people.x, people.y))) > _FAR_KM
    chance = np.tile(_JOB_SHARES, (len(people), 1))
    odd = (start < _RUSH_MIN[0]) | (start > _RUSH_MIN[1])
    for holds, factor in (
        (odd, _STARTS_AT_ODD_HOURS),
        (far, _GOES_FAR),
        (out > 0.6, _LIVES_FAR_OUT),
        (age < 30, _IS_YOUNG),
    ):
        chance[holds] *= factor
    passed = np.cumsum(chance, axis=1)
    job = (passed < rng.random((len(people), 1)) * passed[:, -1:]).sum(axis=1)
    works = people.occupation == EMPLOYED
    names[works] = np.array(JOBS, dtype=object)[job[works]]
    return names


def _share_driven(people: People, trips: pd.DataFrame) -> np.ndarray:
    """Which part of a person's way was as fast as a car; nothing without trips."""
    length = np.bincount(trips["who"], trips["distance_m"], len(people))
    driven = np.bincount(trips["who"], trips["distance_m"] * (trips["mode"] == CAR), len(people))
    return np.divide(driven, length, out=np.zeros(len(people)), where=length > 0)


def _cars(rng: np.random.Generator, age: np.ndarray, out: np.ndarray, driven: np.ndarray) -> np.ndarray:
    """Those who drove, who live far out and who are neither young nor very old have a car more often."""
    leaning = -0.8 + 1.8 * out + 2.0 * driven + 0.7 * ((age >= 30) & (age < 75)) - 0.5 * (age < 25)
    has = rng.random(len(age)) < 1 / (1 + np.exp(-leaning))
    return np.where(has & (age >= 18), YES, NO)


def _homes(rng: np.random.Generator, age: np.ndarray, out: np.ndarray, occupation: np.ndarray) -> np.ndarray:
    """Owners are older and live farther out; social housing goes with low incomes."""
    social = 0.10 + 0.15 * np.isin(occupation, ("worker", "employee", "inactive"))
    owner = (1 - social) * (0.20 + 0.25 * (age >= 30) + 0.15 * (age >= 60) + 0.30 * out).clip(max=0.9)
    draw = rng.random(len(age))
    return np.select([draw < social, draw < social + owner], [SOCIAL, OWNER], TENANT)
