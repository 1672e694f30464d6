"""Tiles that are square cells of a metric grid."""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.boundary import Bounds, in_metres, inside, study_area
from odanon.geo.crs import MetricCrs, to_degrees, to_metres
from odanon.model.tiles import GridCells, ObjectArray, Tiles, distinct_labels, on_earth
from odanon.plugin import parameter, plugin

MAX_CELLS = 1_000_000  # that a tree over all of them can stand on

_LABEL = re.compile(r"(\d+(?:\.\d+)?)mN(-?\d+)E(-?\d+)")


def cell_label(cell_m: float, row: int, col: int) -> str:
    """`500mN12E-3`: side in metres, then the cell's row northwards and column eastwards of the CRS origin."""
    return f"{cell_m:.15g}mN{row}E{col}"


@plugin
class GridZoning:
    """Square cells of a given side in a projected CRS, aligned with its origin.

    The CRS is named, never guessed from the points, so that a place has the same label on every day. Within a
    study area the grid knows all its cells, so that areas do not tell which of them were visited.
    """

    cell_m: float = parameter(500, "side of a cell in metres", gt=0, le=1e6)
    crs: MetricCrs = parameter(..., "projected CRS in metres that fits the region, such as EPSG:2154")
    bounds: Bounds | None = parameter(None, "west, south, east and north in degrees: what lies outside is unknown")
    boundary: Path | None = parameter(
        None, "polygon layer: what lies outside is unknown; a pipeline publishes no grid without it or bounds"
    )

    def __post_init__(self) -> None:
        if self.bounds is not None and self.boundary is None:
            self._cells  # noqa: B018  refuses too many

    @cached_property
    def _area(self) -> Any:
        return study_area(self.bounds, self.boundary)

    @cached_property
    def _cells(self) -> npt.NDArray[np.int64]:
        """(row, column) of every cell that touches the study area."""
        import shapely

        area = in_metres(self._area, self.crs)
        west, south, east, north = (int(np.floor(edge / self.cell_m)) for edge in area.bounds)
        n = (north - south + 1) * (east - west + 1)
        if n > MAX_CELLS:
            raise OdanonError(f"the study area holds {n:,} cells, more than {MAX_CELLS:,}; use larger cells")
        row, col = (part.ravel() for part in np.mgrid[south : north + 1, west : east + 1])
        shapely.prepare(area)
        side = self.cell_m
        squares = shapely.box(col * side, row * side, (col + 1) * side, (row + 1) * side)
        return np.stack([row, col])[:, shapely.intersects(area, squares)]

    @cached_property
    def every_label(self) -> ObjectArray:
        """The labels of all cells; there is no such list of a grid without end."""
        if self._area is None:
            raise AttributeError("every_label")
        return np.array(sorted(cell_label(self.cell_m, row, col) for row, col in self._cells.T.tolist()), dtype=object)

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The grid cell of each point; None outside the study area and outside the domain of the CRS."""
        import pandas as pd

        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        labels = np.full(len(lat), None, dtype=object)
        x, y = to_metres(lat, lon, self.crs)
        usable = np.flatnonzero(on_earth(lat, lon) & np.isfinite(x) & np.isfinite(y))
        if self._area is not None:
            usable = usable[inside(self._area, lat[usable], lon[usable])]
        row = np.floor(y[usable] / self.cell_m).astype(np.int64)
        col = np.floor(x[usable] / self.cell_m).astype(np.int64)
        codes, cells = pd.factorize((row << 32) + col)
        rows = (cells + (1 << 31)) >> 32  # whatever the sign of the column
        cols = cells - (rows << 32)
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
