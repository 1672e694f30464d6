"""The fifth stage: how well agents fit what they were made from (003 sections 4.5 and 5.4)."""

from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.agendas import WORK
from odanon.demand.evaluation import EPSILON, fit, fit_by_step, gini, length_distance, length_quantiles
from odanon.demand.stages.calibrate import Calibration
from odanon.demand.stages.match import Matching
from odanon.demand.stages.place import Placement, matrices_of
from odanon.demand.stages.prepare import Figures, Prepared
from odanon.trips.build import great_circle_m

_QUANTILES = (0.25, 0.5, 0.75, 0.9)
_POPULAR = 20  # agendas that are told one by one

Floats = npt.NDArray[np.float64]


def evaluated(
    prepared: Prepared,
    matching: Matching,
    calibration: Calibration,
    placement: Placement,
    commute: pd.DataFrame | None = None,
) -> Figures:
    """All measures of a run, and what the stages have counted; values for JSON."""
    return {
        "inputs": prepared.figures,
        "matching": matching.figures,
        "calibration": calibration.figures,
        "agendas": _agendas(prepared, matching, calibration),
        "places": placement.figures | _places(prepared, placement),
        "commute": None if commute is None else _commute(prepared, placement, commute),
    }


def made_matrices(prepared: Prepared, activities: pd.DataFrame) -> Floats:
    """Trips of all travellers by step, origin and destination."""
    size, step = len(prepared.zones), activities["step"].to_numpy(np.int64)
    zone = activities["zone"].to_numpy(np.int64)
    there = np.flatnonzero(step >= 0)
    cell = (step[there] * size + zone[there - 1]) * size + zone[there]
    return np.bincount(cell, minlength=prepared.steps * size**2).reshape(prepared.steps, size, size).astype(np.float64)


def _agendas(prepared: Prepared, matching: Matching, calibration: Calibration) -> Figures:
    """How popular agendas are, in the survey and among agents."""
    people = prepared.respondents
    number = int(people["agenda"].max()) + 1
    survey = np.bincount(people["agenda"], weights=people["weight"], minlength=number)
    agents = np.bincount(matching.agents["agenda"], weights=calibration.agents["copies"], minlength=number)
    survey, agents = survey / survey.sum(), agents / agents.sum()
    given = np.flatnonzero(agents > 0)
    rows = prepared.agendas.groupby("agenda")["purpose"].agg(lambda purposes: "-".join(purposes.astype("str")))
    popular = given[np.argsort(-agents[given], kind="stable")][:_POPULAR]
    return {
        "given to agents": len(given),
        "gini": {"survey": gini(survey), "agents": gini(agents)},
        "most popular": [
            {"purposes": str(rows.get(at, "")), "survey": float(survey[at]), "agents": float(agents[at])}
            for at in popular
        ],
    }


def _places(prepared: Prepared, placement: Placement) -> Figures:
    wanted, made = matrices_of(prepared).trips, made_matrices(prepared, placement.activities)
    lat, lon = (prepared.zones[name].to_numpy("float64") for name in ("lat", "lon"))
    lengths = great_circle_m(lat[:, None], lon[:, None], lat[None, :], lon[None, :])
    np.fill_diagonal(lengths, 0.0)
    by_pair = {"od": wanted.sum(axis=0), "agents": made.sum(axis=0)}
    told = {name: (lengths.ravel(), trips.ravel()) for name, trips in by_pair.items()}
    return {
        "trips": float(made.sum()),
        "od fit": asdict(fit_by_step(made, wanted)) | {"epsilon": EPSILON},
        "within a zone": {name: float(np.trace(trips) / trips.sum()) for name, trips in by_pair.items()},
        "trip length_m": {
            "quantiles": list(_QUANTILES),
            **{name: length_quantiles(*both, _QUANTILES).tolist() for name, both in told.items()},
            "largest gap": length_distance(told["od"], told["agents"]),
        },
    }


def _commute(prepared: Prepared, placement: Placement, commute: pd.DataFrame) -> Figures:
    """Home and work by commune against a table of commuters, or why there is no measure."""
    rows = placement.activities
    person = ((rows["seq"] == 0).cumsum() - 1).to_numpy()
    work = np.flatnonzero((rows["purpose"] == WORK).to_numpy())
    zone, home = rows["zone"].to_numpy(np.int64), rows["zone"].to_numpy(np.int64)[(rows["seq"] == 0).to_numpy()]
    both = np.unique(np.stack([person[work], zone[work]]), axis=1)
    names = pd.Index(sorted(set(prepared.zones["commune"].astype("str"))))
    ends = [names.get_indexer(commute[side].astype("str")) for side in ("home_commune", "work_commune")]
    persons, inside = commute["persons"].to_numpy("float64"), (ends[0] >= 0) & (ends[1] >= 0)
    told: dict[str, Any] = {
        "persons": float(persons.sum()),
        "share outside": float(persons[~inside].sum() / (persons.sum() or 1.0)),
    }
    for why, hinders in (
        ("no commuter of the table lives and works in communes of the zones", not persons[inside].sum() > 0),
        ("no agent works", not both.shape[1]),
        ("some agents work in several zones", len(np.unique(both[0])) < both.shape[1]),
    ):
        if hinders:
            return told | {"fit": None, "why": why}
    of_zone = names.get_indexer(prepared.zones["commune"].astype("str"))
    size = len(names)
    made = np.bincount(of_zone[home[both[0]]] * size + of_zone[both[1]], minlength=size**2)
    wanted = np.bincount(ends[0][inside] * size + ends[1][inside], weights=persons[inside], minlength=size**2)
    return told | {"fit": asdict(fit(made.astype(np.float64), wanted.astype(np.float64))) | {"epsilon": EPSILON}}
