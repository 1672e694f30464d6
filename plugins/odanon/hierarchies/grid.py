"""The regular grid hierarchy: square blocks, each a fixed factor larger than the level below."""

from itertools import repeat

import numpy as np

from odanon.errors import OdanonError
from odanon.geo.crs import AUTO, MetricCrsOrAuto
from odanon.hierarchies.blocks import finest_blocks, nested_blocks
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.plugin import parameter, plugin
from odanon.zoning.grid import cell_label


@plugin
class GridHierarchy:
    """Nested square blocks of equal size at each level."""

    factor: int = parameter(2, "how many times longer the side of a block is one level up", ge=2, le=100)
    cell_m: float | None = parameter(
        None, "side in metres of the finest blocks, for tiles that are not grid cells themselves", gt=0
    )
    crs: MetricCrsOrAuto = parameter(
        AUTO, "projected CRS of those blocks; auto centres one on the tiles, a name keeps blocks equal over days"
    )

    def build(self, tiles: Tiles) -> Hierarchy:
        """All blocks that hold a tile, every tile at the same depth."""
        if tiles.cells is None and self.cell_m is None:
            raise OdanonError(
                f"a grid hierarchy over {tiles.kind} tiles needs cell_m, the side of its finest blocks in metres"
            )
        finest = finest_blocks(tiles, self.factor, self.cell_m or 0, self.crs)
        name = lambda height, row, col: cell_label(finest.cell_m * self.factor**height, row, col)  # noqa: E731
        nodes = nested_blocks(tiles.label, np.stack([finest.row, finest.col]), repeat((self.factor, self.factor)), name)
        tree = Hierarchy.from_parents(nodes.label.tolist(), nodes.parent, kind="grid", level=nodes.level)
        return tree.placed(tiles.label, tiles.lat, tiles.lon)
