"""Areas that are bounding boxes of tiles: their members, sizes and names (000 section 4.3)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.places import kernels
from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.model.areas import UNLEVELLED, Areas, SetNames
from odanon.model.hierarchy import Hierarchy

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BoxSide:
    """A hierarchy whose tiles have centroids on a plane, `x` and `y` in centimetres, and perhaps outlines there."""

    tree: Hierarchy
    x: Ints
    y: Ints
    outlines: ObjectArray | None = None

    def areas(self, points: Ints, cluster: Ints) -> tuple[Ints, Areas]:
        """The node of every point, which is the box around its cluster, and the boxes that are no tiles.

        `points` (2, n) are centroids of tiles, `cluster` any numbers. A box is published as the set of tiles that
        it touches; boxes that touch the same tiles are one area, a box that touches one tile is that tile.
        """
        box, of_point = _bounds(points, cluster)
        start, members = self._touched(box)
        size = self._sizes(box, np.diff(start))
        name = self._names.numbers(start, members, size)
        node = self.tree.tiles[members[start[:-1]]].astype(np.int64)
        wide = np.flatnonzero(np.diff(start) > 1)
        _, first, number = np.unique(name[wide], return_index=True, return_inverse=True)
        node[wide] = len(self.tree) + number
        boxes = Areas(SetNames.labels(name), size, np.full(len(name), UNLEVELLED, dtype=np.int16), start, members)
        return node[of_point], boxes.take(wide[first])

    def _touched(self, box: Ints) -> tuple[Ints, npt.NDArray[np.int32]]:
        """(start, members): the tiles that each box touches; by their centroids where nobody knows their outlines.

        Every tile of a flow is among them, also one whose centroid lies outside of it.
        """
        if self.outlines is None:
            return kernels.tiles_in_boxes(self.x, self.y, box, int(self._reach))
        import shapely

        west, east, south, north = box.astype(np.float64)
        touched = shapely.STRtree(self.outlines).query(shapely.box(west, south, east, north), predicate="intersects")
        start, inside = kernels.tiles_in_boxes(self.x, self.y, box, 0)
        centred = np.stack([np.repeat(np.arange(box.shape[1]), np.diff(start)), inside])
        number, members = np.unique(np.concatenate([touched, centred], axis=1), axis=1)
        return np.searchsorted(number, np.arange(box.shape[1] + 1)), members.astype(np.int32)

    def _sizes(self, box: Ints, listed: Ints) -> Ints:
        """|n|: the tiles listed or, where tiles without traffic count too, as many as fit within reach of the box."""
        if self._holds_every_tile:
            return listed
        west, east, south, north = box
        across, up = (span + 2 * self._reach for span in (east - west, north - south))
        return np.maximum(listed, np.rint(across * up / self._tile_area).astype(np.int64))

    @cached_property
    def _tile_area(self) -> float:
        """In square centimetres; known where the tree counts tiles that it does not hold."""
        import h3

        if self.tree.kind != "h3":
            raise OdanonError(
                f"tiles without traffic cannot be counted in boxes over a {self.tree.kind} hierarchy;"
                " use one with coverage observed"
            )
        return 1e4 * h3.cell_area(self.tree.label[self.tree.tiles[0]], unit="m^2")

    @cached_property
    def _reach(self) -> float:
        """A tile touches a box when its centroid is that close: half the distance between neighbouring tiles."""
        from scipy.spatial import cKDTree

        if not self._holds_every_tile:
            return (self._tile_area * 2 / 3**0.5) ** 0.5 / 2  # of hexagons
        places = np.unique(np.column_stack([self.x, self.y]), axis=0)
        return 0.0 if len(places) == 1 else cKDTree(places).query(places, k=2)[0][:, 1].min() / 2

    @cached_property
    def _holds_every_tile(self) -> bool:
        """Whether all tiles that count are in the tree, so that a box lists them all."""
        return bool(self.tree.n_tiles[-1] == self.tree.n_leaves)

    @cached_property
    def _names(self) -> SetNames:
        return SetNames(self.tree)


def _bounds(points: Ints, cluster: Ints) -> tuple[Ints, Ints]:
    """Distinct bounding boxes (west, east, south, north) and the box of every point."""
    order = np.argsort(cluster, kind="stable")
    fresh = np.append(True, np.diff(cluster[order]) != 0) if len(order) else np.empty(0, dtype=np.bool_)
    starts = np.flatnonzero(fresh)
    if not len(starts):
        return np.empty((4, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
    x, y = points[:, order]
    corners = [reduce.reduceat(axis, starts) for axis in (x, y) for reduce in (np.minimum, np.maximum)]
    box, of_cluster = np.unique(np.stack(corners), axis=1, return_inverse=True)
    of_point = np.empty(len(cluster), dtype=np.int64)
    of_point[order] = of_cluster.ravel()[np.cumsum(fresh) - 1]
    return box, of_point
