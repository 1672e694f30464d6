"""Linear combinations of published values that depend on few people.

A combination that depends on fewer than k people gives weight 0 to every atom with k people or more. Leaving these
atoms out one by one keeps exactly such combinations; whether one of them depends on few enough people is searched.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from odanon.gate.audit.refinement import Flags, Refinement
from odanon.gate.audit.search import Search
from odanon.gate.audit.space import Budget, BudgetSpentError, Space
from odanon.gate.coverage import Ints

if TYPE_CHECKING:
    from scipy import sparse

MAX_ENTRIES = 20_000_000  # flows times atoms of one independent part; beyond that a release is refused as unproven
MAX_WORK = 1_000_000_000  # operations of all proofs together (some ten seconds); beyond that as well


def small_combinations(refinement: Refinement, k: int) -> int | None:
    """How many combinations were met that depend on 1 to k - 1 people; 0 if there is none at all.

    None when there may be some and the values are too entangled to tell.
    """
    large = refinement.people_of_atom >= k
    budget, found, unproven = Budget(MAX_WORK), 0, False
    for system, columns in _blocks(refinement.incidence(), large):
        if system.shape[0] * system.shape[1] > MAX_ENTRIES:
            unproven = True
            continue
        try:
            space, small = _small(system, large[columns], budget)
            search = Search(_members(refinement, columns[small]), k)
            found += sum(search.few(row != 0) for row in space.rows) or search.isolates(space)
        except BudgetSpentError:
            unproven = True
    return None if unproven and not found else found


def _small(system: "sparse.csr_array", large: Flags, budget: Budget) -> tuple[Space, Ints]:
    """The combinations that depend on no large atom, and the atoms that their columns stand for."""
    space = Space(system.toarray().astype(np.int64), budget)
    flows = system.sum(axis=0)
    space.without(*sorted(np.flatnonzero(large).tolist(), key=lambda atom: flows[atom]))
    small = np.flatnonzero(space.rows.any(axis=0))
    space.rows = space.rows[:, small]
    space.reduce()
    return space, small


def _members(refinement: Refinement, atoms: Ints) -> "sparse.csr_array":
    """(atom, person): who is in each of the atoms; where nobody has an id, every trip is somebody."""
    from scipy import sparse

    if refinement.by_trips:
        count = refinement.trips[atoms]
        row, person = np.repeat(np.arange(len(atoms)), count), np.arange(count.sum())
    else:
        place = np.full(len(refinement.trips), -1, dtype=np.int64)
        place[atoms] = np.arange(len(atoms))
        held = place[refinement.holder[:, 0]] >= 0
        row = place[refinement.holder[held, 0]]
        person = np.unique(refinement.holder[held, 1], return_inverse=True)[1]
    shape = (len(atoms), int(person.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(len(row), dtype=np.int64), (row, person)), shape=shape)


def _blocks(incidence: "sparse.csr_array", large: Flags) -> Iterator[tuple["sparse.csr_array", Ints]]:
    """Independent parts of the system (flows, atoms) with small atoms, without the flows that no small combination uses.

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
        if len(mine) and not large[atoms[theirs]].all():
            yield part[mine][:, theirs], atoms[theirs]
