"""What the people of a flow weigh, counted again by the verifier, and what may be told of it (PRIVACY rule 20)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.gate.coverage import Ints

_WEIGHT = 2**20  # weights count in such parts, rounded down


@dataclass(frozen=True, eq=False)
class Weights:
    """What the people of every flow weigh, in parts."""

    total: Ints
    heaviest: Ints  # of one person; of one row where nobody has an id
    lost: Ints  # parts that rounding down may have cost where rows of one person and pair were not added up before

    @classmethod
    def of(cls, weight: npt.NDArray[np.float64], flow: Ints, owner: Ints, code: Ints, n_flows: int) -> "Weights":
        """From the weight and flow of every row; `code` numbers people in flows, `owner` tells the flow of each number."""
        parts = np.floor(weight * _WEIGHT).astype(np.int64)
        heaviest = largest(owner, sums(code, parts, len(owner)), n_flows)
        return cls(sums(flow, parts, n_flows), heaviest, np.bincount(flow, minlength=n_flows))

    def below(self, least: float) -> int:
        """How many flows weigh less."""
        return int((self.total + self.lost < np.ceil(least * _WEIGHT)).sum())

    def unlike(self, told: npt.NDArray[np.float64]) -> int:
        """How many flows are told otherwise than rounded so that the heaviest person does not show.

        Steps are 1, 2, 5, 10, ... and none is smaller than that person's weight; a flow has at least one.
        """
        step = np.zeros_like(self.heaviest)
        for size in (digit * 10**zeros for zeros in range(12, -1, -1) for digit in (5, 2, 1)):
            step[self.heaviest <= size * _WEIGHT] = size
        wrong = np.ones(len(told), dtype=bool)
        for total in (self.total, self.total + self.lost):
            steps, rest = np.divmod(total, step * _WEIGHT)
            wrong &= told != np.maximum(steps + (rest >= step * _WEIGHT - rest), 1) * step
        return int(wrong.sum())


def sums(group: Ints, values: Ints, n_groups: int) -> Ints:
    """Exact sums by group."""
    total = np.zeros(n_groups, dtype=np.int64)
    np.add.at(total, group, values)
    return total


def largest(group: Ints, values: Ints, n_groups: int) -> Ints:
    """The largest value of each group, 0 where there is none."""
    most = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(most, group, values)
    return most
