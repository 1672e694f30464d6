"""Tiles that are square cells of a metric grid."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from odanon.errors import OdanonError
from odanon.geo.crs import MetricCrs, to_degrees, to_metres
from odanon.model.tiles import GridCells, ObjectArray, Tiles, distinct_labels, on_earth
from odanon.plugin import parameter, plugin

MAX_CELLS = 1_000_000  # that a tree over all of them can stand on

_LABEL = re.compile(r"(\d+(?:\.\d+)?)mN(-?\d+)E(-?\d+)")


def cell_label(cell_m: float, row: int, col: int) -> str:
    """`500mN12E-3`: side in metres, then the cell's row northwards and column eastwards of the CRS origin."""
    return f"{cell_m:.15g}mN{row}E{col}"


@dataclass(frozen=True)
class _Box:
    """Rows and columns of cells, the last ones included."""

    first_row: int
    first_col: int
    last_row: int
    last_col: int

    @property
    def n_cells(self) -> int:
        return (self.last_row - self.first_row + 1) * (self.last_col - self.first_col + 1)

    def holds(self, row: npt.NDArray[np.int64], col: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        rows = (self.first_row <= row) & (row <= self.last_row)
        return rows & (self.first_col <= col) & (col <= self.last_col)


def _in_order(bounds: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    west, south, east, north = bounds
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise ValueError("give west, south, east and north in degrees, in this order")
    return bounds


Bounds = Annotated[tuple[float, float, float, float], AfterValidator(_in_order)]


@plugin
class GridZoning:
    """Square cells of a given side in a projected CRS, aligned with its origin.

    The CRS is named, never guessed from the points, so that a place has the same label on every day. With bounds the grid
    knows all its cells, so that areas do not tell which of them were visited.
    """

    cell_m: float = parameter(500, "side of a cell in metres", gt=0, le=1e6)
    crs: MetricCrs = parameter(..., "projected CRS in metres that fits the region, such as EPSG:2154")
    bounds: Bounds | None = parameter(
        None, "west, south, east and north in degrees: cells outside are unknown; a pipeline publishes no grid without"
    )

    def __post_init__(self) -> None:
        if self.bounds is not None and self._box.n_cells > MAX_CELLS:
            raise OdanonError(f"the bounds hold {self._box.n_cells:,} cells, more than {MAX_CELLS:,}; use larger cells")

    @cached_property
    def _box(self) -> "_Box":
        assert self.bounds is not None
        west, south, east, north = self.bounds
        along = np.linspace(0, 1, 65)  # edges are curves in the plane
        lon = np.concatenate([west + along * (east - west)] * 2 + [np.full(65, west), np.full(65, east)])
        lat = np.concatenate([np.full(65, south), np.full(65, north)] + [south + along * (north - south)] * 2)
        x, y = to_metres(lat, lon, self.crs)
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise OdanonError(f"the bounds leave the region where {self.crs} is defined; correct one of them")
        low, high = (np.floor(pick([y, x], axis=1) / self.cell_m).astype(int).tolist() for pick in (np.min, np.max))
        return _Box(*low, *high)

    @cached_property
    def every_label(self) -> ObjectArray:
        """The labels of all cells; there is no such list without bounds."""
        if self.bounds is None:
            raise AttributeError("every_label")
        box = self._box
        rows, cols = range(box.first_row, box.last_row + 1), range(box.first_col, box.last_col + 1)
        return np.array(sorted(cell_label(self.cell_m, row, col) for row in rows for col in cols), dtype=object)

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The grid cell of each point; None outside the domain of the CRS."""
        import pandas as pd

        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        labels = np.full(len(lat), None, dtype=object)
        x, y = to_metres(lat, lon, self.crs)
        usable = np.flatnonzero(on_earth(lat, lon) & np.isfinite(x) & np.isfinite(y))
        row = np.floor(y[usable] / self.cell_m).astype(np.int64)
        col = np.floor(x[usable] / self.cell_m).astype(np.int64)
        if self.bounds is not None:
            inside = self._box.holds(row, col)
            usable, row, col = usable[inside], row[inside], col[inside]
        codes, cells = pd.factorize((row << 32) + col)
        rows, cols = (cells + (1 << 31)) >> 32, ((cells + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
        names = [cell_label(self.cell_m, r, c) for r, c in zip(rows.tolist(), cols.tolist(), strict=True)]
        labels[usable] = np.array(names, dtype=object)[codes]
        return labels

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centres and squares of cells of this grid."""
        names = distinct_labels(labels)
        parsed = [_LABEL.fullmatch(name) for name in names]
        strangers = sum(match is None or float(match[1]) != self.cell_m for match in parsed)
        if strangers:
            raise OdanonError(
                f"{strangers} of {len(names)} tile labels are not {self.cell_m:g} m grid cells;"
                " use the zoning that assigned them"
            )
        cell = np.array([(match[2], match[3]) for match in parsed if match], dtype=np.int64)
        row, col = cell.T
        lat, lon = to_degrees((col + 0.5) * self.cell_m, (row + 0.5) * self.cell_m, self.crs)
        cells = GridCells(row, col, self.cell_m)
        return Tiles(names, lat, lon, "grid", draw=lambda: _squares(cells, self.crs), cells=cells)


def _squares(cells: GridCells, crs: str) -> ObjectArray:
    """Cell polygons; a corner shared by two cells has the same coordinates in both."""
    import shapely

    corner_col = cells.col[:, None] + np.array([0, 1, 1, 0])
    corner_row = cells.row[:, None] + np.array([0, 0, 1, 1])
    lat, lon = to_degrees(corner_col * cells.cell_m, corner_row * cells.cell_m, crs)
    return shapely.polygons(np.stack([lon, lat], axis=-1))
