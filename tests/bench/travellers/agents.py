"""Agents of a city from its census and survey, calibrated on matrices and placed by them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from travellers.cities import City

from odanon import registry
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import System
from odanon.demand.contracts import checked
from odanon.demand.stages import Calibration, Inputs, Matching, Prepared, calibrated, matched, placed, prepare
from odanon.errors import OdanonError

Floats = npt.NDArray[np.float64]
NAIVE, LINKED, MCMC, FACTOR = PLACERS = ("naive-forward", "linked-forward", "linked-mcmc", "factor-graph")


@dataclass(frozen=True, eq=False)
class Agents:
    """Everybody of a census with the day of a respondent, counted by the matrices that they are to be placed by."""

    prepared: Prepared
    matching: Matching
    calibration: Calibration
    seed: int

    @classmethod
    def of(cls, city: City, trips: Floats, seed: int) -> "Agents":
        """Respondents are made up, so that the day of a single one may be copied."""
        step, origin, destination = np.nonzero(trips)
        names = city.zones["zone"].to_numpy(object)
        od = pd.DataFrame({"step": step, "origin": names[origin], "destination": names[destination]})
        tables: dict[str, Any] = {
            "zones": city.zones,
            **{name: city.table(name) for name in ("census", "survey_people", "survey_trips")},
            "od": od.assign(trips=trips[step, origin, destination]),
        }
        prepared = prepare(Inputs(**{name: checked(name, table, name) for name, table in tables.items()}), seed)
        matching = matched(prepared, seed, min_donors=1)
        return cls(prepared, matching, _calibrated(prepared, matching, seed), seed)

    def placed(self, placer: str) -> pd.DataFrame:
        """Activities of all travellers, with the numbers of zones as the city has them."""
        made = placed(self.prepared, self.matching, self.calibration, registry.create("place", placer, {}), self.seed)
        return made.activities


def _calibrated(prepared: Prepared, matching: Matching, seed: int) -> Calibration:
    """By raking; by least squares where a release has lost steps, which no agent who travels in them can meet."""
    try:
        return calibrated(prepared, matching, registry.create("calibrate", "raking", {}), seed)
    except OdanonError:
        return calibrated(prepared, matching, registry.create("calibrate", "least-squares", {}), seed)


def recorded(agents: Agents) -> System:
    """What the calibrator is asked for."""
    asked: list[System] = []

    class Recorder:
        def calibrate(self, system: System) -> Calibrated:
            asked.append(system)
            return Calibrated.of(system, system.persons, 0)

    calibrated(agents.prepared, agents.matching, Recorder(), agents.seed)
    return asked[0]
