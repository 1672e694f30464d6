"""One matrix, two trees and a promise as the flat arrays that the ATG kernels read."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.compilation import announce_compilation
from odanon.anonymizers.trees import kernels
from odanon.anonymizers.trees.arrays import (
    PERSON_BITS,
    Entries,
    Marks,
    Scratch,
    Side,
    Test,
    fixed_weights,
    number_of_people,
    origins_of,
)
from odanon.anonymizers.trees.lca import floor_log2, lca_table
from odanon.anonymizers.trees.limits import large_enough, lift
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of `od` by origin; `least` is the volume that must be published (V minus the budget C)."""

    od: ODMatrix
    origins: Hierarchy
    destinations: Hierarchy
    anonymizer: Anonymizer

    def __post_init__(self) -> None:
        self.anonymizer.check_trees(self.origins, self.destinations)

    @classmethod
    def checked(cls, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, anonymizer: Anonymizer) -> "Problem":
        """A problem that can be solved, or an error that says why not."""
        anonymizer.check(od)
        announce_compilation(kernels.sweep)
        return cls(od, origins, destinations, anonymizer)

    @cached_property
    def transposed(self) -> "Problem":
        """The same problem seen from the destinations."""
        od, order = self.od, self._order
        flipped = ODMatrix(
            origin=od.destination[order],
            destination=od.origin[order],
            trips=od.trips[order],
            person=None if od.person is None else od.person[order],
            weight=None if od.weight is None else od.weight[order],
        )
        problem = Problem(flipped, self.destinations, self.origins, self.anonymizer)
        problem.__dict__["transposed"] = self  # turning it back costs nothing
        return problem

    def during(self, interval: int) -> "Problem":
        """The same problem of the rows in an interval; limits on areas are those of all rows."""
        assert self.od.times is not None
        tree = self.od.times.tree
        rows = self.od if self.by_person else self.od.pairs
        part = rows.during(int(tree.tile_start[interval]), int(tree.tile_end[interval]))
        problem = Problem(part, self.origins, self.destinations, self.anonymizer)
        problem.__dict__.update(side=self.side, fits=self.fits, destination_fits=self.destination_fits)
        return problem

    @cached_property
    def _order(self) -> npt.NDArray[np.int32]:
        return kernels.stable_order(self.od.destination, self.destinations.n_leaves)

    def back(self, pair_values: npt.NDArray) -> npt.NDArray:
        """Values by pair of the transposed problem, in the order of this one's pairs."""
        pairs = self.od.pairs
        order = kernels.stable_order(pairs.destination, self.destinations.n_leaves)
        values = np.empty_like(pair_values)
        values[order] = pair_values
        return values

    @property
    def volume(self) -> int:
        return self.od.volume

    @property
    def least(self) -> int:
        return self.volume - self.anonymizer.budget(self.volume)

    @property
    def by_person(self) -> bool:
        """Whether the kernels must see who travels."""
        return self.anonymizer.unit != "trips"

    @property
    def shift(self) -> int:
        return PERSON_BITS if self.by_person else 0

    @cached_property
    def rows(self) -> ODMatrix:
        """The rows that the kernels see: people, or pairs where they do not count."""
        return self.od if self.by_person else self.od.pairs

    @cached_property
    def entries(self) -> Entries:
        """Rows sorted by (origin, destination[, person]), as narrow as the total volume allows."""
        rows = self.rows
        trips = rows.trips.astype(np.int32) if self.volume < 2**31 else rows.trips
        key = rows.destination
        if self.by_person:
            assert rows.person is not None
            key = rows.destination.astype(np.int64) << PERSON_BITS | rows.person
        return Entries(key, trips, fixed_weights(rows, self.anonymizer), origins_of(rows, self.anonymizer))

    def room(self) -> Entries:
        """Buffers that hold all entries."""
        key, volume, weight, origin = self.entries
        return Entries(np.empty_like(key), np.empty_like(volume), np.empty_like(weight), np.empty_like(origin))

    def scratch(self) -> Scratch:
        """Room for sweeps over rows of this problem."""
        n_nodes = len(self.destinations)
        n_people = number_of_people(self.rows)
        return Scratch(
            spine=np.empty((6, n_nodes), dtype=np.int64),
            correction=np.zeros(n_nodes, dtype=np.int32),
            last_seen=np.zeros(n_people, dtype=np.int64),
            tally=np.zeros(n_people, dtype=np.int64),
            turn=np.zeros(1, dtype=np.int64),
            origin=np.zeros(self.origins.n_leaves, dtype=np.int64),
        )

    @cached_property
    def emitted(self) -> npt.NDArray[np.int64]:
        """Trips that leave each origin tile."""
        return np.bincount(self.od.origin, self.od.trips, self.origins.n_leaves).astype(np.int64)

    @cached_property
    def entry_start(self) -> npt.NDArray[np.int64]:
        """First entry of every origin tile."""
        return _starts(self.rows.origin, self.origins.n_leaves)

    @cached_property
    def pair_start(self) -> npt.NDArray[np.int64]:
        """First tile pair of every origin tile."""
        return _starts(self.od.pairs.origin, self.origins.n_leaves) if self.by_person else self.entry_start

    @cached_property
    def side(self) -> Side:
        tree = self.destinations
        return Side(
            table=lca_table(tree),
            exponent=floor_log2(tree.n_leaves),
            tile=tree.tiles,
            size=tree.n_tiles,
            lift=lift(tree, large_enough(tree, self.od.destination, self.od, self.anonymizer)),
        )

    def marks(self) -> Marks:
        """Room to count people set by set."""
        return Marks.of(number_of_people(self.rows), self.origins.n_leaves, self.destinations.n_leaves)

    @cached_property
    def test(self) -> Test:
        return Test.of(self.anonymizer)

    @cached_property
    def fits(self) -> npt.NDArray[np.bool_]:
        """Origin nodes that the limits on areas allow to be published."""
        return self._fitting(self.origins, self.od.origin)

    @cached_property
    def destination_fits(self) -> npt.NDArray[np.bool_]:
        """Destination nodes that they allow."""
        return self._fitting(self.destinations, self.od.destination)

    def _fitting(self, tree: Hierarchy, tile: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        return large_enough(tree, tile, self.od, self.anonymizer) & (tree.n_tiles <= self.test.max_tiles)


def _starts(tiles: npt.NDArray[np.int32], n_tiles: int) -> npt.NDArray[np.int64]:
    """Where each tile begins in a sorted column, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(tiles, minlength=n_tiles))])
