"""What a setting costs: every window through the one door, measured on its own matrix and on the cells that all settings share."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from odanon.advise.matrices import CHILDREN, WindowMatrices, window_matrices
from odanon.advise.rows import PeopleRows
from odanon.advise.settings import Setting
from odanon.compare.plan import Case
from odanon.door import release
from odanon.errors import TooFewError
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.reconstruction import Reconstruction, absolute_difference
from odanon.metrics.volumes import Volumes
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

OWN = (
    Figure(
        "loss",
        "loss on shared cells",
        "flows spread back over every day, stretch of the clock and finest tile: 0 is perfect, publishing nothing scores 1, 2 is the worst",
        symbol="loss",
        best="least",
    ),
    Figure(
        "tiles",
        "finest tiles per trip",
        "mean size of origin plus destination of a trip in a flow, in the finest tiles that were tried",
        unit="tiles",
        symbol="tiles",
        best="least",
    ),
    Figure(
        "hours",
        "hours per trip",
        "mean time that a row covers, on the clock of one day of each type",
        unit="hours",
        symbol="hours",
        best="least",
    ),
    Figure(
        "thin",
        "windows below k",
        "share of the windows in which too few travel to publish anything; all of their trips are left out",
        unit="share",
        symbol="thin",
        best="least",
    ),
)
_A_LITTLE = 1e-9
_METRICS = (Generalisation(measure="trips"), Reconstruction(measure="trips"))
_TOLD = ("E", "Gbar", "S_share", "coarse_share", "flows")
FIGURES = (*OWN, *(figure for metric in _METRICS for figure in metric.figures if figure.name in _TOLD))


@dataclass(frozen=True)
class Method:
    """The anonymiser that settings are tried with, and all of its promise but k."""

    algorithm: str = "atg-lattice"
    unit: str = "persons"
    suppression: float = 0.10
    parameters: dict[str, Any] = field(default_factory=dict)

    def case(self, k: int) -> Case:
        """The method with a k."""
        return Case(self.algorithm, k, self.unit, self.suppression, self.parameters)


def measured(data: PeopleRows, setting: Setting, method: Method, cell: int) -> dict[str, float]:
    """The figures of a setting: releases of all its windows together; shares, means and sizes, no count of people or trips."""
    told, errors, hours, refusals = [], [], [], []
    published = 0
    for window in window_matrices(data, setting, cell):
        anonymizer, promise = method.case(setting.k).create(len(window.matrices))
        try:
            made = release(window.matrices, window.tree, anonymizer, promise, metrics=_METRICS)
        except TooFewError as refusal:
            refusals.append(refusal)
            told += [_left_out(od) for od in window.matrices.values()]
            errors += [float(od.volume) for od in window.matrices.values()]
            continue
        published += 1
        for at, each in made.releases.items():
            told.append(each.metrics)
            errors.append(_error(window, at, each))
            hours.append(_trip_hours(window.matrices[at], each, window.minutes[at]))
    if not published:
        raise refusals[0]
    table = pd.DataFrame(told)
    figures = {name: value for metric in _METRICS for name, value in metric.combine(table).items() if name in _TOLD}
    trips, in_flows = float(table["volume"].sum()), float((table["published"] - table["coarse"]).sum())
    in_no_flow = 1 - in_flows / trips
    if 0 < float(table["S"].sum()) < setting.k:  # how many fewer than k are is nobody's business
        figures["S_share"] = setting.k / trips
    steps = 0 if data.resolution is None or setting.resolution is None else data.resolution - setting.resolution
    return {
        "loss": sum(errors) / trips,
        "tiles": figures["Gbar"] * CHILDREN**steps,
        "hours": sum(hours) / in_flows if in_flows else float("nan"),
        "kept": float(in_no_flow <= method.suppression + _A_LITTLE),
        "thin": len(refusals) / (len(refusals) + published),
        **figures,
    }


def _left_out(od: ODMatrix) -> dict[str, float]:
    """The figures of a matrix of which nothing is published."""
    volume = float(od.volume)
    nothing = dict.fromkeys(("published", "coarse", "G", "flows", "origin_areas", "destination_areas"), 0.0)
    unknown = dict.fromkeys(("D", "fitted_error", "prior_error"), float("nan"))
    return {"volume": volume, "S": volume, "absolute_error": volume, **nothing, **unknown}


def _error(window: WindowMatrices, at: int, made: Release) -> float:
    """Sum of |given back - held| over all cells of a matrix: what a pair gets is spread evenly over its cells."""
    seen, cells = Volumes(window.matrices[at], made, "trips"), window.cells[at]
    given = seen.given_back[cells["pair"].to_numpy()] / cells["parts"].to_numpy()
    return absolute_difference(given, cells["trips"].to_numpy(np.float64), seen.published)


def _trip_hours(od: ODMatrix, made: Release, minutes: np.ndarray) -> float:
    """Hours on the clock of every flow, times its trips, added up."""
    trips = Volumes(od, made, "trips").in_flows
    if made.times is None:
        return float(trips.sum() * minutes[0] / 60)
    of_interval = np.add.reduceat(np.append(minutes[made.times.members], 0), made.times.start[:-1]) / 60
    number = pd.Index(made.times.label).get_indexer(pd.Index(made.flows["time"].astype("str")))
    return float((trips * of_interval[number]).sum()) if len(trips) else 0.0
