"""Sorting good points from bad: every bad row is counted under one reason (PRIVACY rule 11).

Kept + duplicates + outside the window + quarantined = read, always. The reasons are checked in the order of `REASONS`; a row that is wrong in
two ways counts under the first.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from odanon.errors import OdanonError

REASONS = (
    "no_person",
    "no_time",
    "no_time_zone",
    "not_finite",
    "out_of_range",
    "null_island",
    "before_2000",
    "in_the_future",
)
COLUMNS = ("person", "time", "lat", "lon")
_EARLIEST = pd.Timestamp("2000-01-01", tz="UTC")


@dataclass
class Tally:
    """Running counts of one partition: rows read, outside the window, duplicates and quarantined by reason."""

    read: int = 0
    outside_window: int = 0
    duplicates: int = 0
    reasons: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))

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


def validate(points: pd.DataFrame, start: datetime, end: datetime, tally: Tally) -> pd.DataFrame:
    """The good points of one batch inside [start, end), and the counts of the others added to `tally`."""
    missing = [name for name in COLUMNS if name not in points.columns]
    if missing:
        raise OdanonError(f"the source gives no column {missing[0]!r}; map it in the product file's source")
    if getattr(points["time"].dtype, "tz", None) is None:
        tally.read += len(points)
        tally.reasons["no_time_zone"] += len(points)
        return points.loc[[], list(COLUMNS)]
    reason = _first_reason(points, pd.Timestamp(end) + timedelta(days=1))
    inside = (points["time"] >= start) & (points["time"] < end)
    tally.read += len(points)
    tally.outside_window += int(((reason < 0) & ~inside.to_numpy()).sum())
    for code, count in enumerate(np.bincount(reason[reason >= 0], minlength=len(REASONS))):
        tally.reasons[REASONS[code]] += int(count)
    return points.loc[(reason < 0) & inside.to_numpy(), list(COLUMNS)]


def _first_reason(points: pd.DataFrame, latest: pd.Timestamp) -> np.ndarray:
    """Per row the index of the first reason that applies, -1 for a good row."""
    lat, lon = points["lat"].to_numpy(np.float64), points["lon"].to_numpy(np.float64)
    with np.errstate(invalid="ignore"):
        tests = (
            points["person"].isna().to_numpy() | (points["person"] == "").to_numpy(bool),
            points["time"].isna().to_numpy(),
            np.zeros(len(points), dtype=bool),  # no_time_zone concerns whole batches
            ~(np.isfinite(lat) & np.isfinite(lon)),
            (np.abs(lat) > 90) | (np.abs(lon) > 180),
            (np.abs(lat) < 0.01) & (np.abs(lon) < 0.01),
            (points["time"] < _EARLIEST).to_numpy(bool),
            (points["time"] >= latest).to_numpy(bool),
        )
    reason = np.full(len(points), -1)
    for code in reversed(range(len(tests))):
        reason[tests[code]] = code
    return reason
