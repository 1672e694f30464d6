"""Conformance of hierarchy builders."""

import numpy as np
import numpy.typing as npt

from odanon.model.tiles import Tiles
from odanon.protocols import HierarchyBuilder, Zoning
from odanon.testing.parameters import check_parameters


def check_hierarchy(plugin: HierarchyBuilder, zoning: Zoning, labels: npt.ArrayLike) -> None:
    """All rules for a hierarchy builder, on tiles of a zoning it can work with."""
    check_parameters(plugin)
    name = type(plugin).__name__
    labels = np.asarray(labels, dtype=object)
    for chosen in (labels, labels[:1], labels[: max(2, len(labels) // 3)]):
        tiles: Tiles = zoning.tiles(chosen)
        tree = plugin.build(tiles)
        assert sorted(tree.label[tree.tiles]) == sorted(tiles.label), f"{name}: the leaves are not the tiles"
        assert tree.parent[-1] == -1, f"{name}: the last node is not the root"
        assert (tree.parent[:-1] > np.arange(len(tree) - 1)).all(), f"{name}: nodes are not in post-order"
        assert (tree.n_tiles >= 1).all(), f"{name}: a node without tiles"
        at = np.searchsorted(tiles.label, tree.label[tree.tiles])
        for mine, theirs in ((tree.lat, tiles.lat), (tree.lon, tiles.lon)):
            kept = mine is not None and np.array_equal(mine, theirs[at])
            assert kept, f"{name}: the centroids of the tiles are lost; end with `tree.placed(...)`"
        children = np.zeros(len(tree), np.int64)
        np.add.at(children, tree.parent[:-1], tree.n_tiles[:-1])
        assert (tree.n_tiles >= children).all(), f"{name}: a node smaller than its children together"
        assert len(set(tree.label)) == len(tree), f"{name}: two nodes share a label"
        again = plugin.build(zoning.tiles(chosen[::-1]))
        same = np.array_equal(again.label, tree.label) and np.array_equal(again.parent, tree.parent)
        assert same, f"{name}: the tree depends on the order of the tiles"
