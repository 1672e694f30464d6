"""The Ward dendrogram of tile centroids: a binary tree of compact areas (ALGORITHMS, Hierarchies)."""

import numpy as np
import numpy.typing as npt

from odanon.geo.crs import AUTO, MetricCrsOrAuto, resolve, to_metres
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import ObjectArray, Tiles
from odanon.plugin import parameter, plugin


@plugin
class WardHierarchy:
    """Binary tree that joins neighbouring tiles into compact areas (Ward's method on centroids)."""

    crs: MetricCrsOrAuto = parameter(AUTO, "projected CRS of the centroids; auto centres one on the tiles")

    def build(self, tiles: Tiles) -> Hierarchy:
        """The dendrogram; an inner node is named after its number of tiles and its first tile in label order."""
        from odanon.hierarchies.kernels import ward_merges

        x, y = to_metres(tiles.lat, tiles.lon, resolve(self.crs, tiles.lat, tiles.lon))
        left, right = ward_merges(x, y)
        parent = np.full(2 * len(tiles) - 1, -1, dtype=np.int64)
        merged = np.arange(len(tiles), len(parent))
        parent[left], parent[right] = merged, merged
        tree = Hierarchy.from_parents(_labels(tiles.label, left, right), parent, kind="ward")
        return tree.placed(tiles.label, tiles.lat, tiles.lon)


def _labels(tile: ObjectArray, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> list[str]:
    """`w12:x` is the area of 12 tiles whose first is `x`: areas that share a first tile are nested."""
    first, count = list(range(len(tile))), [1] * len(tile)
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        first.append(min(first[a], first[b]))
        count.append(count[a] + count[b])
    inner = zip(count[len(tile) :], first[len(tile) :], strict=True)
    return tile.tolist() + [f"w{size}:{tile[at]}" for size, at in inner]
