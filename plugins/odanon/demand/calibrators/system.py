"""What calibration solves: groups of agents who are alike, and the numbers of trips and people that they must add up to (003 section 4.4)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError

if TYPE_CHECKING:
    from scipy import sparse

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class System:
    """Persons x >= 0 of groups with A x = b: first a row for every time step (trips), then one for every profile (people)."""

    rows: "sparse.csr_array"  # A
    persons: Floats  # n: people of each group before calibration
    target: Floats  # b
    steps: int  # how many rows are time steps
    group: Ints  # of every agent

    def gaps(self, x: Floats) -> Floats:
        """How far each row is from its target, as a share of it; of a target of 0, as it is."""
        return (self.rows @ x - self.target) / np.where(self.target > 0, self.target, 1.0)

    @property
    def unreachable(self) -> Ints:
        """Rows with a target to which no group contributes: nothing can fit them."""
        empty = np.diff(self.rows.indptr) == 0
        return np.flatnonzero(empty & (self.target > 0))


def system(trips_by_step: npt.NDArray[np.int64], profile: Ints, weight: Floats, shares: Floats) -> System:
    """Groups of agents of one profile whose trips lie in the same steps.

    `trips_by_step` has a row for each agent; `shares` is the part of all trips that each step is to have. The number of trips of all
    agents is kept, and so is the number of people of every profile.
    """
    from scipy import sparse

    if len(shares) != trips_by_step.shape[1] or not np.isclose(shares.sum(), 1):
        raise OdanonError("the shares of the time steps must be one a step and add up to 1; check the matrices")
    keys = pd.DataFrame(trips_by_step).assign(profile=profile)
    group = keys.groupby(list(keys.columns), sort=True).ngroup().to_numpy(np.int64)
    kept = np.unique(group, return_index=True)[1]
    persons = np.bincount(group, weights=weight).astype(np.float64)
    by_step = sparse.csr_array(trips_by_step[kept].T.astype(np.float64))
    kind, kinds = profile[kept], int(profile.max()) + 1
    by_profile = sparse.csr_array((np.ones(len(kept)), (kind, np.arange(len(kept)))), shape=(kinds, len(kept)))
    made = float((by_step @ persons).sum())
    target = np.concatenate([made * shares, by_profile @ persons])
    return System(sparse.csr_array(sparse.vstack([by_step, by_profile])), persons, target, len(shares), group)
