"""Linear combinations of published values that depend on few people.

A combination that depends on fewer than k people gives weight 0 to every atom with k people or more. Row reduction
with those atoms first leaves exactly these combinations, each with one small atom of its own.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from odanon.gate.coverage import Ints
from odanon.gate.refinement import Refinement

if TYPE_CHECKING:
    from scipy import sparse

MAX_WORK = 4e9  # multiplications of one row reduction; beyond that a release is refused as unproven
_MAX_ENUMERATED = 12  # combinations of that many reduced rows are tried in pairs
_ZERO = 1e-9


def small_combinations(refinement: Refinement, k: int) -> int | None:
    """How many combinations depend on 1 to k - 1 people; None when the values are too entangled to tell."""
    atoms = np.arange(len(refinement.trips))
    large = refinement.people(atoms, atoms, len(atoms)) >= k
    found = 0
    for system, columns in _blocks(refinement.incidence(), large):
        if float(system.shape[0]) ** 2 * system.shape[1] > MAX_WORK:
            return None
        order = np.argsort(~large[columns], kind="stable")
        rows = _reduced(system[:, order], int(large[columns].sum()))
        found += sum(_few(refinement, columns[order][support], k) for support in _supports(rows))
    return found


def _few(refinement: Refinement, atoms: Ints, k: int) -> bool:
    people = int(refinement.people(np.zeros(len(atoms), dtype=np.int64), atoms, 1)[0])
    return 0 < people < k


def _blocks(incidence: "sparse.csr_array", large: npt.NDArray[np.bool_]) -> Iterator[tuple[npt.NDArray, Ints]]:
    """Independent parts of the system (flows, atoms), dense, without the flows that no small combination can use.

    A flow that is alone on a large atom has weight 0; without it, others may be alone.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    kept = np.ones(incidence.shape[0], dtype=bool)
    columns = incidence.tocsc()
    while True:
        cover = columns.T @ kept
        alone = large & (cover == 1)
        useless = kept & (incidence @ alone > 0)
        if not useless.any():
            break
        kept &= ~useless
    flows = np.flatnonzero(kept)
    part = incidence[flows]
    atoms = np.flatnonzero(part.sum(axis=0) > 0)
    part = part[:, atoms]
    n_parts, label = connected_components(sparse.block_array([[None, part], [part.T, None]]), directed=False)
    by_part = np.argsort(label, kind="stable")
    for members in np.split(by_part, np.cumsum(np.bincount(label, minlength=n_parts))[:-1]):
        mine, theirs = members[members < len(flows)], members[members >= len(flows)] - len(flows)
        if len(mine):
            yield part[mine][:, theirs].toarray(), atoms[theirs]


def _reduced(system: npt.NDArray[np.float64], n_large: int) -> npt.NDArray[np.float64]:
    """The reduced rows whose leading atom is a small one."""
    rows = system.copy()
    leading: list[int] = []
    for column in range(rows.shape[1]):
        row = len(leading)
        if row == len(rows):
            break
        pivot = row + int(np.argmax(np.abs(rows[row:, column])))
        if abs(rows[pivot, column]) < _ZERO:
            continue
        rows[[row, pivot]] = rows[[pivot, row]]
        rows[row] /= rows[row, column]
        others = np.flatnonzero(np.abs(rows[:, column]) > _ZERO)
        others = others[others != row]
        rows[others] -= np.outer(rows[others, column], rows[row])
        leading.append(column)
    return rows[: len(leading)][np.array(leading, dtype=np.int64) >= n_large]


def _supports(rows: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.bool_]]:
    """Atoms that reduced rows depend on, each alone and, where they are few, in sums and differences of two."""
    for row in rows:
        yield np.abs(row) > _ZERO
    if len(rows) <= _MAX_ENUMERATED:
        for one, two in combinations(rows, 2):
            yield np.abs(one - two) > _ZERO
            yield np.abs(one + two) > _ZERO
