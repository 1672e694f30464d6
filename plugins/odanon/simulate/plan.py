"""Days as people live them: from 04:00 to 04:00 local time, from home through the day and home again.

A day is a row of slots, each filled or not: home, a short stop on the way, work (or an errand), lunch
(or a pause at home), work again (or another errand), an errand, home, an evening out, home.
"""

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from odanon.simulate.city import EMPLOYED, STUDENT, City, People, Place, Stream
from odanon.simulate.timeline import Timeline, join, local_instant

DAY_STARTS = 4  # o'clock, local time: everyone is at home

_SLOTS = 9
_START, _STOP, _MAIN, _PAUSE, _AGAIN, _ERRAND, _BACK, _EVENING, _NIGHT = range(_SLOTS)
_SECONDARY = np.array([Place.SHOP, Place.MARKET, Place.LEISURE, Place.FRIENDS])
_MINUTE, _HOUR = 60.0, 3600.0
_LAST_RETURN_S = 20 * _MINUTE  # before the day ends
_SATURDAY = 5
_FRIDAY = 4


@dataclass
class _Agenda:
    """What each person means to do: (people, slots) arrays; times in seconds after 04:00."""

    filled: np.ndarray
    place: np.ndarray
    least: np.ndarray  # shortest duration
    until: np.ndarray  # leave at this time of day, or later if `least` asks for it


@dataclass
class _Course:
    """What each person then does: (people, slots) arrays of the trip to each slot and the stay in it."""

    went: np.ndarray
    depart: np.ndarray  # seconds after 04:00, as arrive and leave
    arrive: np.ndarray
    leave: np.ndarray
    dx: np.ndarray  # kilometres
    dy: np.ndarray
    bow: np.ndarray


def timeline(city: City, people: People, first: date, last: date) -> Timeline:
    """All segments that touch the civil days first..last (and the rest of their plan-days)."""
    days = [first + timedelta(days=i) for i in range(-1, (last - first).days + 1)]
    return join([plan_day(city, people, day) for day in days])


def plan_day(city: City, people: People, day: date) -> Timeline:
    """The stays and trips of one chunk of people from 04:00 of `day` to 04:00 of the next."""
    rng = city.rng(Stream.PLAN, people.chunk, day.toordinal())
    opens = local_instant(day, city.zone, DAY_STARTS)
    length = local_instant(day + timedelta(days=1), city.zone, DAY_STARTS) - opens
    agenda = _agenda(rng, people, day.weekday())
    return _segments(people, agenda.place, _walk(rng, people, agenda, length), opens)


def _agenda(rng: np.random.Generator, people: People, weekday: int) -> _Agenda:
    n, weekend = len(people), weekday >= _SATURDAY
    busy = _has_main_day(rng, people, weekend)
    free = ~busy & (rng.random(n) < (0.75 if weekend else 0.88))
    place = np.full((n, _SLOTS), Place.HOME)
    filled = np.zeros((n, _SLOTS), bool)

    filled[:, _STOP] = (busy | free) & (rng.random(n) < 0.10)
    filled[:, _MAIN] = busy | free
    filled[:, _PAUSE] = (busy & (rng.random(n) < 0.35)) | (free & (rng.random(n) < 0.5))
    another = free & (rng.random(n) < 0.35)
    filled[:, _AGAIN] = filled[:, _PAUSE] | another
    filled[:, _ERRAND] = busy & (rng.random(n) < 0.4)
    filled[:, _EVENING] = rng.random(n) < (0.35 if weekday in (_FRIDAY, _SATURDAY) else 0.22)
    filled[:, _BACK] = filled[:, _EVENING] & filled[:, _MAIN]
    filled[:, _NIGHT] = filled.any(axis=1)

    errand = rng.integers(0, len(_SECONDARY), n)
    other = (errand + rng.integers(1, len(_SECONDARY), n)) % len(_SECONDARY)
    place[:, _STOP] = Place.STOP
    place[:, _MAIN] = np.where(busy, Place.MAIN, _SECONDARY[errand])
    place[:, _PAUSE] = np.where(busy, Place.MEAL, Place.HOME)
    place[:, _AGAIN] = np.where(busy, Place.MAIN, _SECONDARY[other])
    place[:, _ERRAND] = _SECONDARY[errand]
    place[:, _EVENING] = np.where(rng.random(n) < 0.6, Place.LEISURE, Place.FRIENDS)
    return _Agenda(filled, place, _durations(rng, busy, filled), _departures(rng, people, busy, filled, weekend))


def _has_main_day(rng: np.random.Generator, people: People, weekend: bool) -> np.ndarray:
    """Who goes to work or to school on this day."""
    share = np.zeros(len(people))
    share[people.occupation == EMPLOYED] = 0.12 if weekend else 0.86
    share[people.occupation == STUDENT] = 0.0 if weekend else 0.92
    return rng.random(len(people)) < share


def _durations(rng: np.random.Generator, busy: np.ndarray, filled: np.ndarray) -> np.ndarray:
    """Shortest durations in seconds: work in hours, visits log-normal, stops below ten minutes."""
    n = len(busy)
    least = np.zeros((n, _SLOTS))
    part_time = rng.random(n) < 0.15
    worked = rng.normal(np.where(part_time, 4.5, 8.3), 0.9).clip(2, 13) * _HOUR
    visit = (rng.lognormal(np.log(60), 0.6, (2, n)) * _MINUTE).clip(20 * _MINUTE, 5 * _HOUR)
    least[:, _STOP] = rng.uniform(2, 8, n) * _MINUTE
    least[:, _MAIN] = np.where(busy, np.where(filled[:, _PAUSE], 1.5 * _HOUR, worked), visit[0])
    least[:, _PAUSE] = np.where(busy, rng.uniform(30, 75, n) * _MINUTE, rng.uniform(1, 4, n) * _HOUR)
    least[:, _AGAIN] = np.where(busy, worked * 0.55, visit[1])
    least[:, _ERRAND] = (rng.lognormal(np.log(40), 0.5, n) * _MINUTE).clip(20 * _MINUTE, 3 * _HOUR)
    least[:, _BACK] = 25 * _MINUTE
    least[:, _EVENING] = (rng.lognormal(np.log(130), 0.5, n) * _MINUTE).clip(30 * _MINUTE, 7 * _HOUR)
    return least


def _departures(
    rng: np.random.Generator, people: People, busy: np.ndarray, filled: np.ndarray, weekend: bool
) -> np.ndarray:
    """Times of day that pull: peaks with heavy tails, and a share of early, late and shift departures."""
    n = len(busy)
    peak = np.where(rng.random(n) < 0.6, _clock(10), _clock(14.5))
    free = rng.laplace(peak + _HOUR * weekend, 1.0 * _HOUR)
    rush = rng.laplace(np.where(people.occupation == STUDENT, _clock(7.7), _clock(7.9)), 0.5 * _HOUR)
    shift = rng.uniform(_clock(4.7), _clock(14), n)
    main = np.where(rng.random(n) < 0.12, shift, rush)
    evening = rng.laplace(_clock(19.3), 0.7 * _HOUR, n)
    until = np.zeros((n, _SLOTS))
    until[:, _START] = np.where(busy, main, np.where(filled[:, _MAIN], free, evening))
    until[:, _START] = until[:, _START].clip(0.4 * _HOUR, 18 * _HOUR)
    until[:, _MAIN] = np.where(busy & filled[:, _PAUSE], rng.normal(_clock(12.3), 0.35 * _HOUR, n), 0)
    until[:, _BACK] = evening
    return until


def _clock(hour: float) -> float:
    """Seconds after 04:00 at which the clock shows `hour`."""
    return (hour - DAY_STARTS) * _HOUR


def _walk(rng: np.random.Generator, people: People, agenda: _Agenda, length: int) -> _Course:
    """Go through the slots; a person whose day would not end at home in time stays at home instead."""
    n = len(people)
    rows = np.arange(n)
    depart, arrive, leave, dx, dy = np.zeros((5, n, _SLOTS))
    bow = rng.uniform(0.05, 0.3, (n, _SLOTS)) * rng.choice([-1.0, 1.0], (n, _SLOTS))
    leave[:, _START] = np.floor(agenda.until[:, _START])
    here, now = np.full(n, int(Place.HOME)), leave[:, _START]
    for slot in range(1, _SLOTS):
        there, goes = agenda.place[:, slot], agenda.filled[:, slot]
        dx[:, slot] = people.x[rows, there] - people.x[rows, here]
        dy[:, slot] = people.y[rows, there] - people.y[rows, here]
        depart[:, slot] = now
        arrive[:, slot] = now + _travel_time(rng, np.hypot(dx[:, slot], dy[:, slot]), bow[:, slot])
        stays_until = np.maximum(arrive[:, slot] + agenda.least[:, slot], agenda.until[:, slot])
        leave[:, slot] = np.floor(stays_until)
        now = np.where(goes, leave[:, slot], now)
        here = np.where(goes, there, here)
    went = agenda.filled & (arrive[:, _NIGHT] <= length - _LAST_RETURN_S)[:, None]
    leave[:, _NIGHT] = length
    leave[~went[:, _NIGHT], _START] = length
    return _Course(went, depart, arrive, leave, dx, dy, bow)


def _segments(people: People, place: np.ndarray, course: _Course, opens: int) -> Timeline:
    """Columns alternate trip, stay, trip, stay; read row by row they are segments in the order of time."""
    n = len(people)
    rows = np.repeat(np.arange(n), _SLOTS).reshape(n, _SLOTS)
    stays = course.went | (np.arange(_SLOTS) == _START)
    there_x, there_y = people.x[rows, place], people.y[rows, place]
    none = np.zeros((n, _SLOTS))
    columns = {
        "person": _pair(rows, rows),
        "start": opens + _pair(course.depart, course.arrive).astype(np.int64),
        "end": opens + _pair(course.arrive, course.leave).astype(np.int64),
        "moving": _pair(course.went, np.zeros_like(stays)),
        "place": _pair(place, place),
        "x": _pair(there_x - course.dx, there_x),
        "y": _pair(there_y - course.dy, there_y),
        "dx": _pair(course.dx, none),
        "dy": _pair(course.dy, none),
        "bow": _pair(course.bow, none),
    }
    exists = _pair(course.went, stays)
    return Timeline(**{name: values[exists] for name, values in columns.items()})


def _pair(trips: np.ndarray, stays: np.ndarray) -> np.ndarray:
    return np.stack([trips, stays], axis=2).reshape(len(trips), -1)


def _travel_time(rng: np.random.Generator, distance: np.ndarray, bow: np.ndarray) -> np.ndarray:
    """Whole seconds door to door: on foot when near, else by bicycle, public transport or car."""
    n = len(distance)
    draw = rng.random(n)
    car = np.minimum(20 + 1.8 * distance, 70)
    near = np.select([draw < 0.4, draw < 0.65], [4.8, 14.0], 18.0)
    far = np.select([draw < 0.08, draw < 0.4], [14.0, 19.0], car)
    speed = np.select([distance < 0.8, distance < 3], [4.8, near], far) * rng.lognormal(0, 0.12, n)
    length = distance * (1 + 8 / 3 * bow**2)  # of a shallow parabola
    return np.ceil(length / speed * _HOUR + 30)
