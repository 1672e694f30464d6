"""The flat arrays that the kernels read, and a promise as the numbers of their test. Nothing here is compiled."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.model.matrix import WEIGHT_UNIT, ODMatrix
from odanon.model.promise import Promise

PERSON_BITS = 32
PERSON = (1 << PERSON_BITS) - 1  # of a key: the person
FORCED = -1  # marks a kept tile: it cannot be split, so it is published even at a loss
NO_LIMIT = 2**62


class Entries(NamedTuple):
    """Rows: key = rank of the destination (trips), or rank << PERSON_BITS | person.

    Weight is empty unless it is tested, and so is the rank of the origin unless visited tiles are counted; rows of
    different origins are then kept apart.
    """

    key: npt.NDArray[np.integer]
    volume: npt.NDArray[np.integer]
    weight: npt.NDArray[np.int64]
    origin: npt.NDArray[np.int32]


class Test(NamedTuple):
    """When a flow is publishable."""

    k: int
    weight: int  # least weight in fixed point; 0 = not tested
    max_tiles: int
    dominance: float  # largest share of one person; 1 = not tested
    cap: int  # trips of one person that count
    visited: int  # fewest tiles in which trips start, and end

    @classmethod
    def of(cls, promise: Promise) -> "Test":
        """The promise in the kernels' terms."""
        return cls(
            k=promise.k,
            weight=0 if promise.k_population is None else math.ceil(promise.k_population * WEIGHT_UNIT),
            max_tiles=NO_LIMIT if promise.max_tiles is None else promise.max_tiles,
            dominance=1.0 if promise.max_dominance is None else promise.max_dominance,
            cap=NO_LIMIT if promise.contribution_cap is None else promise.contribution_cap,
            visited=promise.min_visited,
        )


class Marks(NamedTuple):
    """What was already counted in the set at hand; `turn` numbers the sets."""

    turn: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]  # by person: the last set that it was counted in
    tally: npt.NDArray[np.int64]  # trips or weight by person, for dominance; zero between sets
    origin: npt.NDArray[np.int64]  # by tile: the last set that trips start there in, and end
    destination: npt.NDArray[np.int64]

    @classmethod
    def of(cls, n_people: int, n_origins: int, n_destinations: int) -> "Marks":
        """Nobody counted yet."""
        return cls(*(np.zeros(n, dtype=np.int64) for n in (1, n_people, n_people, n_origins, n_destinations)))


class Side(NamedTuple):
    """What a sweep must know of the destination tree."""

    table: npt.NDArray[np.int32]
    exponent: npt.NDArray[np.uint8]
    tile: npt.NDArray[np.int32]  # node of each tile rank
    size: npt.NDArray[np.int64]
    lift: npt.NDArray[np.int32]  # lowest node at or above each one that has min_tiles


class Scratch(NamedTuple):
    """What a sweep needs room for."""

    spine: npt.NDArray[np.int64]  # node, volume, count, weight, candidates below, first entry
    correction: npt.NDArray[np.int32]  # people counted twice, by destination node
    last_seen: npt.NDArray[np.int64]  # by person: origin row << PERSON_BITS | tile rank
    tally: npt.NDArray[np.int64]  # by person, for dominance
    turn: npt.NDArray[np.int64]  # numbers the sets whose origins are counted
    origin: npt.NDArray[np.int64]  # by tile: the last of them that trips start there in


class Candidates(NamedTuple):
    """Publishable pairs; those of origin node o are `first[o]:end[o]`, in post-order.

    Volume 0 marks a pair that may only be suppressed although pairs below it are publishable.
    """

    node: npt.NDArray[np.int32]
    volume: npt.NDArray[np.integer]
    below: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


def fixed_weights(rows: ODMatrix, promise: Promise) -> npt.NDArray[np.int64]:
    """Weights in whole units where the promise is about them, else none."""
    return np.empty(0, dtype=np.int64) if promise.k_population is None else rows.weight_units


def origins_of(rows: ODMatrix, promise: Promise) -> npt.NDArray[np.int32]:
    """Where rows start, where the promise is about visited tiles, else nothing."""
    return np.empty(0, dtype=np.int32) if promise.min_visited == 1 else rows.origin.astype(np.int32)


def number_of_people(rows: ODMatrix) -> int:
    """One more than the largest person code; 0 without ids."""
    return 0 if rows.person is None else int(rows.person.max(initial=-1)) + 1
