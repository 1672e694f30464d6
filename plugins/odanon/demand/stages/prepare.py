"""The first stage: agents from the census, agendas from the survey as phones would show them, all of it on the same zones and steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.agendas import filter_agendas
from odanon.demand.calibrators.integers import copies
from odanon.demand.contracts import LEFT_OUT, PARTIAL, PUBLISHED, ROAMING, STEPS
from odanon.errors import OdanonError

ATTRIBUTES = ["age", "gender", "occupation", "car", "home_status"]
_MOST_AGENTS = 50_000_000
_MOST_UNKNOWN = 0.5  # of people or trips in zones that nobody knows; beyond that names do not fit
_DAY = 24 * 60  # minutes

Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The tables of `odanon.demand.contracts`."""

    zones: pd.DataFrame
    census: pd.DataFrame
    survey_people: pd.DataFrame
    survey_trips: pd.DataFrame
    od: pd.DataFrame
    commute: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the other stages work on."""

    zones: pd.DataFrame  # by name; a zone's number is its row
    agents: pd.DataFrame  # agent, attributes, home_zone, canton
    respondents: pd.DataFrame  # person, weight, attributes, canton, agenda
    agendas: pd.DataFrame  # agenda, seq, purpose, mode, step; an agenda without rows is a day at home
    od: pd.DataFrame  # step, origin, destination (numbers of zones), trips
    figures: Figures  # what was counted and left out

    @property
    def steps(self) -> int:
        return len(self.figures["steps"])


def prepare(
    inputs: Inputs,
    seed: int,
    steps: Sequence[str] = STEPS,
    min_activity_min: float = 20,
    min_trip_m: float = 100,
) -> Prepared:
    """Agents, respondents with agendas, and matrices; whatever is left out is counted.

    A census row becomes as many agents as its weight says: the whole part, and one more with the probability of the rest. The order of rows
    of no table matters.
    """
    starts = [minutes(step) for step in steps]
    if not starts or starts[0] or starts != sorted(set(starts)):
        raise OdanonError("the steps are not clock times in order from 00:00 on; write them as 00:00, 06:00, 10:00")
    zones = inputs.zones.sort_values("zone", ignore_index=True)
    agents, census = _agents(inputs.census, zones, seed)
    respondents, agendas, survey = _survey(
        inputs.survey_people, inputs.survey_trips, steps, min_activity_min, min_trip_m
    )
    od, trips = _matrices(inputs.od, zones, len(steps))
    zones_told = {"zones": len(zones), "left_out": inputs.zones.attrs.get(LEFT_OUT, {})}
    figures = {"steps": list(steps), "zones": zones_told, "census": census, "survey": survey, "od": trips}
    return Prepared(zones, agents, respondents, agendas, od, figures)


def minutes(step: str) -> int:
    """A clock time as minutes since midnight."""
    hour, minute = step.split(":")
    return 60 * int(hour) + int(minute)


def zone_numbers(names: pd.Series, zones: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The numbers of zones by name, -1 for one that is not there."""
    known = pd.Index(zones["zone"].astype("str"))
    if isinstance(names.dtype, pd.CategoricalDtype):
        number = known.get_indexer(names.cat.categories.astype("str"))
        return np.append(number, -1)[names.cat.codes.to_numpy()].astype(np.int64)
    return known.get_indexer(names.astype("str")).astype(np.int64)


def _agents(census: pd.DataFrame, zones: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, Figures]:
    told: Figures = {"rows": len(census), "left_out": dict(census.attrs.get(LEFT_OUT, {}))}
    census = census.sort_values("person", ignore_index=True)
    home = zone_numbers(census["home_zone"], zones)
    weight = census["weight"].to_numpy("float64")
    _refuse_unknown("census", "home_zone", float(weight[home < 0].sum()), float(weight.sum()))
    if unknown := int((home < 0).sum()):
        told["left_out"]["home_zone that is not in zones"] = unknown
    census, home = census[home >= 0], home[home >= 0]
    weight = census["weight"].to_numpy("float64")
    if weight.sum() > _MOST_AGENTS:
        raise OdanonError(
            f"the weights of the census add up to more than {_MOST_AGENTS:,} people; give weights that say how many people a row stands for"
        )
    times = copies(weight, seed, purpose="census")
    if not times.sum():
        raise OdanonError("the census has nobody who lives in the zones; check its weights and home_zone")
    row = np.repeat(np.arange(len(census)), times)
    agents = census[ATTRIBUTES].iloc[row].reset_index(drop=True)
    agents.insert(0, "agent", np.arange(len(row), dtype=np.int64))
    agents["home_zone"] = home[row]
    agents["canton"] = zones["canton"].take(home[row]).array
    return agents, told | {"people": float(weight.sum()), "agents": len(agents)}


def _survey(
    people: pd.DataFrame, trips: pd.DataFrame, steps: Sequence[str], min_activity_min: float, min_trip_m: float
) -> tuple[pd.DataFrame, pd.DataFrame, Figures]:
    told: Figures = {"respondents": len(people), "left_out": dict(people.attrs.get(LEFT_OUT, {}))}
    people = people.sort_values("person", ignore_index=True).assign(person=lambda rows: rows["person"].astype("str"))
    trips = trips.assign(**{name: trips[name].astype("str") for name in ("person", "purpose", "mode")})
    known = trips["person"].isin(people["person"])
    told["trips"], told["trips of nobody in survey_people"] = len(trips), int((~known).sum())
    told["trips left out"] = dict(trips.attrs.get(LEFT_OUT, {}))
    partial, trips = trips.attrs.get(PARTIAL, []), trips[known]
    for why, bad in (
        ("roaming jobs", trips.loc[trips["purpose"] == ROAMING, "person"]),
        ("days with a trip that cannot be used", pd.Series(partial, dtype="str")),
        ("days whose times contradict each other", trips.loc[_is_wrong(trips), "person"]),
    ):
        people, trips = _without(people, trips, bad, why, told)
    kept = filter_agendas(trips, min_activity_min, min_trip_m)
    starts = np.array([minutes(step) for step in steps])
    kept["step"] = np.searchsorted(starts, kept["leave_min"].to_numpy() % _DAY, side="right") - 1
    number, agendas = _numbered(people["person"], kept)
    if not len(agendas):
        raise OdanonError("no respondent of the survey travels; check survey_trips, its person column and the filter")
    told |= {
        "activities of a person": {"asked": len(trips) / len(people), "after the filter": len(kept) / len(people)},
        "people at home all day": {
            "asked": float(1 - people["person"].isin(trips["person"]).mean()),
            "after the filter": float(1 - people["person"].isin(kept["person"]).mean()),
        },
        "agendas": int(number.max()) + 1,
    }
    return people.assign(agenda=number), agendas, told


def _without(
    people: pd.DataFrame, trips: pd.DataFrame, bad: pd.Series, why: str, told: Figures
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Everybody but some: a day with a part missing is another day."""
    good = ~people["person"].isin(bad)
    if not good.all():
        told["left_out"][why] = int((~good).sum())
    if not good.any():
        raise OdanonError(f"no respondent of the survey is left ({why}); check survey_trips")
    return people[good].reset_index(drop=True), trips[~trips["person"].isin(bad)]


def _is_wrong(trips: pd.DataFrame) -> pd.Series:
    """Trips that arrive before they leave, leave before the one before arrived, or have the number of another."""
    ordered = trips.sort_values(["person", "seq"])
    same = ordered["person"].eq(ordered["person"].shift(1))
    late = same & (ordered["leave_min"] < ordered["arrive_min"].shift(1))
    twice = same & ordered["seq"].eq(ordered["seq"].shift(1))
    return (late | twice | (ordered["arrive_min"] < ordered["leave_min"])).reindex(trips.index)


def _numbered(people: pd.Series, kept: pd.DataFrame) -> tuple[npt.NDArray[np.int64], pd.DataFrame]:
    """The number of each person's agenda (purposes, modes and steps), and the activities of every agenda, in the order of these."""
    days: dict[str, list[tuple[str, str, int]]] = {}
    for person, *activity in kept[["person", "purpose", "mode", "step"]].itertuples(index=False):
        days.setdefault(person, []).append((activity[0], activity[1], activity[2]))
    mine = [tuple(days.get(person, ())) for person in people]
    every = sorted(set(mine), key=lambda day: (len(day), day))
    number = {day: at for at, day in enumerate(every)}
    rows = [(at, seq, *activity) for at, day in enumerate(every) for seq, activity in enumerate(day)]
    table = pd.DataFrame(rows, columns=["agenda", "seq", "purpose", "mode", "step"])
    return np.array([number[day] for day in mine], np.int64), table


def _matrices(od: pd.DataFrame, zones: pd.DataFrame, steps: int) -> tuple[pd.DataFrame, Figures]:
    told: Figures = {"rows": len(od), "left_out": dict(od.attrs.get(LEFT_OUT, {}))}
    if PUBLISHED in od.attrs:
        told[PUBLISHED] = od.attrs[PUBLISHED]
    if (od["step"] >= steps).any():
        raise OdanonError(
            f"od has steps up to {int(od['step'].max())} and there are {steps}, numbered from 0; correct its steps, or list those of the"
            " matrices under steps"
        )
    ends = {side: zone_numbers(od[side], zones) for side in ("origin", "destination")}
    inside, trips = (ends["origin"] >= 0) & (ends["destination"] >= 0), od["trips"].to_numpy("float64")
    _refuse_unknown("od", "origin and destination", float(trips[~inside].sum()), float(trips.sum()))
    if outside := int((~inside).sum()):
        told["left_out"]["zones that are not in zones"] = outside
    made = pd.DataFrame({"step": od["step"], **ends, "trips": trips})[inside & (trips > 0)]
    made = made.sort_values(["step", "origin", "destination", "trips"])  # sums depend on the order of what is added
    made = made.groupby(["step", "origin", "destination"], as_index=False)["trips"].sum()
    if made.empty:
        raise OdanonError("od has no trips; check its column trips")
    return made, told | {
        "trips": float(made["trips"].sum()),
        "share outside": float(1 - trips[inside].sum() / trips.sum()),
        "steps without trips": sorted({*range(steps)} - {*made["step"].tolist()}),
    }


def _refuse_unknown(table: str, column: str, unknown: float, every: float) -> None:
    if unknown > _MOST_UNKNOWN * every:
        raise OdanonError(
            f"{unknown / every:.0%} of {table} have no {column} among the zones; name zones alike, or map the names with"
            f" values under inputs.{table}"
        )
