"""Tiles that are H3 cells of one resolution."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.boundary import Bounds, inside, study_area
from odanon.geo.h3cells import coded_cells, is_cell
from odanon.geo.h3shape import outline
from odanon.model.tiles import ObjectArray, Tiles, distinct_labels, on_earth
from odanon.plugin import parameter, plugin


@plugin
class H3Zoning:
    """Hexagonal H3 cells; resolution 9 is about 0.1 km2."""

    resolution: int = parameter(9, "H3 resolution of the tiles (0 coarse to 15 fine)", ge=0, le=15)
    bounds: Bounds | None = parameter(
        None, "west, south, east and north in degrees: what lies outside is unknown; none: the whole earth"
    )
    boundary: Path | None = parameter(None, "polygon layer: what lies outside is unknown")

    @cached_property
    def _area(self) -> Any:
        return study_area(self.bounds, self.boundary)

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The H3 cell of each point; None outside the study area and without usable coordinates."""
        codes, names = self.coded(lat, lon)
        return np.array([*names, None], dtype=object)[codes]

    def coded(self, lat: npt.NDArray, lon: npt.NDArray) -> tuple[npt.NDArray[np.int32], ObjectArray]:
        """The same as a number for each point, -1 for None, and the names that numbers stand for."""
        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        there = on_earth(lat, lon)
        if self._area is None and there.all():
            return coded_cells(lat, lon, self.resolution)
        usable = np.flatnonzero(there)
        if self._area is not None:
            usable = usable[inside(self._area, lat[usable], lon[usable])]
        codes = np.full(len(lat), -1, np.int32)
        codes[usable], names = coded_cells(lat[usable], lon[usable], self.resolution)
        return codes, names

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centroids and hexagons of H3 cells, all of this resolution."""
        import h3

        names = distinct_labels(labels)
        strangers = sum(not is_cell(c) or h3.get_resolution(c) != self.resolution for c in names)
        if strangers:
            raise OdanonError(
                f"{strangers} of {len(names)} tile labels are not H3 cells of resolution {self.resolution};"
                " use the zoning that assigned them"
            )
        centres = np.array([h3.cell_to_latlng(cell) for cell in names])
        return Tiles(names, centres[:, 0], centres[:, 1], "h3", draw=lambda: _hexagons(names))


def _hexagons(cells: ObjectArray) -> ObjectArray:
    shapes = np.empty(len(cells), dtype=object)
    shapes[:] = [outline([cell]) for cell in cells]
    return shapes
