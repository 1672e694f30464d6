"""Tiles: the finest zones of a zoning that a product uses, with centroids and, on demand, polygons.

A zoning is a plugin of the group `odanon.zonings` with two methods: `assign(lat, lon)` gives every point the
label of its tile (None where the point lies outside the zoning or has no usable coordinates), and
`tiles(labels)` describes the tiles behind labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray, ObjectArray


@dataclass(frozen=True, eq=False)
class GridCells:
    """Where grid tiles sit: cell indices northwards and eastwards from the origin of the grid's CRS."""

    row: npt.NDArray[np.int64]
    col: npt.NDArray[np.int64]
    cell_m: float


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles sorted by label, one entry each; coordinates are degrees in EPSG:4326."""

    label: ObjectArray
    lat: FloatArray
    lon: FloatArray
    kind: str  # h3, grid, voronoi, polygons, unplaced
    draw: Callable[[], ObjectArray]  # polygons aligned with `label`, built when first asked for
    cells: GridCells | None = None  # of grid tiles
    name: ObjectArray | None = None  # what people call each tile, None where nobody says

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def geometry(self) -> ObjectArray:
        """Shapely polygons in EPSG:4326."""
        return self.draw()


def distinct_labels(labels: Any) -> ObjectArray:
    """Sorted distinct labels without missing values."""
    import pandas as pd

    names = pd.unique(pd.Series(np.asarray(labels, dtype=object)).dropna())
    if not len(names):
        raise OdanonError("no tile has a label; check that the points lie inside the zoning")
    return np.array(sorted(str(name) for name in names), dtype=object)


def on_earth(lat: FloatArray, lon: FloatArray) -> npt.NDArray[np.bool_]:
    """Which coordinate pairs are finite and in range."""
    return (lat >= -90) & (lat <= 90) & (lon >= -180) & (lon <= 180)


def known(names: ObjectArray, labels: Any, what: str) -> npt.NDArray[np.int64]:
    """Positions of the distinct labels in sorted `names`; a stranger is an error that counts, never lists."""
    wanted = distinct_labels(labels)
    strangers = int((~np.isin(wanted, names)).sum())
    if strangers:
        raise OdanonError(f"{strangers} of {len(wanted)} tile labels are not {what}; use the zoning that assigned them")
    return np.searchsorted(names, wanted)


def unplaced(labels: Any) -> Tiles:
    """Tiles known by label alone: enough for a hierarchy from a table, not for distances or maps."""
    names = distinct_labels(labels)
    nowhere = np.full(len(names), np.nan)
    return Tiles(names, nowhere, nowhere, "unplaced", draw=_no_map)


def _no_map() -> ObjectArray:
    raise OdanonError("these tiles are known by label alone and cannot be drawn; give their zones")
