"""Iterative proportional updating (003 section 4.2.1, after Ye et al.)."""

import numpy as np

from odanon.demand.calibrators.newton import product
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import Floats, System
from odanon.plugin import parameter, plugin


@plugin
class Ipu:
    """Meets one target after the other by a factor on all groups that contribute to it, again and again."""

    rounds: int = parameter(2000, "the most passes over all targets", ge=1)
    patience: int = parameter(20, "passes without a smaller gap that end the search", ge=1)

    def calibrate(self, asked: System) -> Calibrated:
        """The pass after which the largest gap was smallest; it may rise in between."""
        x = best = asked.persons
        gap, at = _largest(asked, x), 0
        for passed in range(1, self.rounds + 1):
            x = one_pass(asked, x)
            if (found := _largest(asked, x)) < gap * (1 - 1e-6):
                best, gap, at = x, found, passed
            elif passed - at >= self.patience:
                break
        return Calibrated.of(asked, best, at)


def one_pass(asked: System, x: Floats) -> Floats:
    """One update for each target in turn; groups that do not contribute to it stay as they are."""
    x, rows = x.copy(), asked.rows
    for row, target in enumerate(asked.target):
        among = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        counts = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
        total = product(counts, x[among])
        if total > 0:
            x[among] *= target / total
    return x


def _largest(asked: System, x: Floats) -> float:
    return float(np.abs(np.delete(asked.gaps(x), asked.unreachable)).max())
