"""A space of combinations of published values, in exact arithmetic: modulo a prime instead of in rounded fractions.

A combination is known by its weight on every atom. Counting modulo a prime of 31 bits answers which weights are zero as
fractions do, unless the prime divides a determinant of the system, which it does not by accident.
"""

from dataclasses import dataclass

import numpy as np

from odanon.gate.coverage import Ints

PRIME = 2**31 - 1  # products of two remainders fit in 64 bits


class BudgetSpentError(Exception):
    """A proof would take longer than it may."""


@dataclass(eq=False)
class Budget:
    """How many operations are left: counted, not timed, so that the same releases always get the same answer."""

    left: int

    def spend(self, operations: int) -> None:
        """Count them; an error when there were fewer left."""
        self.left -= operations
        if self.left < 0:
            raise BudgetSpentError


class Space:
    """All combinations of some rows, each of which has a weight for every atom."""

    def __init__(self, rows: Ints, budget: Budget) -> None:
        self.rows, self.budget = rows, budget
        self.leading = np.full(len(rows), -1, dtype=np.int64)  # by row: an atom that no other row depends on

    def copy(self) -> "Space":
        """The same space, to be changed apart from this one."""
        twin = Space(self.rows.copy(), self.budget)
        twin.leading = self.leading.copy()
        return twin

    def depends(self, atom: int) -> bool:
        """Whether some combination gives weight to the atom."""
        return bool(self.rows[:, atom].any())

    def lead(self, row: int, atom: int) -> None:
        """Make the atom the leading one of a row that depends on it: weight 1 there, 0 in all other rows."""
        self.rows[row] = self.rows[row] * pow(int(self.rows[row, atom]), -1, PRIME) % PRIME
        self.leading[row] = atom
        others = np.flatnonzero(self.rows[:, atom])
        others = others[others != row]
        touched = np.flatnonzero(self.rows[row])
        self.budget.spend(self.rows.shape[1] + len(others) * len(touched))
        block = np.ix_(others, touched)
        self.rows[block] = (self.rows[block] - self.rows[others, atom][:, None] * self.rows[row, touched]) % PRIME

    def without(self, *atoms: int) -> None:
        """Keep only the combinations that give no weight to the atoms."""
        for atom in atoms:
            able = np.flatnonzero(self.rows[:, atom])
            if len(able):
                shortest = int(able[np.argmin((self.rows[able] != 0).sum(axis=1))])
                self.lead(shortest, atom)
                self.rows[shortest] = 0
        self._drop_empty()

    def reduce(self) -> None:
        """Give every row a leading atom and drop the rows that are combinations of others."""
        for row in range(len(self.rows)):
            able = np.flatnonzero(self.rows[row])
            if len(able):
                self.lead(row, int(able[0]))
        self._drop_empty()

    def _drop_empty(self) -> None:
        kept = self.rows.any(axis=1)
        self.rows, self.leading = self.rows[kept], self.leading[kept]
