"""The fifth stage: the tree that says which tiles may be joined."""

from datetime import date
from typing import Any

import numpy as np

from odanon import registry
from odanon.errors import OdanonError
from odanon.hierarchies.over import tree_over
from odanon.model.figure import Figure
from odanon.model.files.tiles import write_tiles
from odanon.model.files.trees import from_parquet, to_parquet
from odanon.model.hierarchy import Hierarchy
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.protocols import HierarchyBuilder, Zoning
from odanon_assets.chain.od import read_rows, tile_labels
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry
from odanon_assets.lake.places import rows_stage
from odanon_assets.publisher.bundle import TILES

FIGURES = (
    Figure("nodes", "nodes", "tiles and areas of the tree", kind="size", tells_suppressed="yes"),
    Figure("tiles", "tiles", "leaves of the tree", kind="size", tells_suppressed="yes"),
    Figure("levels", "levels", "levels of the tree", kind="size", tells_suppressed="yes"),
)


def hierarchy(
    product: Product, lake: Lake, day: date, *, zoning: Zoning, hierarchy: HierarchyBuilder
) -> dict[str, Any]:
    """The value hierarchy over the tiles of the day."""
    rows = read_rows(lake, product, day)
    if rows.empty:
        raise OdanonError(f"{product.product} {day}: there are no trips, so there is nothing to publish")
    _, tree = tree_over(zoning, hierarchy, tile_labels(rows))
    if tree.coverage != "full":
        raise OdanonError(
            f"{product.product} {day}: areas of the hierarchy {product.hierarchy.plugin} would list only tiles that somebody"
            " visited, which tells where single people were; use the hierarchy h3 with coverage full, or a zoning that knows"
            " all its tiles: polygons, antennas, a grid with bounds or a boundary"
        )
    with lake.new(product.product, "hierarchy", day) as folder:
        to_parquet(tree, folder / "tree.parquet")
        if not registry.is_ours("zoning", product.zoning.plugin):
            write_tiles(zoning.tiles(tree.label[tree.tiles]), folder / TILES)
        told = {"plugin": product.hierarchy.plugin, **parameters_of(hierarchy)}
        carry(lake, product, rows_stage(product), day, folder, hierarchy=told)
        return write_figures(
            folder, {"nodes": len(tree), "tiles": tree.n_leaves, "levels": int(np.ptp(tree.level)) + 1}
        )


def read_tree(lake: Lake, product: Product, day: date) -> Hierarchy:
    """The hierarchy that was made for a day."""
    return from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")
