"""Agents as a MATSim population (population_v6): one person for each copy of an agent, with one plan.

The file is written person by person, packed, and has the same bytes for the same agents and seed. Times and points are those of
`odanon.demand.timed`. Legs have no travel time and no route: MATSim finds both on its network.
"""

import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

from odanon.demand.timed import NONE, Days, Travellers
from odanon.geo.crs import AUTO

STATEMENT = (
    "Synthetic travellers: made from a census, a travel survey and matrices of trips. Agents copy the days of survey respondents;"
    " they are not anonymous data, and not observations of anybody."
)
_HEAD = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE population SYSTEM "http://www.matsim.org/files/dtd/population_v6.dtd">
"""
_SEX = {"male": "m", "female": "f"}  # MATSim's words
_CAR = {"yes": "always", "no": "never"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LARGEST = 2**31 - 1  # whole number that Java reads as such
_LEVEL = 6  # of packing, fixed, since bytes depend on it


def write(
    activities: pd.DataFrame,
    agents: pd.DataFrame,
    zones: pd.DataFrame,
    steps: Sequence[str],
    path: Path,
    seed: int,
    licence: str,
    crs: str = AUTO,
) -> None:
    """Write `population.xml.gz`; `licence` is what must be said of the survey, `crs` a projected one or `auto` for the UTM zone."""
    travellers = Travellers(activities, agents, zones, steps, seed, crs)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
        for text in population(travellers, licence):
            packed.write(text.encode())


def population(travellers: Travellers, licence: str) -> Iterator[str]:
    """The text of the file, some agents at a time."""
    told = {
        "coordinateReferenceSystem": travellers.crs,
        "licence": licence,
        "seed": travellers.seed,
        "statement": STATEMENT,
    }
    yield f"{_HEAD}<population>\n{_attributes(told)}"
    for days in travellers.parts():
        yield "".join(_persons(days))
    yield "</population>\n"


def _persons(days: Days) -> Iterator[str]:
    heads = _heads(days.persons)
    ends = days.activities.groupby("person", sort=True).size().cumsum().tolist()
    elements = _elements(days.activities)
    since = 0
    for person, head, until in zip(days.persons["person"].tolist(), heads, ends, strict=True):
        plan = "".join(elements[since:until])
        yield f'<person id="{person}">\n{head}<plan selected="yes">\n{plan}</plan>\n</person>\n'
        since = until


def _heads(persons: pd.DataFrame) -> list[str]:
    """What is told of each person; many are alike, so that each text is made once."""
    whole = pd.api.types.is_integer_dtype(
        persons["age"]
    )  # MATSim knows age in years; a class of ages has a name of its own

    @cache
    def head(age: Any, gender: str, occupation: str, car: str, home_status: str, home_zone: str) -> str:
        told = {
            "age" if whole else "ageClass": age,
            "sex": _SEX.get(gender, gender),
            "occupation": occupation,
            "carAvail": _CAR.get(car, car),
            "homeStatus": home_status,
            "homeZone": home_zone,
        }
        return _attributes(told)

    columns = ("age", "gender", "occupation", "car", "home_status", "home_zone")
    return [head(*row) for row in zip(*(persons[name].tolist() for name in columns), strict=True)]


def _elements(activities: pd.DataFrame) -> list[str]:
    """Each activity, with the leg that leads there."""
    columns = (activities[name].tolist() for name in ("purpose", "mode", "x", "y", "left", "end"))
    return [
        _leg(mode, left) + _activity(purpose, x, y, end)
        for purpose, mode, x, y, left, end in zip(*columns, strict=True)
    ]


def _leg(mode: str, left: int) -> str:
    return "" if left == NONE else f'<leg mode="{mode}" dep_time="{clock(left)}"/>\n'


def _activity(purpose: str, x: float, y: float, end: int) -> str:
    until = "" if end == NONE else f' end_time="{clock(end)}"'
    return f'<activity type="{purpose}" x="{x:.2f}" y="{y:.2f}"{until}/>\n'


def _attributes(told: dict[str, Any]) -> str:
    rows = "".join(_attribute(name, value) for name, value in told.items())
    return f"<attributes>\n{rows}</attributes>\n"


def _attribute(name: str, value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST
    kind = "java.lang.Integer" if whole else "java.lang.String"
    return f"<attribute name={quoteattr(name)} class={quoteattr(kind)}>{escape(_NOT_XML.sub('', str(value)))}</attribute>\n"


@cache
def clock(second: int) -> str:
    """A time of the day as MATSim writes it; hours run on after midnight."""
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
