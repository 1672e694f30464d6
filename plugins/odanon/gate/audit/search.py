"""The search for a combination that depends on fewer than k people: it ends with one, or with the proof that none does.

A circuit is a set of atoms whose weights, times fixed numbers, add up to 0 in every combination. So no combination
depends on exactly one atom of a circuit. Circuits that have one atom in common, and otherwise nobody, therefore prove
that whatever depends on that atom depends on at least one person more for each of them. Where they are too few for a
proof, the atoms of one circuit are tried in turn: each takes part, with its people, or is left out of all that follows.
"""

from typing import TYPE_CHECKING

import numpy as np

from odanon.gate.audit.refinement import Flags
from odanon.gate.audit.space import Space
from odanon.gate.coverage import Ints

if TYPE_CHECKING:
    from scipy import sparse

_ONE = 10**9  # a person, who may be divided among several atoms


class Search:
    """Decides about spaces of combinations over the same atoms; `people` (atom, person) has a 1 for who is in which."""

    def __init__(self, people: "sparse.csr_array", k: int) -> None:
        self.people, self.atoms, self.k = people, people.T.tocsr(), k

    def few(self, atoms: Flags) -> bool:
        """Whether fewer than k people are in the atoms."""
        return int(np.count_nonzero(self.atoms @ atoms)) < self.k

    def _in(self, atom: int) -> Flags:
        """Who is in the atom."""
        flags = np.zeros(self.people.shape[1], dtype=bool)
        flags[self.people.indices[self.people.indptr[atom] : self.people.indptr[atom + 1]]] = True
        return flags

    def isolates(self, space: Space) -> bool:
        """Whether some combination of the space, which is used up, depends on 1 to k - 1 people.

        Atom by atom, the largest first: if nothing small depends on it, it is left out of what remains.
        """
        size = self.people.sum(axis=1)
        while len(space.rows):
            able = np.flatnonzero(space.rows.any(axis=0))
            atom = int(able[np.argmax(size[able])])
            if self._depends_on(atom, space.copy(), self._in(atom)):
                return True
            space.without(atom)
        return False

    def _depends_on(self, atom: int, space: Space, taken: Flags) -> bool:
        """Whether some combination that depends on the atom does with fewer than k people, those taken included."""
        space.budget.spend(space.rows.size + self.people.nnz)
        together = self.people @ ~taken + int(taken.sum())
        space.without(*np.flatnonzero(together >= self.k).tolist())
        if not space.depends(atom):
            return False
        enough, circuit = self._circuits(atom, space.copy(), taken)
        if enough:
            return False
        if circuit is None:
            return True
        for other in circuit[np.argsort(-together[circuit], kind="stable")].tolist():
            if self._depends_on(atom, space.copy(), taken | self._in(other)):
                return True
            space.without(other)
        return False

    def _circuits(self, atom: int, space: Space, taken: Flags) -> tuple[bool, Ints | None]:
        """Whether circuits prove that the atom needs k people; if not, the other atoms of the first circuit.

        None instead of a circuit: a combination of fewer than k people was met, as where there is no circuit at all.
        Everybody not taken counts for one, in equal parts where the space depends on several atoms of the person; a
        circuit counts for as much as is left in each of its atoms.
        """
        missing = (self.k - 1 - int(taken.sum())) * _ONE
        shown = space.rows.any(axis=0)
        part = np.where(taken, 0, _ONE // np.maximum(self.atoms @ shown, 1))
        left = np.where(shown, self.people @ part, 0)
        left[atom] = 0
        row = _led(space, atom)
        for empty in space.leading[left[space.leading] == 0].tolist():
            if empty != atom:
                _step_down(space, empty, left)
        proved, first = 0, None
        while proved <= missing:
            space.budget.spend(space.rows.size)
            able = np.flatnonzero((space.rows[row] != 0) & (left > 0))
            if not len(able):
                return False, None if self.few(space.rows[row] != 0) else first
            shortest = able[np.argmin((space.rows[:, able] != 0).sum(axis=0))]
            circuit = np.append(space.leading[space.rows[:, shortest] != 0], shortest)
            circuit = circuit[circuit != atom]
            first = circuit if first is None else first
            least = int(left[circuit].min())
            proved += least
            left[circuit] -= least
            for empty in circuit[left[circuit] == 0].tolist():
                _step_down(space, empty, left)
        return True, None


def _led(space: Space, atom: int) -> int:
    """The row that the atom leads, after making it lead one."""
    if atom not in space.leading:
        space.lead(int(np.flatnonzero(space.rows[:, atom])[0]), atom)
    return int(np.flatnonzero(space.leading == atom)[0])


def _step_down(space: Space, atom: int, left: Ints) -> None:
    """Let an atom with nothing left lead no row, so that no circuit runs through it; where all that the row depends on
    has nothing left, none does."""
    for row in np.flatnonzero(space.leading == atom):
        able = np.flatnonzero((space.rows[row] != 0) & (left > 0))
        if len(able):
            space.lead(int(row), int(able[0]))
