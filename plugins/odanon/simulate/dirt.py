"""Bad rows of every kind that PRIVACY rule 11 names, added to good data.

Dirt is extra: each bad row is a spoiled copy of a good one, which stays. So cleaning soiled data must give back
the data without dirt, and the number of bad rows of each kind is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from odanon.simulate.records import Records

STAMP_KINDS = ("naive", "future", "epoch_1970", "duplicate")
POINT_KINDS = (*STAMP_KINDS, "nan", "infinite", "out_of_range", "null_island", "swapped", "teleport")
EVENT_KINDS = (*STAMP_KINDS, "no_antenna", "unknown_antenna")

_DAY_US = 86_400_000_000
_YEAR_US = 365 * _DAY_US


@dataclass(frozen=True)
class Dirt:
    """Bad rows, the kind of each (a name), and the index of the good row each was copied from."""

    rows: Records
    kind: np.ndarray
    source: np.ndarray

    def take(self, rows: np.ndarray) -> "Dirt":
        return Dirt(self.rows.take(rows), self.kind[rows], self.source[rows])

    def split(self) -> tuple[Records, Records]:
        """(rows whose time is UTC, rows whose time is a wall clock without zone)."""
        naive = self.kind == "naive"
        return self.rows.take(~naive), self.rows.take(naive)


def soil_points(rng: np.random.Generator, points: Records, share: float, zone: ZoneInfo) -> Dirt:
    """Spoiled copies of GPS points, `share` of them for each good point."""
    dirt = _copies(rng, points, share, zone, POINT_KINDS)
    lat, lon, n = dirt.rows.values["lat"], dirt.rows.values["lon"], len(dirt.rows)
    east = rng.random(n) < 0.5
    beyond = rng.uniform(1, 90, n)
    sign = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    # Towards the equator and never less than 5 degrees, so that the place is possible and the speed is not.
    leap_lat = -np.where(lat < 0, -1, 1) * rng.uniform(5, 15, n)
    leap_lon = sign * rng.uniform(0, 5, n)
    cases: dict[str, tuple[np.ndarray | float, np.ndarray | float]] = {
        "nan": (np.where(east, lat, np.nan), np.where(east, np.nan, lon)),
        "infinite": (np.where(east, lat, sign * np.inf), np.where(east, sign * np.inf, lon)),
        "out_of_range": (np.where(east, lat, sign * (90 + beyond)), np.where(east, sign * (180 + beyond), lon)),
        "null_island": (0.0, 0.0),
        "swapped": (lon, lat),
        "teleport": (lat + leap_lat, lon + leap_lon),
    }
    which = [dirt.kind == kind for kind in cases]
    dirt.rows.values["lat"] = np.select(which, [bad_lat for bad_lat, _ in cases.values()], lat)
    dirt.rows.values["lon"] = np.select(which, [bad_lon for _, bad_lon in cases.values()], lon)
    return dirt


def soil_events(rng: np.random.Generator, events: Records, share: float, zone: ZoneInfo, towers: int) -> Dirt:
    """Spoiled copies of antenna events: antenna -1 is missing, a number from `towers` on is in no table."""
    dirt = _copies(rng, events, share, zone, EVENT_KINDS)
    antenna = dirt.rows.values["antenna"]
    antenna[dirt.kind == "no_antenna"] = -1
    unknown = dirt.kind == "unknown_antenna"
    antenna[unknown] = towers + rng.integers(0, towers, int(unknown.sum()))
    return dirt


def _copies(rng: np.random.Generator, rows: Records, share: float, zone: ZoneInfo, kinds: Sequence[str]) -> Dirt:
    """Copies of random rows with a kind each; those whose kind concerns the time have it spoiled."""
    count = rng.binomial(len(rows), share)
    source = np.sort(rng.integers(0, max(len(rows), 1), count))
    kind = np.array(kinds)[rng.integers(0, len(kinds), count)]
    copies = rows.take(source)
    wall_clock = pd.DatetimeIndex(copies.time.view("M8[us]")).tz_localize("UTC").tz_convert(zone).tz_localize(None)
    cases = {
        "naive": wall_clock.to_numpy().view(np.int64),
        "future": copies.time + rng.integers(20, 60, count) * _YEAR_US,
        "epoch_1970": rng.integers(0, _DAY_US, count),
        "teleport": copies.time + 1_000_000,
    }
    time = np.select([kind == name for name in cases], list(cases.values()), copies.time)
    return Dirt(Records(copies.person, time, copies.values), kind, source)
