"""Agents of a city from its census and survey, calibrated on matrices and placed by them."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from travellers.cities import City

from odanon import registry
from odanon.demand.contracts import checked
from odanon.demand.stages import Inputs, Matching, Placement, Prepared, calibrated, matched, placed, prepare

Floats = npt.NDArray[np.float64]
PLACERS = ("naive-forward", "linked-forward", "linked-mcmc", "factor-graph")


class Agents:
    """What is the same whatever the matrices say is made once."""

    def __init__(self, city: City, seed: int) -> None:
        self._seed, self._city = seed, city
        names = ("zones", "census", "survey_people", "survey_trips", "commute")
        tables = {name: checked(name, city.zones if name == "zones" else city.table(name), name) for name in names}
        self._tables = tables
        self._matching: Matching | None = None

    def prepared(self, trips: Floats) -> Prepared:
        step, origin, destination = np.nonzero(trips)
        zones = self._city.zones["zone"].to_numpy(object)
        od = pd.DataFrame({"step": step, "origin": zones[origin], "destination": zones[destination], "trips": trips[step, origin, destination]})
        return prepare(Inputs(**self._tables, od=checked("od", od, "od")), self._seed)

    def placed(self, trips: Floats) -> "Placed":
        """Everybody's day, of made-up respondents of whom even a single one may be copied."""
        prepared = self.prepared(trips)
        if self._matching is None:
            self._matching = matched(prepared, self._seed, min_donors=1)
        calibration = calibrated(prepared, self._matching, registry.create("calibrate", "raking", {}), self._seed)
        return Placed(prepared, self._matching, calibration, self._seed)


class Placed:
    def __init__(self, prepared, matching, calibration, seed: int) -> None:
        self._parts, self._seed = (prepared, matching, calibration), seed

    def by(self, placer: str) -> Placement:
        return placed(*self._parts, registry.create("place", placer, {}), self._seed)
