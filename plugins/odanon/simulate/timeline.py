"""Ground truth as segments: each person's stays and trips, one after the other without a hole."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from odanon.simulate.city import STUDENT, City, People, Place

_PURPOSES = {
    Place.HOME: "home",
    Place.MAIN: "work",
    Place.SHOP: "shop",
    Place.MARKET: "shop",
    Place.LEISURE: "leisure",
    Place.FRIENDS: "friends",
    Place.MEAL: "meal",
    Place.STOP: "stop",
}


@dataclass(frozen=True)
class Timeline:
    """Segments sorted by person and start; a stay is a segment that goes nowhere.

    The path of a trip is a parabola: at the fraction f of its time a person is at
    start + f * (dx, dy) + 4 f (1 - f) * bow * (-dy, dx).
    """

    person: np.ndarray  # index within the chunk
    start: np.ndarray  # seconds since 1970 (UTC)
    end: np.ndarray
    moving: np.ndarray
    place: np.ndarray  # where the stay is, or where the trip goes
    x: np.ndarray  # kilometres east and north of the middle of the city
    y: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    bow: np.ndarray

    def __len__(self) -> int:
        return len(self.person)

    def take(self, rows: np.ndarray) -> "Timeline":
        return Timeline(*(getattr(self, field.name)[rows] for field in fields(self)))


def local_instant(day: date, zone: ZoneInfo, hour: int = 0) -> int:
    """Seconds since 1970 at which the clock of the zone shows this hour; right on 23 h and 25 h days."""
    return int(datetime.combine(day, time(hour), zone).timestamp())


def civil_days(start: datetime, end: datetime, zone: ZoneInfo) -> list[date]:
    """The local days that the instants [start, end) touch."""
    first = start.astimezone(zone).date()
    last = (end - timedelta(microseconds=1)).astimezone(zone).date()
    return [first + timedelta(days=i) for i in range((last - first).days + 1)]


def join(parts: Sequence[Timeline]) -> Timeline:
    """Put consecutive days together; a stay that one day ends and the next goes on with is one stay."""
    together = Timeline(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Timeline)))
    sorted_ = together.take(np.argsort(together.person, kind="stable"))
    still = ~sorted_.moving
    goes_on = (
        (sorted_.person[1:] == sorted_.person[:-1])
        & (sorted_.start[1:] == sorted_.end[:-1])
        & (sorted_.place[1:] == sorted_.place[:-1])
        & still[1:]
        & still[:-1]
    )
    first = np.flatnonzero(np.append(True, ~goes_on))
    last = np.append(first[1:], len(sorted_)) - 1
    merged = sorted_.take(first)
    merged.end[:] = sorted_.end[last]
    return merged


def true_stays(timeline: Timeline, city: City, people: People, start: int, end: int) -> pd.DataFrame:
    """Stays during [start, end) (cut to it): person, place, start, end, lat, lon."""
    rows = timeline.take(np.flatnonzero(~timeline.moving & (timeline.end > start) & (timeline.start < end)))
    lat, lon = city.to_degrees(rows.x, rows.y)
    return pd.DataFrame(
        {
            "person": _ids(people, rows),
            "place": _place_names(people, rows),
            "start": _utc(rows.start.clip(min=start)),
            "end": _utc(rows.end.clip(max=end)),
            "lat": lat,
            "lon": lon,
        }
    )


def true_trips(timeline: Timeline, city: City, people: People, start: int, end: int) -> pd.DataFrame:
    """Trips that begin and end within [start, end): times, both ends and the purpose (place reached)."""
    rows = timeline.take(np.flatnonzero(timeline.moving & (timeline.start >= start) & (timeline.end <= end)))
    o_lat, o_lon = city.to_degrees(rows.x, rows.y)
    d_lat, d_lon = city.to_degrees(rows.x + rows.dx, rows.y + rows.dy)
    return pd.DataFrame(
        {
            "person": _ids(people, rows),
            "start": _utc(rows.start),
            "end": _utc(rows.end),
            "o_lat": o_lat,
            "o_lon": o_lon,
            "d_lat": d_lat,
            "d_lon": d_lon,
            "purpose": _place_names(people, rows),
        }
    )


def _ids(people: People, rows: Timeline) -> pd.Series:
    return pd.Series(people.ids, dtype="str").take(rows.person).reset_index(drop=True)


def _place_names(people: People, rows: Timeline) -> np.ndarray:
    names = np.array([_PURPOSES[place] for place in Place], dtype=object)[rows.place]
    names[(rows.place == Place.MAIN) & (people.occupation[rows.person] == STUDENT)] = "school"
    return names


def _utc(seconds: np.ndarray) -> pd.DatetimeIndex:
    return pd.DatetimeIndex((seconds * 1_000_000).view("M8[us]")).tz_localize("UTC")
