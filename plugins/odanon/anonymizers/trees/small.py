"""Reporting of small volumes (001 section 2.3): what each area leaves out, as one flow to the rest of the map."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.trees.groups import publishable
from odanon.model.areas import UNLEVELLED, Areas, rest_name
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

Nodes = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Lead:
    """The side whose areas come first (its tree, areas, and tile and node of every pair) and the other one.

    The rest of an area is every tile that none of its published flows reaches, with traffic or without, so that it
    tells nothing that the published flows do not.
    """

    od: ODMatrix
    tree: Hierarchy
    other: Hierarchy
    tile: npt.NDArray[np.int32]
    areas: Nodes
    pair_lead: Nodes
    pair_other: Nodes

    def report(self, promise: Anonymizer) -> tuple[Nodes, Nodes, Areas]:
        """New nodes of every pair on both sides and the rests; rest number r is node len(other) + r."""
        areas = self._complete_areas()
        covered = self._covered(areas)
        size = self.other.n_tiles[-1] - np.array([self.other.n_tiles[nodes].sum() for nodes in covered])
        area = np.searchsorted(areas, self.tree.owners(areas)[self.tile])  # number of each pair's area
        hidden = self.pair_lead < 0
        good = publishable(self.od, np.where(hidden, area, -1), len(areas), promise)
        for tiles in (size, self.tree.n_tiles[areas]):
            good &= (tiles >= promise.min_tiles) & (tiles <= (promise.max_tiles or np.inf))
        reported = np.flatnonzero(good)
        rest_node = np.full(len(areas), -1, dtype=np.int64)
        rest_node[reported] = len(self.other) + np.arange(len(reported))
        now = hidden & good[area]
        return (
            np.where(now, areas[area], self.pair_lead),
            np.where(now, rest_node[area], self.pair_other),
            self._rests(areas[reported], [covered[number] for number in reported], size[reported]),
        )

    def _complete_areas(self) -> npt.NDArray[np.int64]:
        """The areas, and the largest nodes clear of them where some tiles have none."""
        tree = self.tree
        owned = np.concatenate([[0], np.cumsum(tree.owners(self.areas) >= 0)])
        touched = owned[tree.tile_end] > owned[tree.tile_start]
        free = ~touched
        free[:-1] &= touched[tree.parent[:-1]]
        return np.sort(np.concatenate([self.areas, np.flatnonzero(free)]))

    def _covered(self, areas: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """The nodes of the other side that each area publishes flows to."""
        kept = self.pair_lead >= 0
        flows = pd.unique(self.pair_lead[kept].astype(np.int64) * len(self.other) + self.pair_other[kept])
        flows.sort()
        starts = np.searchsorted(flows // len(self.other), areas)
        ends = np.searchsorted(flows // len(self.other), areas, side="right")
        nodes = flows % len(self.other)
        return [nodes[a:b] for a, b in zip(starts, ends, strict=True)]

    def _rests(self, areas: Nodes, covered: list[npt.NDArray[np.int64]], size: npt.NDArray[np.int64]) -> Areas:
        tiles = [np.flatnonzero(self.other.owners(nodes) < 0) for nodes in covered]
        return Areas(
            label=np.array(
                [
                    rest_name(area, self.other.label[nodes])
                    for area, nodes in zip(self.tree.label[areas], covered, strict=True)
                ],
                dtype=object,
            ),
            n_tiles=size.astype(np.int64),
            level=np.full(len(areas), UNLEVELLED, dtype=np.int16),
            start=np.concatenate([[0], np.cumsum([len(ranks) for ranks in tiles])]).astype(np.int64),
            members=np.concatenate([*tiles, np.empty(0, np.int64)]).astype(np.int32),
        )
