"""What devices send, in columns, and the frame that leaves the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa

from odanon.simulate.city import People

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Records:
    """Rows of one chunk of people: GPS points hold `lat` and `lon`, antenna events hold `antenna`."""

    person: np.ndarray  # index within the chunk
    time: np.ndarray  # microseconds since 1970 (UTC)
    values: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.person)

    def take(self, rows: np.ndarray) -> "Records":
        """Rows by index or by mask."""
        return Records(self.person[rows], self.time[rows], {k: v[rows] for k, v in self.values.items()})

    def inside(self, start: datetime, end: datetime) -> np.ndarray:
        """Which rows lie within [start, end)."""
        return (self.time >= _microseconds(start)) & (self.time < _microseconds(end))


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def concat(parts: Sequence[Records]) -> Records:
    """Rows put together and sorted by person; those of one person keep the order of the parts."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    person = np.concatenate([part.person for part in parts])
    time = np.concatenate([part.time for part in parts])
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
    return Records(person, time, values).take(np.argsort(person, kind="stable"))


def person_names(people: People, records: Records) -> pa.Array:
    """Raw identifiers, one a row."""
    return pa.array(people.ids, pa.large_string()).take(pa.array(records.person))


def frame(people: People, records: Records, zone: str | None = "UTC") -> pd.DataFrame:
    """Columns person, time and the values; `zone=None` leaves the times without a zone."""
    columns = {
        "person": pd.array(person_names(people, records), dtype="str"),
        "time": pd.DatetimeIndex(records.time.view("M8[us]")).tz_localize(zone),
    }
    return pd.DataFrame(columns | records.values, copy=False)
