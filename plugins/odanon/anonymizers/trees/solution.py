"""What an ATG search hands over: where every pair is published, and the figures of the search."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.small import Lead
from odanon.model.areas import Areas
from odanon.model.release import Release
from odanon.plugin import parameters_of


@dataclass(frozen=True, eq=False)
class Solution:
    """The nodes that every tile pair is published at (-1 = suppressed), under areas of the leading side."""

    problem: Problem
    areas: npt.NDArray[np.int64]
    pair_origin: npt.NDArray[np.integer]
    pair_destination: npt.NDArray[np.integer]
    K: int  # published volume
    A: int  # its cost, G
    figures: dict[str, Any]
    by_destination: bool = False  # the leading side

    def seen_from(self, problem: Problem) -> "Solution":
        """The solution of `problem.transposed` told in the terms of `problem`."""
        return replace(
            self,
            problem=problem,
            pair_origin=problem.back(self.pair_destination),
            pair_destination=problem.back(self.pair_origin),
            by_destination=not self.by_destination,
        )

    def finer_than(self, other: "Solution") -> bool:
        """Fewer tiles per published trip, compared exactly."""
        return self.A * other.K < other.A * self.K

    def release(self, algorithm: str) -> Release:
        """Assemble, with small volumes reported when the promise says so."""
        problem, promise = self.problem, self.problem.anonymizer
        pair_origin, pair_destination = self.pair_origin, self.pair_destination
        extra: dict[str, Areas] = {}
        if promise.report_small:
            pair_origin, pair_destination, extra = self._with_small_volumes()
        return Release.from_nodes(
            problem.od,
            problem.origins,
            problem.destinations,
            pair_origin,
            pair_destination,
            {"algorithm": algorithm, **parameters_of(promise)},
            self.figures,
            contribution_cap=promise.contribution_cap,
            extra_origins=extra.get("extra_origins"),
            extra_destinations=extra.get("extra_destinations"),
        )

    def _with_small_volumes(self) -> tuple[npt.NDArray, npt.NDArray, dict[str, Areas]]:
        problem, pairs = self.problem, self.problem.od.pairs
        sides = (
            (problem.origins, pairs.origin, self.pair_origin),
            (
                problem.destinations,
                pairs.destination,
                self.pair_destination,
            ),
        )
        (tree, tile, lead), (other_tree, _, other) = sides[::-1] if self.by_destination else sides
        lead, other, rests = Lead(problem.od, tree, other_tree, tile, self.areas, lead, other).report(
            problem.anonymizer
        )
        if self.by_destination:
            return other, lead, {"extra_origins": rests}
        return lead, other, {"extra_destinations": rests}
