"""Where the tiles of a matrix lie, for metrics in metres and square kilometres."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.h3steps import cells_of, is_h3_zone
from odanon.model.geometry import node_area_km2
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles

Floats = npt.NDArray[np.float64]

_BOX = -1  # level of areas that are in no hierarchy


@dataclass(frozen=True, eq=False)
class Ground:
    """Both hierarchies of a matrix, whose tiles have centroids; `tiles` tells how large tiles other than H3 cells are."""

    origins: Hierarchy
    destinations: Hierarchy
    tiles: Tiles | None = None
    prior: tuple[Floats, Floats] | None = None  # public weights of the nodes of both (`odanon.reconstruct.prior`)

    @classmethod
    def of(cls, origins: Hierarchy, destinations: Hierarchy, tiles: Tiles | None = None) -> "Ground | None":
        """None where nobody knows where the tiles lie."""
        return None if origins.lat is None or destinations.lat is None else cls(origins, destinations, tiles)

    @property
    def measurable(self) -> bool:
        """Whether the areas of tiles are known."""
        return self.tiles is not None or _is_h3(self.origins.label[self.origins.tiles])

    @cached_property
    def tile_km2(self) -> tuple[Floats, Floats]:
        """Area of every tile of both sides, by rank."""
        if not self.measurable:
            raise OdanonError("nobody knows how large these tiles are; use H3 cells, or give the zones of the tiles")
        names = [tree.label[tree.tiles] for tree in (self.origins, self.destinations)]
        return self._km2_of(names[0]), self._km2_of(names[1])

    def _km2_of(self, names: npt.NDArray[np.object_]) -> Floats:
        import h3

        if self.tiles is None or self.tiles.kind == "h3":
            return np.array([h3.cell_area(name, unit="km^2") for name in names.tolist()])
        return node_area_km2(list(self.tiles.geometry))[np.searchsorted(self.tiles.label, names)]


def centres(
    tree: Hierarchy, label: npt.NDArray[np.object_], level: npt.NDArray, start: npt.NDArray, members: npt.NDArray
) -> tuple[Floats, Floats]:
    """Latitude and longitude that areas are published at.

    The centre of an H3 cell is its own, that of a group of cells their mean, that of a box the middle of the box around its
    tiles' centroids (002 section 4.3); any other area has the mean of its tiles' centroids.
    """
    assert tree.lat is not None
    assert tree.lon is not None
    lat, lon = tree.lat[members], tree.lon[members]
    first, counts = start[:-1], np.diff(start)
    boxed = np.asarray(level) == _BOX
    found = []
    for axis in (lat, lon):
        middle = (np.minimum.reduceat(axis, first) + np.maximum.reduceat(axis, first)) / 2
        found.append(np.where(boxed, middle, np.add.reduceat(axis, first) / counts))
    cells = np.flatnonzero(_h3_cells(label))
    if len(cells):
        found[0][cells], found[1][cells] = np.array([_h3_centre(name) for name in label[cells].tolist()]).T
    return found[0], found[1]


def _h3_centre(name: str) -> Floats:
    import h3

    return np.mean([h3.cell_to_latlng(cell) for cell in cells_of(name)], axis=0)


def _is_h3(names: npt.NDArray[np.object_]) -> bool:
    return bool(_h3_cells(names[:1]).all())


def _h3_cells(names: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    return np.array([is_h3_zone(str(name)) for name in names.tolist()], dtype=np.bool_)
