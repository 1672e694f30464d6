"""What no flow of a release counts, who is behind it, and the release as it is measured as if that had never been."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

Bin = TypeVar("Bin", bound=Hashable)
Ids = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class LeftOut(Generic[Bin]):
    """Trips of a window that no flow counts, and the people behind them.

    `trips` is how many; `people` how many are behind them, or `trips` where nobody knows who; `gone` are the ids of those
    of whom nothing is left, and `of_others` the trips that are left out of the others.
    """

    trips: int
    people: int
    gone: Ids
    of_others: int
    rest: Mapping[
        Bin, tuple[ODMatrix, Release]
    ]  # as if those trips had never been made; bins without any other are out

    @classmethod
    def of(
        cls, matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release], ids: Mapping[Bin, Ids]
    ) -> "LeftOut[Bin]":
        """Compare matrices with their releases; `ids` are the people of each matrix in the order of their codes."""
        rest, missing, staying = {}, [], []
        for name, release in releases.items():
            od = matrices[name]
            uncounted = uncounted_trips(od, release)
            if (world := without(od, release, uncounted)) is not None:
                rest[name] = world
            person = np.arange(len(od.trips)) if od.person is None else ids[name][od.person]
            missing.append(pd.Series(uncounted, index=person)[uncounted > 0])
            staying.append(person[uncounted < od.trips])
        left_out = pd.concat(missing)
        trips = int(left_out.sum())
        if any(od.person is None for od in matrices.values()):
            return cls(trips, trips, np.empty(0), trips, rest)
        people = left_out.index.unique()
        gone = people.difference(pd.Index(np.concatenate(staying)))
        return cls(trips, len(people), gone.to_numpy(), int(left_out[~left_out.index.isin(gone)].sum()), rest)

    @property
    def worlds(self) -> tuple[dict[Bin, ODMatrix], dict[Bin, Release]]:
        """Matrices and releases of the rest."""
        return {name: od for name, (od, _) in self.rest.items()}, {name: made for name, (_, made) in self.rest.items()}


def uncounted_trips(od: ODMatrix, release: Release) -> npt.NDArray[np.int64]:
    """Of every row of the matrix the trips that no flow counts: suppressed ones, and a person's beyond the cap."""
    flow = release.assignment["flow"].to_numpy(np.int64)[od.row_pair]
    uncounted = np.where(flow < 0, od.trips, 0)
    cap = release.parameters.get("contribution_cap")
    if cap is None or od.person is None:
        return uncounted
    kept = np.flatnonzero(flow >= 0)
    rows = pd.DataFrame({"flow": flow[kept], "person": od.person[kept], "trips": od.trips[kept]})
    trips = rows["trips"].to_numpy()
    before = rows.groupby(["flow", "person"])["trips"].cumsum().to_numpy() - trips
    uncounted[kept] = trips - np.clip(cap - before, 0, trips)
    return uncounted


def without(od: ODMatrix, release: Release, uncounted: npt.NDArray[np.int64]) -> tuple[ODMatrix, Release] | None:
    """Matrix and release as if the uncounted trips had never been made; None when there are no others.

    The flows stay as they are, so that readers of the release cannot tell the two worlds apart.
    """
    trips = od.trips - uncounted
    stays = trips > 0
    if not stays.any():
        return None
    weight = None if od.weight is None else (od.weight * (trips / od.trips))[stays]
    person = None if od.person is None else od.person[stays]
    rest = ODMatrix(od.origin[stays], od.destination[stays], trips[stays], person, weight, od.ground)
    pairs = np.unique(od.row_pair[stays])
    assignment = release.assignment.iloc[pairs].reset_index(drop=True).assign(trips=rest.pairs.trips)
    flows = release.flows
    if "weight" in flows and rest.pairs.weight is not None:
        summed = np.bincount(assignment["flow"].to_numpy(np.int64), rest.pairs.weight, minlength=len(flows))
        flows = flows.assign(weight=summed)
    return rest, replace(release, flows=flows, assignment=assignment, metrics=dict(release.metrics))
