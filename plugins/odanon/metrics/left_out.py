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

    They are of two kinds: suppressed ones, and those beyond the cap; many people behind the one kind hide nobody behind the
    other. Kinds with fewer than k people behind them must look as if those trips had never been made: they are `hidden`.
    """

    hidden: int  # trips
    gone: Ids  # ids of those of whom the hidden trips leave nothing
    trips: int  # left out, and not hidden
    people: (
        int  # at least so many are behind each kind of these, or trips where nobody knows who; 0 when there are none
    )
    everybody: int  # behind all that is left out
    rest: Mapping[Bin, tuple[ODMatrix, Release]]  # without the hidden trips; bins of nothing else are out

    @classmethod
    def of(
        cls, matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release], ids: Mapping[Bin, Ids], k: int
    ) -> "LeftOut[Bin]":
        """Compare matrices with their releases; `ids` are the people of each matrix in the order of their codes."""
        nameless = any(od.person is None for od in matrices.values())
        tables = []
        for name, release in releases.items():
            od = matrices[name]
            tables.append(
                pd.DataFrame(
                    {
                        "person": np.arange(len(od.trips)) if od.person is None else ids[name][od.person],
                        "suppressed": release.assignment["flow"].to_numpy(np.int64)[od.row_pair] < 0,
                        "uncounted": uncounted_trips(od, release),
                        "trips": od.trips,
                    }
                )
            )
        rows = pd.concat(tables, keys=range(len(tables)))
        missing = rows[rows["uncounted"] > 0]
        kinds = missing.groupby("suppressed")
        behind = kinds["uncounted"].sum() if nameless else kinds["person"].nunique()
        few = behind.index[behind < k]
        hidden = rows["uncounted"].where(rows["suppressed"].isin(few), 0)
        staying = rows.loc[hidden < rows["trips"], "person"]
        gone = pd.Index(rows.loc[hidden > 0, "person"].unique()).difference(pd.Index(staying.unique()))
        rest: dict[Bin, tuple[ODMatrix, Release]] = {}
        for number, (name, release) in enumerate(releases.items()):
            world = without(matrices[name], release, hidden.loc[number].to_numpy())
            rest |= {} if world is None else {name: world}
        return cls(
            hidden=int(hidden.sum()),
            gone=np.empty(0) if nameless else gone.to_numpy(),
            trips=int((rows["uncounted"] - hidden).sum()),
            people=int(behind.drop(few).min()) if len(behind) > len(few) else 0,
            everybody=int(missing["uncounted"].sum() if nameless else missing["person"].nunique()),
            rest=rest,
        )

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
    time = None if od.time is None else od.time[stays]
    rest = ODMatrix(od.origin[stays], od.destination[stays], trips[stays], person, weight, od.ground, time, od.times)
    pairs = np.unique(od.row_pair[stays])
    assignment = release.assignment.iloc[pairs].reset_index(drop=True).assign(trips=rest.pairs.trips)
    flows = release.flows
    if "weight" in flows and rest.pairs.weight is not None:
        flow = assignment["flow"].to_numpy(np.int64)
        summed = np.bincount(flow[flow >= 0], rest.pairs.weight[flow >= 0], minlength=len(flows))
        flows = flows.assign(weight=summed)
    return rest, replace(release, flows=flows, assignment=assignment, metrics=dict(release.metrics))
