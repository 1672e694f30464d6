"""Sorting good points from bad: every bad row is counted under one reason (PRIVACY rule 11).

Kept + duplicates + outside the window + quarantined = read, always. The reasons are checked in the order of `REASONS`;
a row that is wrong in two ways counts under the first. The last two need a person's other points: they are
found once a bucket of people is sorted (`odanon.reading.plausible`).

A file may hold other days than the one that is read: their rows are outside the window. Only what is later than both the
window and the present is `in_the_future`.

A time without a zone, and a wall-clock time that the declared zone has twice or never (the nights on which clocks
change), cannot be placed: both count as `no_time_zone`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.reading.frames import UNREADABLE
from odanon.reading.ids import AS_WRITTEN, Spelling
from odanon.reading.origin import Sample
from odanon.reading.persons import IdKinds, with_persons

REASONS = (
    "no_person",
    "no_time",
    "no_time_zone",
    "not_finite",
    "out_of_range",
    "null_island",
    "before_2000",
    "in_the_future",
    "swapped",
    "teleport",
)
COLUMNS = ("person", "time", "lat", "lon")
_EARLIEST = np.datetime64("2000-01-01", "us")
_DAY = np.timedelta64(1, "D")
_NULL_ISLAND = 0.01  # degrees


@dataclass
class Tally:
    """Running counts of one partition: rows read, outside the window, duplicates and quarantined by reason.

    Files of neighbouring days that could not be read are counted apart; nobody knows their rows. `ids` says which kinds
    of ids the rows had, `sample` which rows they were.
    """

    read: int = 0
    outside_window: int = 0
    duplicates: int = 0
    unreadable_neighbours: int = 0
    reasons: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    ids: IdKinds = field(default_factory=IdKinds)
    sample: Sample = field(default_factory=Sample)

    @property
    def quarantined(self) -> int:
        return sum(self.reasons.values())

    @property
    def quarantined_share(self) -> float:
        """Bad rows over all rows read."""
        return self.quarantined / self.read if self.read else 0.0

    @property
    def kept(self) -> int:
        return self.read - self.outside_window - self.duplicates - self.quarantined


def validate(
    points: pd.DataFrame, start: datetime, end: datetime, tally: Tally, spelling: Spelling = AS_WRITTEN
) -> pd.DataFrame:
    """The good points of one batch inside [start, end) under canonical ids; the counts of the others go to `tally`."""
    missing = [name for name in COLUMNS if name not in points.columns]
    if missing:
        raise OdanonError(f"the source gives no column {missing[0]!r}; map it in the product file's source")
    columns = [*COLUMNS, "antenna"] if "antenna" in points.columns else list(COLUMNS)
    tally.read += len(points)
    tally.unreadable_neighbours += points.attrs.get(UNREADABLE, 0)
    if getattr(points["time"].dtype, "tz", None) is None:
        tally.reasons["no_time_zone"] += len(points)
        return points.loc[[], columns]
    points, kinds = with_persons(points, spelling)
    opens, closes = _utc(start), _utc(end)
    rows, latest = _Rows.of(points), max(closes, _utc(datetime.now(UTC))) + _DAY
    good = rows.good(latest)
    if not good.all():
        for reason, count in rows.take(~good).count_reasons(latest).items():
            tally.reasons[reason] += count
    inside = (rows.time >= opens) & (rows.time < closes)
    tally.outside_window += int((good & ~inside).sum())
    kept = good & inside
    if kept.any():
        tally.ids.add(kinds)
    return points[columns] if kept.all() else points.loc[kept, columns]


@dataclass(frozen=True)
class _Rows:
    """The columns of a batch as arrays; `named` says which rows have a person."""

    named: npt.NDArray[np.bool_]
    time: npt.NDArray[np.datetime64]
    lat: npt.NDArray[np.float64]
    lon: npt.NDArray[np.float64]

    @classmethod
    def of(cls, points: pd.DataFrame) -> "_Rows":
        lat, lon = (points[name].to_numpy(np.float64) for name in ("lat", "lon"))
        time = points["time"].dt.tz_convert(None).to_numpy("datetime64[us]")
        return cls(points["person"].notna().to_numpy(), time, lat, lon)

    def take(self, rows: npt.NDArray[np.bool_]) -> "_Rows":
        return _Rows(self.named[rows], self.time[rows], self.lat[rows], self.lon[rows])

    def good(self, latest: np.datetime64) -> npt.NDArray[np.bool_]:
        """Rows without any reason; what is not a number or not a time fails every comparison."""
        on_earth = (np.abs(self.lat) <= 90) & (np.abs(self.lon) <= 180)
        dated = (self.time >= _EARLIEST) & (self.time < latest)
        return self.named & dated & on_earth & ~on_null_island(self.lat, self.lon)

    def count_reasons(self, latest: np.datetime64) -> dict[str, int]:
        """How many rows fail each test first."""
        tests = {
            "no_person": ~self.named,
            "no_time": np.isnat(self.time),
            "not_finite": ~(np.isfinite(self.lat) & np.isfinite(self.lon)),
            "out_of_range": (np.abs(self.lat) > 90) | (np.abs(self.lon) > 180),
            "null_island": on_null_island(self.lat, self.lon),
            "before_2000": self.time < _EARLIEST,
            "in_the_future": self.time >= latest,
        }
        counts, left = {}, np.ones(len(self.lat), dtype=bool)
        for reason, bad in tests.items():
            counts[reason] = int((left & bad).sum())
            left &= ~bad
        return counts


def on_null_island(lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which positions are what devices send that know none."""
    return (np.abs(lat) < _NULL_ISLAND) & (np.abs(lon) < _NULL_ISLAND)


def _utc(instant: datetime) -> np.datetime64:
    return np.datetime64(instant.astimezone(UTC).replace(tzinfo=None), "us")
