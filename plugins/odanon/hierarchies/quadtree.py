"""The quadtree: squares cut into four until each holds one tile (001 section 2; ALGORITHMS, Hierarchies)."""

from odanon.geo.crs import AUTO, MetricCrsOrAuto
from odanon.hierarchies.blocks import finest_blocks, nested_blocks, without_single_children
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.plugin import parameter, plugin

_FINEST_M = 1.0  # centroids in one square of this side stay together


@plugin
class QuadtreeHierarchy:
    """Squares cut into four until each holds one tile, so dense places get deeper branches."""

    crs: MetricCrsOrAuto = parameter(
        AUTO,
        "projected CRS of the squares, for tiles that are not grid cells; auto centres one on the tiles,"
        " a name keeps squares equal over days",
    )

    def build(self, tiles: Tiles) -> Hierarchy:
        """Only squares that split their tiles are kept; a node's level is its depth in the full quadtree."""
        finest = finest_blocks(tiles, 2, _FINEST_M, self.crs)
        nodes = without_single_children(nested_blocks(tiles.label, finest, 2))
        tree = Hierarchy.from_parents(nodes.label.tolist(), nodes.parent, kind="quadtree", level=nodes.level)
        return tree.placed(tiles.label, tiles.lat, tiles.lon)
