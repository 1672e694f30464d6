"""What plain subtraction leaves: of a flow the flows inside it, of a number one that crosses it, of a total a total.

These are the sums that any reader does first. They are always computed, however large the releases are.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from odanon.gate.audit.refinement import Flags, Refinement
from odanon.gate.coverage import Ints, spread


def nested(refinement: Refinement, outer: int, inner: int) -> Ints:
    """People in what remains of each flow of one family after taking away the flows of another inside it.

    Only flows that have some inside are told. Taking away fewer leaves more people, so that this is the smallest
    remainder the two families give.
    """
    f, g = refinement.signature[:, outer], refinement.signature[:, inner]
    inside = _only_container(f, g)
    taken = (g >= 0) & (inside[g] >= 0)
    flows = np.unique(f[taken])
    left = np.flatnonzero(np.isin(f, flows) & ~taken)
    return refinement.people(np.searchsorted(flows, f[left]), left, len(flows))


def crossing(refinement: Refinement, one: int, two: int, k: int) -> int:
    """How many overlapping flows of two families, one less the other, depend on 1 to k - 1 people."""
    return _small_differences(refinement, refinement.signature[:, one], refinement.signature[:, two], k)


def totals(refinement: Refinement, one: int, two: int, k: int) -> int:
    """How many totals of one family, less a flow or a total of the other, depend on 1 to k - 1 people.

    Totals are those of everything, of each matrix, and of flows that are joined by trips they share; the kind with the
    most such differences is told.
    """
    sums = [list(_sums(refinement, family)) for family in (one, two)]
    return max(
        _small_differences(refinement, f, g, k)
        for (first, f), (second, g) in product(enumerate(sums[0]), enumerate(sums[1]))
        if first or second
    )


def _sums(refinement: Refinement, family: int) -> Iterator[Ints]:
    """By atom, the number of the sum that holds it, -1 = none: flows first, then ever larger totals."""
    flow = refinement.signature[:, family]
    yield flow
    yield np.where(flow >= 0, refinement.component, -1)
    matrix = np.where(flow >= 0, refinement.matrix[flow], -1)
    yield matrix
    if len(np.unique(matrix[matrix >= 0])) > 1:
        yield np.where(flow >= 0, 0, -1)


def _small_differences(refinement: Refinement, f: Ints, g: Ints, k: int) -> int:
    """Overlapping pairs of an f and a g of whose trips 1 to k - 1 people have those that count in only one of the two."""
    both = np.flatnonzero((f >= 0) & (g >= 0))
    width = int(g.max(initial=0)) + 1
    pairs, number = np.unique(f[both] * width + g[both], return_inverse=True)
    first, second = pairs // width, pairs % width
    near = _near(refinement.people_of_atom >= k, (f, first), (g, second), both, number)
    if not near.any():
        return 0
    chosen = near[number]
    shared = refinement.people(number[chosen], both[chosen], len(pairs))
    for code, mine in ((f, first), (g, second)):
        held = np.flatnonzero(code >= 0)
        near &= refinement.people(code[held], held, int(code.max()) + 1)[mine] - shared < k
    people = refinement.people(*_in_one_only(f, g, first[near], second[near]), int(near.sum()))
    return int(((people > 0) & (people < k)).sum())


def _near(large: Flags, one: tuple[Ints, Ints], two: tuple[Ints, Ints], both: Ints, number: Ints) -> Flags:
    """Pairs that differ and share all their large atoms; few, so that the people of all others need no counting."""
    n_pairs = len(one[1])
    near, alike = np.ones(n_pairs, dtype=bool), np.ones(n_pairs, dtype=bool)
    for code, mine in (one, two):
        held, n = code >= 0, int(code.max(initial=-1)) + 1
        alike &= np.bincount(code[held], minlength=n)[mine] == np.bincount(number, minlength=n_pairs)
        crowds = np.bincount(code[held & large], minlength=n)[mine]
        near &= crowds == np.bincount(number[large[both]], minlength=n_pairs)
    return near & ~alike


def _in_one_only(f: Ints, g: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """(pair, atom) for the atoms that are in the f or in the g of a pair and not in both."""
    group, atom = [], []
    for code, mine, other, theirs in ((f, first, g, second), (g, second, f, first)):
        order = np.argsort(code, kind="stable")
        start = np.searchsorted(code[order], mine)
        pair, step = spread(np.searchsorted(code[order], mine, side="right") - start)
        inside = order[start[pair] + step]
        alone = other[inside] != theirs[pair]
        group.append(pair[alone])
        atom.append(inside[alone])
    return np.concatenate(group), np.concatenate(atom)


def _only_container(f: Ints, g: Ints) -> Ints:
    """By flow of g: the flow of f that holds all of its atoms, -1 where none does."""
    n = int(g.max(initial=-1)) + 2  # the last place answers for g = -1
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1, dtype=np.int64)
    held = g >= 0
    np.minimum.at(low, g[held], f[held])
    np.maximum.at(high, g[held], f[held])
    return np.where(low == high, high, -1)
