"""Homes and workplaces: where a person is at night on most days, and elsewhere during working hours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

HOME_WORK_COLUMNS = ("person", "home_lat", "home_lon", "home_days", "work_lat", "work_lon", "work_days")


@dataclass(frozen=True)
class Hours:
    """A span of the local clock, over midnight when it ends before it starts."""

    start: time
    end: time

    def on(self, day: date, zone: ZoneInfo) -> tuple[pd.Timestamp, pd.Timestamp]:
        """The instants of the span that starts on a day."""
        last = day if self.end > self.start else day + timedelta(days=1)
        moments = datetime.combine(day, self.start, zone), datetime.combine(last, self.end, zone)
        return pd.Timestamp(moments[0]).tz_convert("UTC"), pd.Timestamp(moments[1]).tz_convert("UTC")


def home_work(
    stays: pd.DataFrame,
    zone: ZoneInfo,
    *,
    night: Hours,
    work: Hours,
    min_stay: timedelta,
    min_days: int,
    is_working: Callable[[date], bool],
) -> pd.DataFrame:
    """Home and workplace of every person of `stays` (columns person, place, start, end, lat, lon); NaN where unknown.

    A night counts for a place where the person spends at least `min_stay` of it. Home is the place with most such
    nights, then most time, and needs `min_days` of them; work is the place other than home chosen in the same
    way by the working hours of working days. A place lies at the mean of its stays, weighted by their duration.
    """
    people = pd.DataFrame({"person": np.unique(stays["person"].to_numpy())})
    days = _local_days(stays, zone)
    nights = _time_at_places(stays, [night.on(day, zone) for day in days])
    home = _most_days(nights, min_stay, min_days)
    shifts = _time_at_places(stays, [work.on(day, zone) for day in days if is_working(day)])
    shifts = shifts[~pd.MultiIndex.from_frame(shifts[["person", "place"]]).isin(_keys(home))]
    position = _positions(stays)
    for name, chosen in (("home", home), ("work", _most_days(shifts, min_stay, min_days))):
        found = chosen.join(position, on=["person", "place"]).set_index("person")[["lat", "lon", "days"]]
        people = people.join(found.add_prefix(f"{name}_"), on="person")
    return people[list(HOME_WORK_COLUMNS)]


def _local_days(stays: pd.DataFrame, zone: ZoneInfo) -> list[date]:
    """All local dates whose night or day may overlap a stay."""
    if stays.empty:
        return []
    first = stays["start"].min().tz_convert(zone).date() - timedelta(days=1)
    last = stays["end"].max().tz_convert(zone).date()
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def _time_at_places(stays: pd.DataFrame, spans: list[tuple[pd.Timestamp, pd.Timestamp]]) -> pd.DataFrame:
    """Seconds of each span that a person spent at a place: person, place, span, seconds."""
    parts = list(_overlaps(stays, spans))
    if not parts:
        return pd.DataFrame({"person": [], "place": [], "span": [], "seconds": []}, dtype=np.int64)
    return pd.concat(parts).groupby(["person", "place", "span"], sort=True)["seconds"].sum().reset_index()


def _overlaps(stays: pd.DataFrame, spans: list[tuple[pd.Timestamp, pd.Timestamp]]) -> Iterator[pd.DataFrame]:
    for number, (start, end) in enumerate(spans):
        touching = stays[(stays["start"] < end) & (stays["end"] > start)]
        seconds = (touching["end"].clip(upper=end) - touching["start"].clip(lower=start)) // pd.Timedelta("1s")
        yield touching[["person", "place"]].assign(span=number, seconds=seconds.astype(np.int64))


def _most_days(time_at: pd.DataFrame, min_stay: timedelta, min_days: int) -> pd.DataFrame:
    """For each person the place with most spans that count: person, place, days."""
    counting = time_at[time_at["seconds"] >= min_stay.total_seconds()]
    ranked = counting.groupby(["person", "place"], sort=True)["seconds"].agg(days="count", total="sum").reset_index()
    ranked = ranked[ranked["days"] >= min_days]
    order = np.lexsort([ranked["place"], -ranked["total"], -ranked["days"], ranked["person"]])
    best = ranked.iloc[order].drop_duplicates("person")
    return best[["person", "place", "days"]]


def _positions(stays: pd.DataFrame) -> pd.DataFrame:
    """Mean latitude and longitude of places, indexed by person and place."""
    seconds = (stays["end"] - stays["start"]) / pd.Timedelta("1s") + 1.0
    moments = pd.DataFrame(
        {
            "person": stays["person"],
            "place": stays["place"],
            "seconds": seconds,
            "lat": stays["lat"] * seconds,
            "lon": stays["lon"] * seconds,
        }
    )
    sums = moments.groupby(["person", "place"], sort=True).sum()
    return sums[["lat", "lon"]].div(sums["seconds"], axis=0)


def _keys(places: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(places[["person", "place"]])
