"""The areas of a release: zones of a hierarchy, sets of tiles, rests of the map, and what the latter two are called."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.model.hierarchy import Hierarchy

UNLEVELLED = -1  # the level of areas that are no zones
_REST = "rest of "
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that sizes never cancel


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of one side of a release and the tiles (ranks) each one covers.

    The tiles of area `a` are `members[start[a]:start[a + 1]]`. `n_tiles` may be larger than their number when
    the hierarchy counts tiles without traffic (coverage `full`).
    """

    label: npt.NDArray[np.object_]
    n_tiles: npt.NDArray[np.int64]
    level: npt.NDArray[np.int16]
    start: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]

    @classmethod
    def from_nodes(cls, tree: Hierarchy, nodes: npt.NDArray[np.integer]) -> "Areas":
        """Areas that are nodes of a hierarchy."""
        first, end = tree.tile_start[nodes], tree.tile_end[nodes]
        start = np.concatenate([[0], np.cumsum(end - first)]).astype(np.int64)
        members = np.arange(start[-1]) - np.repeat(start[:-1] - first, end - first)
        return cls(tree.label[nodes], tree.n_tiles[nodes], tree.level[nodes], start, members.astype(np.int32))

    def followed_by(self, other: "Areas") -> "Areas":
        """These areas and then the other ones."""
        return Areas(
            np.concatenate([self.label, other.label]),
            np.concatenate([self.n_tiles, other.n_tiles]),
            np.concatenate([self.level, other.level]),
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.members, other.members]),
        )

    def take(self, numbers: npt.NDArray[np.integer]) -> "Areas":
        """The areas with the given numbers, in that order."""
        lengths = np.diff(self.start)[numbers]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        members = self.members[np.arange(start[-1]) - np.repeat(start[:-1] - self.start[numbers], lengths)]
        return Areas(self.label[numbers], self.n_tiles[numbers], self.level[numbers], start, members)


@dataclass(frozen=True, eq=False)
class SetNames:
    """Names of areas that are sets of tiles: equal sets have equal names in all releases, and nothing else is told."""

    tree: Hierarchy

    def numbers(
        self, start: npt.NDArray[np.int64], members: npt.NDArray[np.int32], n_tiles: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint64]:
        """A number that identifies the members and the size of every area."""
        if not len(n_tiles):
            return np.empty(0, dtype=np.uint64)
        return np.add.reduceat(self._digests[members], start[:-1]) + n_tiles.astype(np.uint64) * _MIX

    @staticmethod
    def labels(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.object_]:
        return np.array([f"box {number:016x}" for number in numbers.tolist()], dtype=object)

    @cached_property
    def _digests(self) -> npt.NDArray[np.uint64]:
        """A number for every tile whose sum over the members of an area identifies the area."""
        names = self.tree.label[self.tree.tiles].tolist()
        parts = b"".join(hashlib.sha256(name.encode()).digest()[:8] for name in names)
        return np.frombuffer(parts, dtype="<u8").astype(np.uint64)


def rest_name(area: str, covered: npt.NDArray[np.object_]) -> str:
    """What is called the rest of the map, seen from an area with flows to the covered ones: equal rests share the mark."""
    mark = hashlib.sha256("\n".join(covered.tolist()).encode()).hexdigest()[:8]
    return f"{_REST}{area} #{mark}"


def is_rest(label: str) -> bool:
    return label.startswith(_REST)
