"""A small consistent set for `odanon.demand`, made by hand: six zones in three communes, four steps, four kinds of people."""

from itertools import product
from pathlib import Path

import pandas as pd

from odanon.demand.contracts import checked
from odanon.demand.stages import Inputs

STEPS = ("00:00", "06:00", "10:00", "16:00")
ZONES = ("a1", "a2", "b1", "b2", "c1", "c2")
# age, gender, occupation, car, home_status
PEOPLE = [
    ("30-59", "female", "worker", "yes", "owner"),
    ("30-59", "male", "worker", "no", "tenant"),
    ("0-17", "female", "pupil", "no", "tenant"),
    ("60+", "male", "retired", "yes", "owner"),
]
HWH = [("work", "car", 7), ("home", "car", 17)]
HWXH = [("work", "car", 7), ("shopping", "foot", 17), ("home", "car", 19)]
HSH = [("study", "foot", 8), ("home", "foot", 16)]
HXH = [("shopping", "foot", 11), ("home", "foot", 13)]
EARLY = [("shopping", "car", 7), ("home", "car", 9)]
DAYS = {"worker": [HWH, HWXH, HXH, []], "pupil": [HSH, []], "retired": [HXH, EARLY, []]}
RARE = [("personal", "bicycle", 9), ("work", "public", 12), ("home", "bicycle", 22)]  # a day that one respondent has
_ATTRIBUTES = ("age", "gender", "occupation", "car", "home_status")
YAML = """demand: town
seed: 7
steps: ["00:00", "06:00", "10:00", "16:00"]
inputs:
  zones: zones.csv
  census: census.csv
  survey_people: survey_people.csv
  survey_trips: survey_trips.csv
  od: od.csv
  commute: commute.csv
match: {min_matches: 5}
licence: "survey of the town, to be cited"
"""


def zones() -> pd.DataFrame:
    rows = [
        (zone, zone[0], "south" if zone[0] == "c" else "north", 45.7 + 0.01 * at, 4.8) for at, zone in enumerate(ZONES)
    ]
    return pd.DataFrame(rows, columns=["zone", "commune", "canton", "lat", "lon"])


def census() -> pd.DataFrame:
    rows = [(f"c{at:03d}", 10.5, zone, *who) for at, (zone, who) in enumerate(product(ZONES, PEOPLE))]
    return pd.DataFrame(rows, columns=["person", "weight", "home_zone", *_ATTRIBUTES])


def survey() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Respondents and their trips: twenty of every kind, and one with a day of their own."""
    people, trips = [], []
    days = [(who, DAYS[who[2]][at % len(DAYS[who[2]])]) for who in PEOPLE for at in range(20)]
    for at, (who, day) in enumerate([*days, (PEOPLE[0], RARE)]):
        people.append((f"s{at:03d}", 1.0 + at % 3, *who, "south" if at % 2 else "north"))
        trips += [(f"s{at:03d}", seq, 60 * hour, 60 * hour + 25, *what, 3000) for seq, (*what, hour) in enumerate(day)]
    return (
        pd.DataFrame(people, columns=["person", "weight", *_ATTRIBUTES, "canton"]),
        pd.DataFrame(trips, columns=["person", "seq", "leave_min", "arrive_min", "purpose", "mode", "distance_m"]),
    )


def od() -> pd.DataFrame:
    """Most leave in the morning and return in the evening; near zones are popular."""
    rows = [
        (step, o, d, busy * (8.0 if o == d else 6.0 if o[0] == d[0] else 1.0 + (d == "a1")))
        for step, busy in ((1, 4.0), (2, 2.0), (3, 5.0))
        for o, d in product(ZONES, ZONES)
    ]
    return pd.DataFrame(rows, columns=["step", "origin", "destination", "trips"])


def commute() -> pd.DataFrame:
    rows = [(home, work, 60.0 if home == work else 20.0) for home, work in product("abc", "abc")]
    return pd.DataFrame(rows, columns=["home_commune", "work_commune", "persons"])


def tables() -> dict[str, pd.DataFrame]:
    people, trips = survey()
    return {
        "zones": zones(),
        "census": census(),
        "survey_people": people,
        "survey_trips": trips,
        "od": od(),
        "commute": commute(),
    }


def inputs(**changed: pd.DataFrame) -> Inputs:
    """The tables as contracts give them, some of them others."""
    return Inputs(**{name: checked(name, table, name) for name, table in (tables() | changed).items()})  # type: ignore[arg-type]


def write_town(folder: Path, yaml: str = YAML, **changed: pd.DataFrame) -> Path:
    """The tables as CSV files with the file that names them, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (tables() | changed).items():
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "town.yaml").write_text(yaml)
    return folder / "town.yaml"
