"""What published values say about a region that none of them shows: bounds by linear programming (HiGHS)."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from odanon.gate.coverage import Ints

if TYPE_CHECKING:
    from scipy import sparse


class Attacker:
    """Knows every published value and that no count is negative."""

    def __init__(self, incidence: "sparse.csr_array", trips: Ints) -> None:
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        self.incidence = incidence
        self.values = incidence @ trips
        n_flows, n_atoms = incidence.shape
        graph = sparse.block_array([[None, incidence], [incidence.T, None]], format="csr")
        _, label = connected_components(graph, directed=False)
        self.flow_component, self.atom_component = label[:n_flows], label[n_flows : n_flows + n_atoms]

    def bounds(self, region: Ints) -> tuple[float, float]:
        """The least and the largest number of trips that the region can hold."""
        touched = np.unique(self.atom_component[region])
        atoms = np.flatnonzero(np.isin(self.atom_component, touched))
        flows = np.flatnonzero(np.isin(self.flow_component, touched))
        wanted = np.isin(atoms, region).astype(float)
        system = self.incidence[flows][:, atoms]
        low = self._solve(wanted, system, self.values[flows])
        return low, -self._solve(-wanted, system, self.values[flows])

    @staticmethod
    def _solve(cost: npt.NDArray[np.float64], system: "sparse.csr_array", values: npt.NDArray) -> float:
        from scipy.optimize import linprog

        found = linprog(cost, A_eq=system, b_eq=values, bounds=(0, None), method="highs")
        if found.status != 0:  # the true counts are a solution and the cost is bounded
            raise RuntimeError(f"HiGHS: {found.message}")
        return float(found.fun)


def isolates(low: float, high: float, k: int) -> bool:
    """Whether bounds give a region away: surely not empty, and known exactly or surely below k."""
    return low > 1 - 1e-6 and (high - low < 1 - 1e-6 or high < k - 1e-6)
