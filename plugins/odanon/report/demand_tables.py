"""What the page of a demand shows, summed up from agents, their activities and what they were made from (003 sections 4.5 and 5.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.crs import local_crs, to_metres

Floats = npt.NDArray[np.float64]

SHARES = {"od": "matrices", "survey": "survey", "agents before": "agents before", "agents after": "agents after"}
_WHOLE = "agents as whole people"
_PERSON = ["agent", "copy"]
_LENGTHS = np.linspace(
    0, 0.99, 45
)  # shares of trips at which the curve of lengths is told; the longest would flatten it


@dataclass(frozen=True, eq=False)
class DemandTables:
    """The tables of the page; `demand_tables` makes them.

    `shares`: a row a time step, the share of a day's trips in it by SHARES (matrices, survey, agents before and after calibration).
    `pairs`: origin, destination, od and agents, shares of all trips. `profiles`: profile, census and agents, people. `lengths`: of, km and
    passed, the share of trips that are as long at most. `activities`: zone, purpose, number. `zones`: zone, commune, lat, lon, and geometry
    where it is known. `figures`: by the names of `odanon.report.demand.FIGURES`.
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
    evaluation: Mapping[str, Any], activities: pd.DataFrame, zones: pd.DataFrame, od: pd.DataFrame
) -> DemandTables:
    """Sums of a demand: its evaluation, as evaluation.json has it, activities, zones and matrices (step, origin, destination, trips),
    all of them with the names of zones."""
    calibration, trips = evaluation["calibration"], trips_of(activities)
    by_step = {name: np.asarray(each, np.float64) for name, each in calibration["share of trips by step"].items()}
    pairs = _pairs(trips, od)
    profiles = pd.DataFrame(calibration["people by profile"])
    persons = len(activities[_PERSON].drop_duplicates())
    figures = {
        "persons": persons,
        "trips": len(trips),
        "trips_per_person": len(trips) / persons,
        "stay_home": 1 - len(trips[_PERSON].drop_duplicates()) / persons,
        "gap_before": _moved(by_step["agents before"], by_step["od"]),
        "gap_after": _moved(by_step["agents after"], by_step["od"]),
        "gap_whole": _moved(by_step[_WHOLE], by_step["od"]),
        "gap_profiles": _moved(*(profiles[name].to_numpy("float64") for name in ("agents", "census"))),
        "static_od": _static(pairs, "od"),
        "static_agents": _static(pairs, "agents"),
        "unseen": float(pairs.loc[pairs["od"] == 0, "agents"].sum()),
        **{name: calibration[name] for name in ("error_steps", "error_profiles", "lost", "sd", "gini")},
        **{name: evaluation["places"]["od fit"][name] for name in ("r2", "kl", "kl_common")},
    }
    placed = activities.groupby(["zone", "purpose"], observed=True).size().rename("number").reset_index()
    curves = [_lengths(pairs, name, zones).assign(of=name) for name in ("od", "agents")]
    return DemandTables(
        evaluation["inputs"]["steps"],
        pd.DataFrame({name: by_step[name] for name in SHARES}),
        pairs,
        profiles,
        pd.concat(curves, ignore_index=True),
        placed,
        zones,
        {name: float("nan") if value is None else value for name, value in figures.items()},
    )


def trips_of(activities: pd.DataFrame) -> pd.DataFrame:
    """agent, copy, step, origin and destination of every trip, from activities in any order."""
    ordered = activities.sort_values([*_PERSON, "seq"], ignore_index=True)
    made = ordered[[*_PERSON, "step"]].assign(origin=ordered["zone"].shift(1), destination=ordered["zone"])
    return made[ordered["step"] >= 0].reset_index(drop=True)


def _pairs(trips: pd.DataFrame, od: pd.DataFrame) -> pd.DataFrame:
    """Pairs of zones that either has, over the whole day."""
    ends = ["origin", "destination"]
    made = trips.groupby(ends, observed=True).size().rename("agents").reset_index()
    od = od.sort_values(["step", *ends, "trips"])  # sums depend on the order of what is added
    wanted = od.groupby(ends, observed=True)["trips"].sum().rename("od").reset_index()
    alike = [table.astype(dict.fromkeys(ends, "str")).set_index(ends) for table in (wanted, made)]
    both = pd.concat(alike, axis=1).fillna(0.0).sort_index()
    both = both[(both > 0).any(axis=1)]
    return both.apply(lambda column: _as_shares(column.to_numpy("float64"))).reset_index()


def _lengths(pairs: pd.DataFrame, of: str, zones: pd.DataFrame) -> pd.DataFrame:
    """Which share of trips is at most how long, between the points of zones; trips within a zone have length 0."""
    lat, lon = (zones[name].to_numpy("float64") for name in ("lat", "lon"))
    place = np.column_stack(to_metres(lat, lon, local_crs(lat, lon))) / 1000
    known = pd.Index(zones["zone"].astype("str"))
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


def _moved(made: Floats, wanted: Floats) -> float:
    """The share that would have to be elsewhere for the two to be alike."""
    return round(float(np.abs(_as_shares(made) - _as_shares(wanted)).sum() / 2), 6)


def _static(pairs: pd.DataFrame, of: str) -> float:
    return float(pairs.loc[pairs["origin"] == pairs["destination"], of].sum())
