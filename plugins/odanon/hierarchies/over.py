"""Which tiles a hierarchy stands on: all of the zoning, visited or not, where they can be listed (000 section 3.5)."""

from dataclasses import replace

import numpy.typing as npt

from odanon.geo.placenames import plain_names
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.protocols import HierarchyBuilder, KnowsEveryTile, Zoning


def tree_over(zoning: Zoning, hierarchy: HierarchyBuilder, visited: npt.ArrayLike) -> tuple[Tiles, Hierarchy]:
    """Every tile of the zoning and the hierarchy over them, or the `visited` ones of a zoning without a list.

    Over every tile, areas do not tell which of them were visited, and sizes count all initial tiles.
    """
    tiles = zoning.tiles(visited)  # refuses labels that are not of this zoning
    if not isinstance(zoning, KnowsEveryTile):
        return tiles, _named(hierarchy.build(tiles), tiles)
    tiles = zoning.tiles(zoning.every_label)
    return tiles, replace(_named(hierarchy.build(tiles), tiles), coverage="full")


def _named(tree: Hierarchy, tiles: Tiles) -> Hierarchy:
    """A tree with the names of its tiles; those of packages of others, too, are lines of plain text from here on."""
    if tree.name is not None:
        tree = replace(tree, name=None).named(tree.label, plain_names(tree.name, "the hierarchy"))
    return tree if tiles.name is None else tree.named(tiles.label, plain_names(tiles.name, "the zoning"))
