"""The third stage: how many people each agent stands for, so that trips lie in the steps in which the matrices have them."""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.calibrators.integers import Method, copies
from odanon.demand.calibrators.system import System, system
from odanon.demand.evaluation import calibration_fit
from odanon.demand.stages.days import Days
from odanon.demand.stages.match import Matching
from odanon.demand.stages.prepare import Figures, Prepared
from odanon.errors import OdanonError
from odanon.protocols import Calibrator

PROFILE = ["gender", "car", "occupation", "age"]  # 003 section 4.4

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """What each agent counts."""

    agents: pd.DataFrame  # agent, coefficient, copies
    figures: Figures


def calibrated(
    prepared: Prepared, matching: Matching, calibrator: Calibrator, seed: int, integers: Method = "trs"
) -> Calibration:
    """Coefficients of agents by profile and trips by step (003 section 4.4), and whole numbers of copies.

    A step in which no agent travels can have no trips: it is told, and the others share what it should have had.
    """
    trips = Days(prepared.agendas, int(prepared.respondents["agenda"].max()) + 1).trips_by_step(prepared.steps)
    agenda = matching.agents["agenda"].to_numpy(np.int64)
    profile = prepared.agents.groupby(PROFILE, sort=True, observed=True).ngroup().to_numpy(np.int64)
    kinds, kind = np.unique(
        profile * len(trips) + agenda, return_inverse=True
    )  # agents who are alike in all that counts
    number = np.bincount(kind).astype(np.float64)
    by_step = trips[kinds % len(trips)]
    trips_of = prepared.od["trips"].to_numpy("float64")
    wanted = np.bincount(prepared.od["step"], trips_of, prepared.steps).astype(np.float64)
    reachable = by_step.sum(axis=0) > 0
    if not reachable.any():
        raise OdanonError(
            "every agent got a day at home: among the days that min_donors respondents have, or that were drawn, none has a trip; give a"
            " larger survey, fewer steps, or a lower match.min_donors if the survey's licence allows it"
        )
    if not wanted[reachable].sum() > 0:
        raise OdanonError("no agent travels in a step in which od has trips; check the steps of both")
    shares = np.where(reachable, wanted, 0.0) / wanted[reachable].sum()
    asked = system(by_step, kinds // len(trips), number, shares)
    found = calibrator.calibrate(asked)
    persons = _usable(found.persons, asked, calibrator)
    ratio = np.divide(persons, asked.persons, out=np.ones_like(persons), where=asked.persons > 0)
    coefficient = ratio[asked.group][kind]
    whole = copies(coefficient, seed, integers)
    travel = np.bincount(kind, weights=whole.astype(np.float64)) @ by_step
    if not travel.any():
        raise OdanonError("nobody who travels is left as a whole person; give a larger census, or another calibrator")
    figures = {
        "groups": len(asked.persons),
        "rounds": int(found.rounds),
        "largest gap": float(np.abs(asked.gaps(persons)).max()),
        "steps without agents": np.flatnonzero(~reachable & (wanted > 0)).tolist(),
        **asdict(calibration_fit(asked, persons, coefficient)),
        "share of trips by step": {
            "od": _share(wanted),
            "survey": _share(_weighted(prepared, trips)),
            "agents before": _share(number @ by_step),
            "agents after": _share(asked.rows[: asked.steps] @ persons),
            "agents as whole people": _share(travel),
        },
        "people by profile": _profiles(prepared.agents, profile, coefficient, whole),
    }
    table = pd.DataFrame({"agent": prepared.agents["agent"], "coefficient": coefficient, "copies": whole})
    return Calibration(table, figures)


def _usable(persons: Floats, asked: System, calibrator: Calibrator) -> Floats:
    """What a plugin of whatever package has found."""
    persons = np.asarray(persons, np.float64)
    if persons.shape != asked.persons.shape or not np.isfinite(persons).all() or persons.min(initial=0) < 0:
        raise OdanonError(
            f"the calibrator {type(calibrator).__name__} returns no usable numbers of people; choose another, and report it to its author"
        )
    return persons


def _share(trips: Floats) -> list[float]:
    return (trips / trips.sum()).tolist()


def _weighted(prepared: Prepared, trips: Ints) -> Floats:
    people = prepared.respondents
    weight = people["weight"].to_numpy("float64")
    return np.asarray((weight[:, None] * trips[people["agenda"].to_numpy(np.int64)]).sum(axis=0))


def _profiles(agents: pd.DataFrame, profile: Ints, coefficient: Floats, whole: Ints) -> list[dict[str, float | str]]:
    """People of every profile in the census, calibrated, and as whole agents."""
    first = np.unique(profile, return_index=True)[1]
    names = agents[PROFILE].iloc[first].astype("str").agg(" ".join, axis=1).tolist()
    columns = (np.bincount(profile), np.bincount(profile, weights=coefficient), np.bincount(profile, weights=whole))
    rows = zip(names, *(column.tolist() for column in columns), strict=True)
    return [{"profile": name, "census": a, "calibrated": b, "agents": c} for name, a, b, c in rows]
