"""What the page of a demand shows, summed up from agents, their activities and what they were made from (003 sections 4.5 and 5.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.crs import local_crs, to_metres

Floats = npt.NDArray[np.float64]

PROFILE = ("age", "gender", "occupation", "car")
SHARES = ("od", "survey", "before", "after")
_PERSON = ["agent", "copy"]
_LENGTHS = np.linspace(
    0, 0.99, 45
)  # shares of trips at which the curve of lengths is told; the longest would flatten it


@dataclass(frozen=True, eq=False)
class DemandTables:
    """The tables of the page; `demand_tables` makes them.

    `shares`: a row a time step, the share of a day's trips in it of SHARES (matrices, survey, agents before and after calibration).
    `pairs`: origin, destination, od and agents, shares of all trips. `profiles`: profile, census and agents, people. `lengths`: of, km and
    passed, the share of trips that are as long at most. `activities`: zone, purpose, number. `zones`: zone, commune, geometry or none.
    `figures`: by the names of `odanon.report.demand.FIGURES`.
    """

    steps: Sequence[str]
    shares: pd.DataFrame
    pairs: pd.DataFrame
    profiles: pd.DataFrame
    lengths: pd.DataFrame
    activities: pd.DataFrame
    zones: pd.DataFrame
    figures: Mapping[str, float]


def demand_tables(
    *,
    steps: Sequence[str],
    agents: pd.DataFrame,
    activities: pd.DataFrame,
    zones: pd.DataFrame,
    od: pd.DataFrame,
    census: pd.DataFrame,
    survey_people: pd.DataFrame,
    agendas: pd.DataFrame,
    figures: Mapping[str, float],
) -> DemandTables:
    """Sums of the tables of a demand, with the columns that its files have.

    `agendas` are the days of the survey after the filter, one row a trip: person and step. Agents before calibration are those of `agents`, by
    `weight` where they have one, each with the day of its donor. `figures` are those that only the makers know, such as the fit.
    """
    trips = trips_of(activities)
    shares = _shares(len(steps), trips, od, survey_people, agendas, agents)
    pairs = _pairs(trips, od)
    profiles = _profiles(agents, census)
    lengths = {name: _lengths(pairs, name, zones) for name in ("od", "agents")}
    persons = int(agents["copies"].sum())
    own = {
        "persons": persons,
        "trips": len(trips),
        "trips_per_person": len(trips) / persons if persons else float("nan"),
        "stay_home": 1 - len(trips[_PERSON].drop_duplicates()) / persons if persons else float("nan"),
        "gap_before": _moved(shares["before"], shares["od"]),
        "gap_after": _moved(shares["after"], shares["od"]),
        "gap_profiles": _moved(profiles["agents"], profiles["census"]),
        "static_od": _static(pairs, "od"),
        "static_agents": _static(pairs, "agents"),
        "unseen": float(pairs.loc[pairs["od"] == 0, "agents"].sum()),
    }
    placed = activities.groupby(["zone", "purpose"], observed=True).size().rename("number").reset_index()
    curves = pd.concat([table.assign(of=name) for name, table in lengths.items()], ignore_index=True)
    return DemandTables(steps, shares, pairs, profiles, curves, placed, zones, own | dict(figures))


def trips_of(activities: pd.DataFrame) -> pd.DataFrame:
    """agent, copy, step, origin and destination of every trip, from activities in any order."""
    ordered = activities.sort_values([*_PERSON, "seq"], ignore_index=True)
    came_from = ordered.groupby(_PERSON)["zone"].shift(1)
    made = ordered[[*_PERSON, "step"]].assign(origin=came_from, destination=ordered["zone"])
    return made[came_from.notna()].reset_index(drop=True)


def _shares(
    steps: int,
    trips: pd.DataFrame,
    od: pd.DataFrame,
    survey_people: pd.DataFrame,
    agendas: pd.DataFrame,
    agents: pd.DataFrame,
) -> pd.DataFrame:
    weight = survey_people.set_index("person")["weight"]
    agent_weight = agents["weight"] if "weight" in agents else pd.Series(1.0, agents.index)
    copied = agent_weight.groupby(agents["donor"]).sum()
    counts = {
        "od": (od["step"], od["trips"]),
        "survey": (agendas["step"], agendas["person"].map(weight)),
        "before": (agendas["step"], agendas["person"].map(copied).fillna(0.0)),
        "after": (trips["step"], pd.Series(1.0, trips.index)),
    }
    made = {
        name: np.bincount(step.to_numpy("int64"), number.to_numpy("float64"), steps).astype(np.float64)
        for name, (step, number) in counts.items()
    }
    if any(len(sums) > steps for sums in made.values()):
        raise OdanonError("some trips are of time steps that do not exist; give the page the steps they were made with")
    return pd.DataFrame({name: _as_shares(sums) for name, sums in made.items()})


def _pairs(trips: pd.DataFrame, od: pd.DataFrame) -> pd.DataFrame:
    """Pairs of zones that either has, over the whole day."""
    ends = ["origin", "destination"]
    made = trips.groupby(ends, observed=True).size().rename("agents")
    wanted = od.groupby(ends, observed=True)["trips"].sum().rename("od")
    both = pd.concat([wanted, made], axis=1).fillna(0.0).sort_index()
    both = both[(both > 0).any(axis=1)]
    return both.apply(lambda column: _as_shares(column.to_numpy("float64"))).reset_index()


def _profiles(agents: pd.DataFrame, census: pd.DataFrame) -> pd.DataFrame:
    """People of each profile, in the census and as copies of agents."""
    made = agents.groupby(list(PROFILE), observed=True)["copies"].sum().rename("agents")
    wanted = census.groupby(list(PROFILE), observed=True)["weight"].sum().rename("census")
    both = pd.concat([wanted, made], axis=1).fillna(0.0).sort_index().reset_index()
    return both.assign(profile=both[list(PROFILE)].astype("str").agg(", ".join, axis=1))[
        ["profile", "census", "agents"]
    ]


def _lengths(pairs: pd.DataFrame, of: str, zones: pd.DataFrame) -> pd.DataFrame:
    """Which share of trips is at most how long, between the points of zones; trips within a zone have length 0."""
    lat, lon = (zones[name].to_numpy("float64") for name in ("lat", "lon"))
    place = np.column_stack(to_metres(lat, lon, local_crs(lat, lon))) / 1000
    known = pd.Index(zones["zone"])
    o, d = (known.get_indexer(pd.Index(pairs[end])) for end in ("origin", "destination"))
    if min(o.min(initial=0), d.min(initial=0)) < 0:
        raise OdanonError("some trips are of zones that the table of zones does not have; give the page all zones")
    km, weight = np.hypot(*(place[o] - place[d]).T), pairs[of].to_numpy("float64")
    order = np.argsort(km, kind="stable")
    km, passed = km[order], np.cumsum(weight[order])
    at = np.minimum(np.searchsorted(passed, _LENGTHS), len(km) - 1)
    told = np.unique(np.append(km[at], 0.0))
    upto = np.searchsorted(km, told, side="right")
    return pd.DataFrame({"km": told, "passed": np.concatenate([[0.0], passed])[upto]})


def _as_shares(numbers: Floats) -> Floats:
    return numbers / (numbers.sum() or 1.0)


def _moved(made: pd.Series, wanted: pd.Series) -> float:
    """The share that would have to be elsewhere for the two to be alike."""
    shares = [_as_shares(each.to_numpy("float64")) for each in (made, wanted)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _static(pairs: pd.DataFrame, of: str) -> float:
    return float(pairs.loc[pairs["origin"] == pairs["destination"], of].sum())
