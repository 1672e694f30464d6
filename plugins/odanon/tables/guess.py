"""Which columns of a table probably mean what, by their names and their first rows; nothing is decided here."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from odanon.tables.look import Seen

COUNTS = ("count", "counts", "cnt", "trips", "n_trips", "num_trips", "sum_trips", "total_trips", "trip_count", "flow", "flows", "volume", "n", "number",
          "journeys", "persons", "people", "commuters", "travellers", "travelers", "demand", "anzahl", "nombre")  # fmt: skip
_PEOPLE = ("person", "person_id", "user", "user_id", "uid", "userid", "traveller", "traveler", "device", "device_id", "deviceid",
           "rider", "rider_id", "subscriber", "subscriber_id", "passenger_id", "member_id", "vehicle", "vehicle_id", "agent", "agent_id", "id_person", "persid", "customer", "customer_id", "card_id", "imsi", "pseudonym")  # fmt: skip
_TIMES = ("start", "start_time", "starttime", "started_at", "departure", "departure_time", "depart", "t_start", "time", "timestamp",
          "datetime", "date", "day", "hour", "pickup_datetime", "tpep_pickup_datetime", "lpep_pickup_datetime")  # fmt: skip
_SIDES = (
    ("origin", "destination"), ("orig", "dest"), ("o", "d"), ("from", "to"), ("start", "end"), ("source", "target"),
    ("pickup", "dropoff"), ("pu", "do"), ("home", "work"), ("dep", "arr"),
)  # fmt: skip
_WHAT = (
    "",
    "zone",
    "zone_id",
    "zoneid",
    "id",
    "cell",
    "h3",
    "taz",
    "station",
    "station_id",
    "tile",
    "locationid",
    "location",
    "area",
)
_LATS, _LONS = ("lat", "latitude", "y"), ("lon", "lng", "long", "longitude", "x")
_FLOWS = 30  # rows of different pairs that are no accident
_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Guess:
    """Columns by what they probably mean; None where nothing looks like it. Coordinates are two columns."""

    origin: str | None
    destination: str | None
    person: str | None
    count: str | None
    time: str | None


def guess(seen: Seen, used: Collection[str | None] = ()) -> Guess:
    """What the names of the columns say, as far as their first rows agree; those that are used already mean nothing else."""
    origin, destination = _ends(seen)
    taken = {*used, *(name for side in (origin, destination) if side for name in side.split(","))}
    free = [name for name in seen.names if name not in taken and seen.names.count(name) == 1]
    numbers = number_columns(seen, free)
    return Guess(origin, destination, _named(free, _PEOPLE), called_as_counts(numbers), _time(seen, free))


def number_columns(seen: Seen, names: Iterable[str]) -> list[str]:
    """Those of the columns that hold numbers."""
    return [name for name in names if seen.numbers(name) is not None]


def may_count(pairs: Sequence[tuple[str, str]], numbers: Sequence[str]) -> list[str]:
    """Columns of numbers of which one may say how many trips a row stands for.

    One that is called so; or all, where no two rows at the beginning are of the same pair: so are tables of flows, and those of a few
    trips between many places, of which one had better ask too.
    """
    called = called_as_counts(numbers)
    if called is not None:
        return [called]
    return list(numbers) if len(pairs) >= _FLOWS and len(set(pairs)) == len(pairs) else []


def called_as_counts(names: Iterable[str]) -> str | None:
    """The first of some columns that is called as numbers of trips are."""
    return next(filter(_is_count, names), None)


def _is_count(name: str) -> bool:
    return _plain(str(name)) in map(_plain, COUNTS)


def person_column(free: Iterable[str]) -> str | None:
    """A column that is called as ids of people or vehicles are."""
    return _named(free, _PEOPLE)


def _ends(seen: Seen) -> tuple[str | None, str | None]:
    by_name = {_plain(name): name for name in reversed(seen.names)}
    for start, end in _SIDES:
        for what in _WHAT:
            for pattern in ("{side}{what}", "{what}{side}"):
                pair = tuple(by_name.get(_plain(pattern.format(side=side, what=what))) for side in (start, end))
                if None not in pair and not any(seen.time_formats(str(name)) for name in pair):
                    return pair[0], pair[1]
        if (places := _coordinates(by_name, start, end)) is not None:
            return places
    return None, None


def _coordinates(by_name: dict[str, str], start: str, end: str) -> tuple[str, str] | None:
    for lat, lon in zip((*_LATS, "lat", "lat"), (_LONS[0], _LONS[3], _LONS[4], "lng", "long"), strict=True):
        for pattern in ("{side}{what}", "{what}{side}"):
            ends = [
                [by_name.get(_plain(pattern.format(side=side, what=what))) for what in (lat, lon)]
                for side in (start, end)
            ]
            if all(name is not None for pair in ends for name in pair):
                first, second = (",".join(map(str, pair if lat != "y" else pair[::-1])) for pair in ends)
                return first, second
    return None


def _time(seen: Seen, free: list[str]) -> str | None:
    named = _named([name for name in free if seen.time_formats(name)], _TIMES)
    hours = [name for name in free if _plain(name) == "hour" and seen.numbers(name) is not None]
    return named or (hours[0] if hours else None)


def _named(names: Iterable[str], known: tuple[str, ...]) -> str | None:
    """The first column that has one of the known names, in their order."""
    by_name = {_plain(name): name for name in reversed(list(names))}
    return next((by_name[_plain(each)] for each in known if _plain(each) in by_name), None)


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.casefold())
