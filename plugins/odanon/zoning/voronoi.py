"""Tiles that are the Voronoi cells of antennas, clipped to a boundary."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.crs import AUTO, MetricCrsOrAuto, to_degrees, to_metres
from odanon.geo.layers import polygonal
from odanon.geo.placenames import first_names
from odanon.geo.voronoi import BUFFER_M, Sites, clipped_cells, clipping_area, moved, nearest_site, sites_of
from odanon.model.tiles import FloatArray, ObjectArray, Tiles, known, on_earth
from odanon.plugin import is_none, parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.table import read_small


@plugin
class VoronoiZoning:
    """Voronoi cells of antennas: each point belongs to the nearest antenna."""

    antennas: Path = parameter(..., "CSV or Parquet table of antennas")
    id: str = parameter("id", "column with the antenna id; antennas at one place share the smallest id")
    name: str | None = parameter(None, "column with the name of the place, for readers; public", exclude_if=is_none)
    lat: str = parameter("lat", "column with the latitude in degrees")
    lon: str = parameter("lon", "column with the longitude in degrees")
    boundary: Path | None = parameter(
        None, "polygon layer that clips the cells; without it the buffered convex hull of the antennas"
    )
    buffer_m: float = parameter(BUFFER_M, "metres around the antennas' convex hull, when there is no boundary", gt=0)
    crs: MetricCrsOrAuto = parameter(AUTO, "projected CRS of the diagram; auto centres one on the antennas")

    @cached_property
    def _antennas(self) -> tuple[ObjectArray, FloatArray, FloatArray, ObjectArray | None]:
        return _read_antennas(self.antennas, (self.id, self.lat, self.lon), self.name)

    @cached_property
    def _labelled(self) -> tuple[ObjectArray, Sites]:
        """Sites sorted by label; antennas at one place share the first one's."""
        label, lat, lon, _ = self._antennas
        sites, first, _ = sites_of(lat, lon, self.crs)
        return label[first], sites

    @cached_property
    def _boundary(self) -> Any:
        """The clipping area in metres."""
        return clipping_area(self._labelled[1], self.boundary, self.buffer_m)

    @cached_property
    def _cells(self) -> ObjectArray:
        """Clipped cells in metres, aligned with the sites; empty where a cell misses the boundary."""
        return clipped_cells(self._labelled[1], self._boundary)

    @property
    def every_label(self) -> ObjectArray:
        """All cells inside the boundary, visited or not."""
        import shapely

        return self._labelled[0][~shapely.is_empty(self._cells)]

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The nearest antenna of each point inside the boundary; None outside."""
        import shapely

        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        (label, sites), boundary = self._labelled, self._boundary
        labels = np.full(len(lat), None, dtype=object)
        x, y = to_metres(lat, lon, sites.crs)
        usable = np.flatnonzero(on_earth(lat, lon) & np.isfinite(x) & np.isfinite(y))
        shapely.prepare(boundary)
        usable = usable[shapely.intersects_xy(boundary, x[usable], y[usable])]
        labels[usable] = label[nearest_site(sites, x[usable], y[usable])]
        return labels

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centroids and polygons of cells."""
        import shapely

        label, sites = self._labelled
        at = known(label, labels, f"antenna sites of {self.antennas}")
        cells = self._cells[at]
        if shapely.is_empty(cells).any():
            raise OdanonError(
                f"{int(shapely.is_empty(cells).sum())} antennas have no cell inside {self.boundary};"
                " widen the boundary or drop their events"
            )
        centre = shapely.centroid(cells)
        lat, lon = to_degrees(shapely.get_x(centre), shapely.get_y(centre), sites.crs)
        every, _, _, called = self._antennas
        names = None if called is None else called[np.searchsorted(every, label[at])]
        return Tiles(label[at], lat, lon, "voronoi", draw=lambda: _in_degrees(cells, sites.crs), name=names)


def _read_antennas(
    path: Path, columns: tuple[str, str, str], called: str | None
) -> tuple[ObjectArray, FloatArray, FloatArray, ObjectArray | None]:
    """Labels in sorted order with their coordinates and, if there are any, names."""
    if not Path(path).exists():
        raise OdanonError(f"{path} does not exist; give the path of the antenna table")
    name, lat, lon = columns
    wanted = [Column("label", name, "text"), Column("lat", lat, "number"), Column("lon", lon, "number")]
    wanted += [] if called is None else [Column("name", called, "text")]
    table = read_small(str(path), wanted).to_pandas()
    places = [table[side].to_numpy(np.float64) for side in ("lat", "lon")]
    bad = int((~on_earth(*places) | table["label"].isna()).sum())
    if bad or not len(table):
        raise OdanonError(f"{path} has {bad} of {len(table)} antennas without usable coordinates; repair the table")
    labels = table["label"].astype("str").to_numpy(object)
    if len(set(labels)) < len(labels):
        raise OdanonError(f"{path} names {len(labels) - len(set(labels))} antennas twice; keep one row each")
    order = np.argsort(labels, kind="stable")
    names = None
    if called is not None:
        names = first_names(labels, table["name"].to_numpy(object), labels[order], f"{path}")
    return labels[order], places[0][order], places[1][order], names


def _in_degrees(cells: ObjectArray, crs: str) -> ObjectArray:
    shapes = np.empty(len(cells), dtype=object)
    shapes[:] = [polygonal(cell) for cell in moved(cells, lambda x, y: to_degrees(x, y, crs)[::-1])]
    return shapes
