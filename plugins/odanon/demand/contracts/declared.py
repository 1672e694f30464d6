"""What each table holds: its columns by name, text or numbers, and the numbers and words that are possible (DEMAND, The tables)."""

from dataclasses import dataclass
from typing import Literal

from odanon.demand.agendas import PURPOSES

Table = Literal["zones", "census", "survey_people", "survey_trips", "od", "commute"]

MODES = ("foot", "bicycle", "car", "public")
ROAMING = "roaming"  # a purpose: jobs without a place, whose days cannot be placed
STEPS = tuple(f"{hour:02d}:00" for hour in (0, 2, 5, 7, 8, 9, 10, 12, 14, 16, 17, 18, 19, 20, 22))  # 003 section 4.3.2
LEFT_OUT = "left_out"  # key of a frame's `attrs`: rows that are not in it, by why
PARTIAL = "partial"  # another: people of whom a row is not in it
PUBLISHED = "published"  # another: where trips come from that a product has published
_TWO_DAYS = 2 * 24 * 60  # minutes; some surveys count on after midnight


@dataclass(frozen=True)
class Text:
    """Words; with `known`, no others."""

    known: tuple[str, ...] = ()
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class Number:
    """Numbers between two limits, both included."""

    low: float = 0.0
    high: float = 1e12
    whole: bool = False
    kind: Literal["number"] = "number"


Columns = dict[str, Text | Number]

_WEIGHT = Number(1e-9)
_ATTRIBUTES: Columns = {name: Text() for name in ("age", "gender", "occupation", "car", "home_status")}

COLUMNS: dict[Table, Columns] = {
    "zones": {
        **{name: Text() for name in ("zone", "commune", "canton")},
        "lat": Number(-90, 90),
        "lon": Number(-180, 180),
    },
    "census": {"person": Text(), "weight": _WEIGHT, "home_zone": Text(), **_ATTRIBUTES},
    "survey_people": {"person": Text(), "weight": _WEIGHT, **_ATTRIBUTES, "canton": Text()},
    "survey_trips": {
        "person": Text(),
        "seq": Number(),
        "leave_min": Number(0, _TWO_DAYS),
        "arrive_min": Number(0, _TWO_DAYS),
        "purpose": Text((*PURPOSES, ROAMING)),
        "mode": Text(MODES),
        "distance_m": Number(),
    },
    "od": {"step": Number(0, 1440, whole=True), "origin": Text(), "destination": Text(), "trips": Number()},
    "commute": {"home_commune": Text(), "work_commune": Text(), "persons": Number()},
}
UNIQUE = {"zones": "zone", "census": "person", "survey_people": "person"}  # columns that tell rows apart
