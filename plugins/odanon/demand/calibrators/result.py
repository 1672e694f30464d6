"""What a calibration found."""

from dataclasses import dataclass

import numpy as np

from odanon.demand.calibrators.system import Floats, Ints, System


@dataclass(frozen=True, eq=False)
class Calibrated:
    """People of each group, how far they are from the targets, and how long it took."""

    persons: Floats  # x
    gaps: Floats  # of every target, as a share of it
    unreachable: Ints  # targets to which no group contributes
    rounds: int

    @classmethod
    def of(cls, asked: System, x: Floats, rounds: int) -> "Calibrated":
        return cls(x, asked.gaps(x), asked.unreachable, rounds)

    def coefficients(self, asked: System) -> Floats:
        """c of every agent: the people of its group by those who were there."""
        ratio = np.divide(self.persons, asked.persons, out=np.ones_like(self.persons), where=asked.persons > 0)
        return ratio[asked.group]
