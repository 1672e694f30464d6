"""The flat tree: a value hierarchy over tiles as post-order arrays (ALGORITHMS, Objects).

Nodes are numbered children before parents, so one forward loop is a bottom-up pass, the root is the last
node, and a subtree is a contiguous run of ids. Tiles are the leaves; their rank in post-order is the index
that matrices and kernels use, and the tiles below any node are a contiguous run of ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError

VIRTUAL_ROOT = "all"  # joins the top nodes of a hierarchy that has no natural root

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A rooted tree whose leaves are the tiles.

    `n_tiles` is |n|: the tiles below a node, counted as `coverage` says (`observed`: the leaves of this tree;
    `full`: every tile of the zoning inside the node, with traffic or without).
    """

    parent: npt.NDArray[np.int32]  # -1 at the root
    n_tiles: npt.NDArray[np.int64]
    level: npt.NDArray[np.int16]
    label: npt.NDArray[np.object_]  # the zone id of every node, unique
    kind: str
    coverage: str = "observed"
    lat: FloatArray | None = None  # centroids by tile rank, in degrees; None where nobody knows them
    lon: FloatArray | None = None
    name: npt.NDArray[np.object_] | None = None  # what people call each node, None where nobody says

    def __repr__(self) -> str:
        return f"<Hierarchy {self.kind}: {self.n_leaves:,} tiles, {len(self.parent):,} nodes>"

    @classmethod
    def from_parents(
        cls,
        label: Sequence[str],
        parent: Sequence[int] | IntArray,
        *,
        kind: str,
        n_tiles: IntArray | None = None,
        level: IntArray | None = None,
        coverage: str = "observed",
    ) -> "Hierarchy":
        """Build from nodes in any order; `parent` holds positions in `label`, -1 for the one root.

        Siblings are ordered by label, so the same tree always gets the same ids.
        """
        labels = np.asarray(label, dtype=object)
        up = np.asarray(parent, dtype=np.int64)
        if len(set(labels.tolist())) != len(labels):
            raise OdanonError("the hierarchy names a node twice; give every node a unique id")
        roots = np.flatnonzero(up < 0)
        if len(labels) and not len(roots):
            raise OdanonError("the hierarchy has a cycle; every node must lead to the root")
        if len(roots) != 1:
            raise OdanonError(f"the hierarchy has {len(roots)} roots; join them under exactly one")
        order = _post_order(labels, up, int(roots[0]))
        if len(order) != len(labels):
            raise OdanonError("the hierarchy has a cycle; every node must lead to the root")
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        new_parent = np.where(up[order] < 0, -1, position[up[order]]).astype(np.int32)
        depth = _depth(new_parent) if level is None else np.asarray(level)[order]
        if depth.max() > np.iinfo(np.int16).max:
            raise OdanonError(f"the hierarchy is {depth.max()} levels deep; merge chains of single children first")
        counts = _leaf_counts(new_parent) if n_tiles is None else np.asarray(n_tiles)[order]
        return cls(
            parent=new_parent,
            n_tiles=counts.astype(np.int64),
            level=depth.astype(np.int16),
            label=labels[order],
            kind=kind,
            coverage=coverage,
        )

    def placed(self, label: npt.NDArray[np.object_], lat: FloatArray, lon: FloatArray) -> "Hierarchy":
        """The same tree with the centroids of its tiles, given by label in any order; NaN anywhere: unknown."""
        at = {name: position for position, name in enumerate(label)}
        order = np.array([at[name] for name in self.label[self.tiles]])
        lat, lon = np.asarray(lat)[order], np.asarray(lon)[order]
        return replace(self, lat=lat, lon=lon) if np.isfinite(lat + lon).all() else self

    def named(self, label: npt.NDArray[np.object_], name: npt.NDArray[np.object_]) -> "Hierarchy":
        """The same tree with the names of some nodes, given by label in any order; others keep theirs."""
        told = {each: called for each, called in zip(label.tolist(), name.tolist(), strict=True) if called is not None}
        if not told:
            return self
        before = [None] * len(self) if self.name is None else self.name.tolist()
        names = [told.get(each, had) for each, had in zip(self.label.tolist(), before, strict=True)]
        return replace(self, name=np.array(names, dtype=object))

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def root(self) -> int:
        return len(self.parent) - 1

    @cached_property
    def size(self) -> npt.NDArray[np.int32]:
        """Nodes in the subtree of each node, itself included."""
        size = [1] * len(self)
        for node, up in enumerate(self.parent.tolist()):
            if up >= 0:
                size[up] += size[node]
        return np.array(size, dtype=np.int32)

    @cached_property
    def tiles(self) -> npt.NDArray[np.int32]:
        """Node ids of the leaves: `tiles[rank]` is the node of a tile rank."""
        return np.flatnonzero(self.size == 1).astype(np.int32)

    @cached_property
    def tile_end(self) -> npt.NDArray[np.int32]:
        """One past the last tile rank below each node."""
        is_leaf = np.zeros(len(self), dtype=np.int32)
        is_leaf[self.tiles] = 1
        return np.cumsum(is_leaf, dtype=np.int32)

    @cached_property
    def tile_start(self) -> npt.NDArray[np.int32]:
        """The first tile rank below each node."""
        before_subtree = np.arange(len(self)) - self.size
        ends = np.concatenate([self.tile_end, [0]])  # index -1 answers 0 for subtrees that start the order
        return ends[before_subtree].astype(np.int32)

    @cached_property
    def child_start(self) -> npt.NDArray[np.int64]:
        """The children of node `n` are `children[child_start[n]:child_start[n + 1]]`."""
        counts = np.bincount(self.parent[:-1], minlength=len(self))
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def children(self) -> npt.NDArray[np.int32]:
        """All nodes but the root, grouped by parent, siblings in order."""
        return np.argsort(self.parent[:-1], kind="stable").astype(np.int32)

    @cached_property
    def next_lca(self) -> npt.NDArray[np.int32]:
        """The lowest common ancestor of tiles `rank` and `rank + 1`.

        That of any two ranks is the maximum in between: `next_lca[a:b].max()` for a < b.
        """
        not_first = self.children[self.tile_start[self.children] > self.tile_start[self.parent[self.children]]]
        lca = np.empty(self.n_leaves - 1, dtype=np.int32)
        lca[self.tile_start[not_first] - 1] = self.parent[not_first]
        return lca

    @cached_property
    def rank_of(self) -> dict[str, int]:
        """Tile label -> tile rank."""
        return {label: rank for rank, label in enumerate(self.label[self.tiles].tolist())}

    @property
    def n_leaves(self) -> int:
        return len(self.tiles)

    def is_ancestor(self, upper: IntArray | int, lower: IntArray | int) -> Any:
        """Whether `upper` is `lower` or above it; O(1) a pair."""
        return (np.subtract(upper, self.size[upper]) < lower) & np.less_equal(lower, upper)

    def is_partition(self, nodes: IntArray) -> bool:
        """Whether the nodes cover every tile exactly once."""
        cut = np.sort(nodes)
        starts, ends = self.tile_start[cut], self.tile_end[cut]
        return np.array_equal(np.append(starts, self.n_leaves), np.insert(ends, 0, 0))

    def cut_at_level(self, level: int) -> npt.NDArray[np.int64]:
        """The uniform cut: the first nodes at `level` or below it on the way down, and tiles that end above it."""
        above = self.level < level
        reached = ~above | (self.size == 1)
        reached[:-1] &= above[self.parent[:-1]]
        return np.flatnonzero(reached)

    def owners(self, nodes: IntArray) -> npt.NDArray[np.int32]:
        """For every tile rank the node that covers it, -1 where none does; the nodes must not overlap."""
        owner = np.full(self.n_leaves, -1, dtype=np.int32)
        cut = np.sort(nodes)
        lengths = self.tile_end[cut] - self.tile_start[cut]
        offset = np.repeat(self.tile_start[cut] - (np.cumsum(lengths) - lengths), lengths)
        owner[np.arange(lengths.sum()) + offset] = np.repeat(cut, lengths)
        return owner

    def members(self, node: int) -> list[str]:
        """Labels of the tiles below a node."""
        return self.label[self.tiles[self.tile_start[node] : self.tile_end[node]]].tolist()

    def ranks(self, labels: Any) -> npt.NDArray[np.int32]:
        """Tile ranks of tile labels; an unknown label is an error that counts, never lists, the strangers."""
        import pandas as pd

        codes, names = pd.factorize(np.asarray(labels, dtype=object))
        if (codes < 0).any():
            raise OdanonError(f"{int((codes < 0).sum())} rows of the matrix name no tile; drop or repair them first")
        known = np.array([self.rank_of.get(name, -1) for name in names.tolist()], dtype=np.int32)
        if (known < 0).any():
            numbers = any(not isinstance(name, str) and str(name) in self.rank_of for name in names.tolist())
            raise OdanonError(
                f"{int((known < 0).sum())} tiles of the matrix are missing from the hierarchy"
                f" ({self.n_leaves} tiles); "
                + (
                    "its labels are texts and those of the matrix are not: make texts of them, as with astype(str)"
                    if numbers
                    else "build it over all tiles of the matrix"
                )
            )
        return known[codes] if len(codes) else np.empty(0, dtype=np.int32)


def _post_order(labels: npt.NDArray[np.object_], parent: IntArray, root: int) -> npt.NDArray[np.int64]:
    """Positions in post-order, siblings by label (reverse pre-order with the last sibling first)."""
    by_label = np.argsort(labels.astype(str), kind="stable")
    children: list[list[int]] = [[] for _ in range(len(labels))]
    up = parent.tolist()
    for node in by_label.tolist():
        if up[node] >= 0:
            children[up[node]].append(node)
    order: list[int] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(children[node])
    return np.array(order[::-1], dtype=np.int64)


def _depth(parent: IntArray) -> npt.NDArray[np.int64]:
    depth = [0] * len(parent)
    up = parent.tolist()
    for node in range(len(parent) - 2, -1, -1):
        depth[node] = depth[up[node]] + 1
    return np.array(depth, dtype=np.int64)


def _leaf_counts(parent: IntArray) -> npt.NDArray[np.int64]:
    counts = [0] * len(parent)
    for node, up in enumerate(parent.tolist()):
        counts[node] = counts[node] or 1
        if up >= 0:
            counts[up] += counts[node]
    return np.array(counts, dtype=np.int64)
