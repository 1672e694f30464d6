"""ATG-Lattice: every pair of areas is published, suppressed, or split on either side or in time (ALGORITHMS, ATG-Lattice)."""

from typing import ClassVar, Literal

import numpy as np

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.compilation import announce_compilation
from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.rests import with_rests
from odanon.anonymizers.lattice.settled import Settled, settle
from odanon.anonymizers.lattice.solver import Costs, Lattice, lattices
from odanon.anonymizers.trees.problem import Problem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, parameters_of, plugin

_ABOUT, _NEAR = (
    100,
    10_000,
)  # trips of which one more may be published: where a price is set, and before the rest of the budget is spent
_PRICE = 0.18  # of a tile, times the mean tiles of a trip where only tiles count


@plugin
class AtgLattice(Anonymizer):
    """Finest areas for every flow: each pair of areas chooses which side to split next."""

    objective: Literal["loss", "tiles"] = parameter(
        "loss", "what is least: trips spread to the wrong tiles, or tiles per trip"
    )
    tile_price: float | None = parameter(
        None, "objective loss: price of a tile in lost trips a trip; none: 0.18 / tiles per trip at their least", ge=0
    )
    rests: bool = parameter(True, "tell coarsely, as rests of larger areas, what would be left out")

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS - {"report_small"}
    timed: ClassVar[bool] = True
    why_not: ClassVar[str] = "atg-lattice tells what is left out as rests"

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """The best partition of the pairs of tiles within the budget."""
        self.check(od)
        announce_compilation(kernels.build)
        problem = Problem(od, origins, destinations, self)
        solved = (self.solve(lattice) for lattice in lattices(problem, counted=self.objective == "loss"))
        settled, figures = next(each for each in solved if each is not None)
        if self.rests:
            settled = with_rests(problem, settled)
        is_flow = settled.published[settled.owner]
        shown = (settled.owner >= 0) & (is_flow | self.rests)
        return Release.from_nodes(
            od,
            origins,
            destinations,
            np.where(shown, settled.origin[settled.owner], -1),
            np.where(shown, settled.destination[settled.owner], -1),
            {"algorithm": "atg-lattice", **parameters_of(self)},
            figures,
            pair_rest=shown & ~is_flow,
            pair_time=None if od.time is None else np.where(shown, settled.time[settled.owner], -1),
            contribution_cap=self.contribution_cap,
        )

    def solve(self, lattice: Lattice) -> tuple[Settled, dict[str, float]] | None:
        """The best partition and what the search found; None where the multiplier is beyond the limit of the lattice."""
        priced = self.costs(lattice)
        found = None if priced is None else lattice.find(priced[0], self._slack(lattice, _NEAR))
        if priced is None or found is None:
            return None
        costs, figures = priced
        figures |= {"lambda": costs.lambda_at(found.right.lambda_), "evaluations": found.evaluations}
        return settle(lattice, lattice.decisions(costs, found)), figures

    def costs(self, lattice: Lattice) -> tuple[Costs, dict[str, float]] | None:
        """The costs of the objective, and what they were set by; None where that is beyond the limit of the lattice."""
        if self.objective == "tiles":
            return lattice.in_tiles(), {}
        price = self.tile_price
        if price is None:
            found = lattice.find(lattice.in_tiles(), self._slack(lattice, _ABOUT))
            if found is None:
                return None
            price = _PRICE * found.right.K / found.right.A
        return lattice.in_loss(price), {"tile_price": price}

    @staticmethod
    def _slack(lattice: Lattice, part: int) -> int:
        """How many trips a search may be off: in time, where a pass is dear, one in `part`; elsewhere none."""
        return lattice.problem.volume // part if lattice.timed else 0
