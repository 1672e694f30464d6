"""Places of one agenda for many agents at once: exact draws where the places form a tree, Gibbs sampling where they close a loop.

The chance of places is a product of potentials between pairs of them. Home is given, so that for every home the potentials with it are
numbers by zone; sums over the other places are products of matrices for all homes together (sum-product, 003 appendix 7.2), and places are drawn
from the root of the tree on.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from odanon.demand.draws import nth
from odanon.demand.placers.agenda import Pair, tree_order

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
_AT_ONCE = 8192  # agents whose chances by zone are laid out


def places_of(size: int, potentials: Mapping[Pair, Floats], home: Ints, own: Words, warm_up: int) -> Ints:
    """The zone of each place (columns; the first is home) of each agent (rows).

    `potentials[(a, b)]` has the zones of a in rows and those of b in columns, a < b. `own` are the random words of the agents.
    """
    homes, row = np.unique(home, return_inverse=True)
    alone = {place: np.ones((len(homes), len(next(iter(potentials.values()))))) for place in range(1, size)}
    for (a, b), table in potentials.items():
        if a == 0:
            alone[b] = _scaled(alone[b] * table[homes])
    between = {pair: table for pair, table in potentials.items() if pair[0]}
    found = np.empty((len(home), size), np.int64)
    found[:, 0] = home
    order = tree_order(list(potentials))
    if order is None:
        _gibbs(found, alone, between, row, own, warm_up)
    else:
        _from_the_root(found, order, alone, between, row, own)
    return found


def _from_the_root(
    found: Ints,
    order: list[tuple[int, int | None]],
    alone: dict[int, Floats],
    between: Mapping[Pair, Floats],
    row: Ints,
    own: Words,
) -> None:
    known = dict(alone)  # by home: the chance of a place and of all that hang on it
    for place, parent in order:
        if parent is not None:
            known[parent] = _scaled(known[parent] * (known[place] @ _towards(between, place, parent)))
    for place, parent in reversed(order):
        steps = None if parent is None else _towards(between, parent, place)
        for part in _parts(len(row)):
            chance = known[place][row[part]]
            if steps is not None and parent is not None:
                chance = chance * steps[found[part, parent]]
            found[part, place] = _drawn(chance, nth(own[part], place))


def _gibbs(
    found: Ints, alone: dict[int, Floats], between: Mapping[Pair, Floats], row: Ints, own: Words, warm_up: int
) -> None:
    """Each place in turn is drawn again, given all others; the first round knows home alone."""
    size = found.shape[1]
    for sweep in range(warm_up + 1):
        for place in range(1, size):
            others = [b if a == place else a for a, b in between if place in (a, b)]
            for part in _parts(len(row)):
                chance = alone[place][row[part]]
                for other in others:
                    if sweep or other < place:
                        chance = _scaled(chance * _towards(between, other, place)[found[part, other]])
                found[part, place] = _drawn(chance, nth(own[part], sweep * size + place))


def _towards(between: Mapping[Pair, Floats], a: int, b: int) -> Floats:
    """The potential of two places with the zones of the first in rows."""
    return between[a, b] if a < b else between[b, a].T


def _scaled(chances: Floats) -> Floats:
    """Rows whose largest number is 1, so that products do not vanish."""
    largest = chances.max(axis=1, keepdims=True)
    return np.divide(chances, largest, out=np.ones_like(chances), where=largest > 0)


def _drawn(chances: Floats, at: Floats) -> Ints:
    """A column for every row, by its chance; any, where none has one."""
    passed = np.cumsum(chances, axis=1)
    passed[passed[:, -1] == 0] = np.arange(1, chances.shape[1] + 1)
    column = (passed <= (at * passed[:, -1])[:, None]).sum(axis=1)
    return np.minimum(column, chances.shape[1] - 1)


def _parts(number: int) -> list[slice]:
    return [slice(first, min(first + _AT_ONCE, number)) for first in range(0, number, _AT_ONCE)]
