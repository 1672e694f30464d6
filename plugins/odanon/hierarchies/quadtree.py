"""The quadtree: the square study area cut into four until each square holds one tile (001 section 2).

With fine steps a square is cut into two halves, and each half into two squares (ALGORITHMS, Hierarchies).
"""

import math
from collections.abc import Iterator
from itertools import cycle, repeat
from typing import Literal

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.boundary import Bounds
from odanon.geo.crs import AUTO, MetricCrsOrAuto, resolve, to_metres
from odanon.geo.h3steps import step_name
from odanon.hierarchies.blocks import nested_blocks, without_single_children
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.plugin import parameter, plugin

_FINEST_M = 1.0  # centroids in one square of this side stay together, with fine steps in one half of it
_HALVES = ("01", "23")  # quarters of the southern and the northern half

Ints = npt.NDArray[np.int64]


@plugin
class QuadtreeHierarchy:
    """Squares cut into four until each holds one tile, so dense places get deeper branches.

    The first square is the study area: the one around the tiles, or around given bounds.
    """

    crs: MetricCrsOrAuto = parameter(
        AUTO, "projected CRS of the squares, for tiles that are not grid cells; auto centres one on the tiles"
    )
    bounds: Bounds | None = parameter(
        None,
        "west, south, east and north of the study area in degrees, for tiles that are not grid cells; none: around the tiles",
    )
    steps: Literal["standard", "fine"] = parameter(
        "standard", "fine: one step more between a square and its quarters, its southern and northern halves"
    )

    def build(self, tiles: Tiles) -> Hierarchy:
        """Only areas that split their tiles are kept; a node's level counts the steps of the full tree down to it."""
        cells = tiles.cells
        row, col, depth = self._in_metres(tiles) if cells is None else _in_cells(cells.row, cells.col)
        factors: Iterator[tuple[int, int]] = repeat((2, 2))
        if self.steps == "fine":
            finest, factors = np.stack([row, col // 2]), cycle(((2, 1), (1, 2)))
            name = lambda height, row, col: _half_or_square(depth, height, row, col)  # noqa: E731
        else:
            finest = np.stack([row // 2, col // 2])
            name = lambda height, row, col: _path(depth - height, row, col)  # noqa: E731
        nodes = without_single_children(nested_blocks(tiles.label, finest, factors, name))
        tree = Hierarchy.from_parents(nodes.label.tolist(), nodes.parent, kind="quadtree", level=nodes.level)
        return tree.placed(tiles.label, tiles.lat, tiles.lon)

    def _in_metres(self, tiles: Tiles) -> tuple[Ints, Ints, int]:
        """Row and column of every tile's centroid among the quarters of the finest squares, and the depth of these."""
        crs = resolve(self.crs, tiles.lat, tiles.lon)
        x, y = to_metres(tiles.lat, tiles.lon, crs)
        corners = x, y
        if self.bounds is not None:
            west, south, east, north = self.bounds
            outside = (tiles.lon < west) | (tiles.lon > east) | (tiles.lat < south) | (tiles.lat > north)
            if outside.any():
                raise OdanonError(
                    f"{int(outside.sum())} of {len(tiles)} tiles lie outside the bounds of the quadtree; widen them"
                )
            corners = to_metres(np.array([south, south, north, north]), np.array([west, east, west, east]), crs)
        low = [min(place.min(), corner.min()) for place, corner in zip((x, y), corners, strict=True)]
        high = [max(place.max(), corner.max()) for place, corner in zip((x, y), corners, strict=True)]
        side = max(high[0] - low[0], high[1] - low[1], _FINEST_M)
        depth = math.ceil(math.log2(side / _FINEST_M))
        n = 2 ** (depth + 1)
        col, row = (
            np.minimum(np.floor((place - start) * n / side), n - 1).astype(np.int64)
            for place, start in zip((x, y), low, strict=True)
        )
        return row, col, depth


def _in_cells(row: Ints, col: Ints) -> tuple[Ints, Ints, int]:
    """Row and column of grid cells from the corner of them all, and the depth of squares of two by two."""
    row, col = row - row.min(), col - col.min()
    return row, col, int(max(row.max(), col.max()) // 2).bit_length()


def _half_or_square(depth: int, height: int, row: int, col: int) -> str:
    """`q203/01` is the southern half of the square `q203`, its quarters 0 and 1; halves alternate with squares."""
    square = depth - height // 2
    return _path(square, row, col) if height % 2 else step_name(_path(square, row // 2, col), _HALVES[row % 2])


def _path(depth: int, row: int, col: int) -> str:
    """`q203` is the fourth quarter of the first quarter of the third quarter: south-west 0, south-east 1, north-west 2."""
    steps = (2 * (row >> height & 1) + (col >> height & 1) for height in range(depth - 1, -1, -1))
    return "q" + "".join(map(str, steps))
