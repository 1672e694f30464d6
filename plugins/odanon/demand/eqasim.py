"""Agents as tables in the style of the eqasim pipeline (Hörl and Balac): persons.csv, activities.csv and trips.csv.

Fields are separated by semicolons, times are seconds since midnight, and an index of -1 means that there is no such trip, as there.
Times and points are those of `odanon.demand.timed`, so that the tables tell the same days as the MATSim population.

Its names, and what they hold here:

- persons: person_id, age (a class, if the census has classes), sex, socioprofessional_class (the occupation).
- activities: person_id, activity_index, commune_id, preceding_trip_index, following_trip_index, purpose, start_time, end_time, is_first,
  is_last.
- trips: person_id, trip_index, preceding_activity_index, following_activity_index, departure_time, arrival_time, mode,
  preceding_purpose, following_purpose, is_first, is_last.

Ours: car, home_status, home_zone, agent and copy of persons; zone_id, x and y of activities. The coordinate system of x and y is the
one named in the MATSim population.

Left out, because nobody modelled it: households, incomes, vehicles, driving licences, subscriptions, and who is employed. Left out on purpose:
ids of census rows and of survey respondents. Times of arrival, and so the start of activities, are a guess from distance and mode.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv

from odanon.demand.timed import NONE, Days, Travellers
from odanon.geo.crs import AUTO

_PLAIN = WriteOptions(include_header=False, delimiter=";", quoting_style="needed")  # text is quoted, numbers are not
TABLES = ("persons", "activities", "trips")
_PERSONS = {
    "person": "person_id",
    "age": "age",
    "gender": "sex",
    "occupation": "socioprofessional_class",
    "car": "car",
    "home_status": "home_status",
    "home_zone": "home_zone",
    "agent": "agent",
    "copy": "copy",
}


def write(
    activities: pd.DataFrame,
    agents: pd.DataFrame,
    zones: pd.DataFrame,
    steps: Sequence[str],
    folder: Path,
    seed: int,
    crs: str = AUTO,
) -> None:
    """Write the three tables into a folder; arguments as for the MATSim population."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        rows = {name: files.enter_context((folder / f"{name}.csv").open("wb")) for name in TABLES}
        for number, part in enumerate(tables(Travellers(activities, agents, zones, steps, seed, crs))):
            for name, table in part.items():
                if not number:
                    rows[name].write(f"{';'.join(table.columns)}\n".encode())
                write_csv(pa.Table.from_pandas(table, preserve_index=False), rows[name], _PLAIN)


def tables(travellers: Travellers) -> Iterator[dict[str, pd.DataFrame]]:
    """The three tables, some agents at a time."""
    communes = travellers.zones.set_index(travellers.zones["zone"].astype("str"))["commune"].astype("str")
    for days in travellers.parts():
        persons = days.persons[list(_PERSONS)].rename(columns=_PERSONS)
        yield {"persons": persons, "activities": _activities(days, communes), "trips": _trips(days)}


def _activities(days: Days, communes: pd.Series) -> pd.DataFrame:
    rows = days.activities
    is_first, is_last = rows["left"] == NONE, rows["end"] == NONE
    return pd.DataFrame(
        {
            "person_id": rows["person"],
            "activity_index": rows["index"],
            "zone_id": rows["zone"],
            "commune_id": rows["zone"].astype("str").map(communes),
            "preceding_trip_index": rows["index"] - 1,
            "following_trip_index": np.where(is_last, -1, rows["index"]),
            "purpose": rows["purpose"],
            "start_time": _or_nothing(rows["start"]),
            "end_time": _or_nothing(rows["end"]),
            "is_first": is_first,
            "is_last": is_last,
            "x": rows["x"],
            "y": rows["y"],
        }
    )


def _trips(days: Days) -> pd.DataFrame:
    rows = days.activities
    came_from = rows["purpose"].shift(1)
    trip = rows["left"] != NONE
    rows, came_from = rows[trip], came_from[trip]
    return pd.DataFrame(
        {
            "person_id": rows["person"],
            "trip_index": rows["index"] - 1,
            "preceding_activity_index": rows["index"] - 1,
            "following_activity_index": rows["index"],
            "departure_time": rows["left"],
            "arrival_time": rows["start"],
            "mode": rows["mode"],
            "preceding_purpose": came_from,
            "following_purpose": rows["purpose"],
            "is_first": rows["index"] == 1,
            "is_last": rows["end"] == NONE,
        }
    )


def _or_nothing(seconds: pd.Series) -> pd.Series:
    return seconds.astype("Int64").mask(seconds == NONE)
