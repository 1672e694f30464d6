"""What a metric sums: trips (participants) or expansion weights (population), whichever was protected."""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.errors import OdanonError

Measure = Literal["trips", "weight"]


class Volumes(NamedTuple):
    """Volumes of every input pair and of every flow, and the flow (or -1) of every pair."""

    pair: npt.NDArray[np.float64]
    pair_flow: npt.NDArray[np.int64]
    flow: npt.NDArray[np.float64]
    tiles: npt.NDArray[np.int64]  # |o| + |d| of every flow
    cells: npt.NDArray[np.float64]  # |o| x |d| of every flow

    @property
    def total(self) -> float:
        return float(self.pair.sum())

    @property
    def suppressed(self) -> float:
        return float(self.pair[self.pair_flow < 0].sum())

    @property
    def pairs_in_flow(self) -> npt.NDArray[np.int64]:
        """Observed tile pairs of every flow."""
        return np.bincount(self.pair_flow[self.pair_flow >= 0], minlength=len(self.flow))


def volumes(od: ODMatrix, release: Release, measure: Measure) -> Volumes:
    """The arrays that all metrics work on."""
    if measure == "weight" and od.pairs.weight is None:
        raise OdanonError("the matrix has no weights; measure trips, or give a weight column")
    pair = od.pairs.trips if measure == "trips" else od.pairs.weight
    flows = release.flows
    origin, destination = flows["origin_tiles"].to_numpy(np.int64), flows["destination_tiles"].to_numpy(np.int64)
    return Volumes(
        pair=np.asarray(pair, dtype=np.float64),
        pair_flow=release.assignment["flow"].to_numpy(),
        flow=flows[measure].to_numpy(np.float64),
        tiles=origin + destination,
        cells=origin.astype(np.float64) * destination,
    )


def named(figures: dict[str, float], measure: Measure) -> dict[str, float]:
    """Figures of the population carry it in their names, so that both views fit in one table."""
    return figures if measure == "trips" else {f"{name}_population": value for name, value in figures.items()}
