"""The days of a travel survey as a phone would show them (003 section 4.3.4 and appendix 7.6)."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

HOME, WORK, STUDY, SHOPPING, PERSONAL = PURPOSES = ("home", "work", "study", "shopping", "personal")
PRIMARY = frozenset((HOME, WORK, STUDY))  # one place each for a person
AGENDA_COLUMNS = ("person", "seq", "purpose", "leave_min", "mode", "distance_m")


@dataclass(frozen=True)
class Activity:
    """What somebody went to do: the trip that led there, and how long it lasted."""

    purpose: str
    leave_min: float
    mode: str
    distance_m: float
    lasts_min: float

    def joined(self, other: "Activity") -> "Activity":
        """Both as one: the purpose that matters more, the earlier start, the mode of the longer trip."""
        purpose = max(self, other, key=lambda each: (each.purpose in PRIMARY, each.lasts_min)).purpose
        longer = max(self, other, key=lambda each: each.distance_m)
        lasts = self.lasts_min + other.lasts_min
        return replace(self, purpose=purpose, mode=longer.mode, distance_m=longer.distance_m, lasts_min=lasts)

    def led_by(self, before: "Activity | None") -> "Activity":
        """This activity at the end of a way that began with an earlier trip; the mode is that of the longer one."""
        if before is None:
            return self
        longer = max(before, self, key=lambda each: each.distance_m)
        return replace(self, leave_min=before.leave_min, mode=longer.mode, distance_m=longer.distance_m)


def filtered(day: list[Activity], min_activity_min: float, min_trip_m: float) -> list[Activity]:
    """One person's activities that last, at places apart from each other, in order.

    The day begins at home. A short activity is a candidate: the trip to it belongs to the way to the next one, and a candidate that
    nothing follows is dropped. What is reached by a short trip is one activity with the one before it.
    """
    kept: list[Activity] = []
    candidate: Activity | None = None
    for each in day:
        if each.lasts_min <= min_activity_min:
            candidate = each if candidate is None else candidate.joined(each)
        elif each.distance_m > min_trip_m:
            kept.append(each.led_by(candidate))
            candidate = None
        elif candidate is not None:
            kept.append(candidate.joined(each))
            candidate = None
        elif kept:
            kept[-1] = kept[-1].joined(each)
    return _without_repeats(kept)


def _without_repeats(activities: list[Activity]) -> list[Activity]:
    """Nobody travels from home to home: consecutive activities of one primary purpose are one."""
    kept: list[Activity] = []
    for each in activities:
        before = kept[-1].purpose if kept else HOME
        if each.purpose != before or each.purpose not in PRIMARY:
            kept.append(each)
    return kept


def filter_agendas(trips: pd.DataFrame, min_activity_min: float = 20, min_trip_m: float = 100) -> pd.DataFrame:
    """Activities of every person after the filter (AGENDA_COLUMNS), from trips (person, seq, leave_min, arrive_min, purpose, mode,
    distance_m); the last activity of a day counts as one that lasts."""
    trips = trips.sort_values(["person", "seq"], ignore_index=True)
    leaves_again = trips["leave_min"].shift(-1).where(trips["person"].eq(trips["person"].shift(-1)))
    trips = trips.assign(lasts_min=(leaves_again - trips["arrive_min"]).fillna(float("inf")))
    names = ["purpose", "leave_min", "mode", "distance_m", "lasts_min"]
    every = [Activity(*each) for each in zip(*(trips[name].tolist() for name in names), strict=True)]
    firsts = np.flatnonzero(trips["person"].ne(trips["person"].shift(1)))
    rows: list[tuple[Any, ...]] = []
    for first, end in pairwise([*firsts.tolist(), len(trips)]):
        kept = filtered(every[first:end], min_activity_min, min_trip_m)
        rows += [(first, seq, a.purpose, a.leave_min, a.mode, a.distance_m) for seq, a in enumerate(kept)]
    table = pd.DataFrame(rows, columns=list(AGENDA_COLUMNS)).astype({"leave_min": "float64", "distance_m": "float64"})
    return table.assign(person=trips["person"].take(table["person"].astype("int64")).array)
