"""Tiles that are the Voronoi cells of antennas, clipped to a boundary."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.crs import AUTO, MetricCrsOrAuto, resolve, to_degrees, to_metres
from odanon.geo.layers import polygonal, read_area
from odanon.model.tiles import FloatArray, ObjectArray, Tiles, known, on_earth
from odanon.plugin import parameter, plugin


class Sites(NamedTuple):
    """Antenna sites sorted by label, in metres of `crs`; antennas at one place share a site."""

    label: ObjectArray
    x: FloatArray
    y: FloatArray
    crs: str


@plugin
class VoronoiZoning:
    """Voronoi cells of antennas: each point belongs to the nearest antenna."""

    antennas: Path = parameter(..., "CSV or Parquet table of antennas")
    id: str = parameter("id", "column with the antenna id; antennas at one place share the smallest id")
    lat: str = parameter("lat", "column with the latitude in degrees")
    lon: str = parameter("lon", "column with the longitude in degrees")
    boundary: Path | None = parameter(
        None, "polygon layer that clips the cells; without it the buffered convex hull of the antennas"
    )
    buffer_m: float = parameter(5000, "metres around the antennas' convex hull, when there is no boundary", gt=0)
    crs: MetricCrsOrAuto = parameter(AUTO, "projected CRS of the diagram; auto centres one on the antennas")

    @cached_property
    def _sites(self) -> Sites:
        label, lat, lon = _read_antennas(self.antennas, (self.id, self.lat, self.lon))
        crs = resolve(self.crs, lat, lon)
        x, y = to_metres(lat, lon, crs)
        _, first = np.unique(np.stack([x, y]), axis=1, return_index=True)
        first.sort()
        return Sites(label[first], x[first], y[first], crs)

    @cached_property
    def _boundary(self) -> Any:
        """The clipping area in metres."""
        import shapely

        sites = self._sites
        if self.boundary is None:
            hull = shapely.convex_hull(shapely.multipoints(np.column_stack([sites.x, sites.y])))
            return shapely.buffer(hull, self.buffer_m)
        # Long edges are straight in degrees, hence bent in metres: points every 0.01 degrees follow the bend.
        area = shapely.segmentize(read_area(self.boundary), 0.01)
        return _transform(area, lambda lon, lat: to_metres(lat, lon, sites.crs))

    @cached_property
    def _cells(self) -> ObjectArray:
        """Clipped cells in metres, aligned with the sites; empty where a cell misses the boundary."""
        import shapely

        sites, boundary = self._sites, self._boundary
        if len(sites.label) == 1:
            return np.array([boundary], dtype=object)
        points = shapely.multipoints(np.column_stack([sites.x, sites.y]))
        diagram = shapely.voronoi_polygons(points, extend_to=boundary, ordered=True)
        shapely.prepare(boundary)
        return shapely.intersection(shapely.get_parts(diagram), boundary)

    @property
    def every_label(self) -> ObjectArray:
        """All cells inside the boundary, visited or not."""
        import shapely

        return self._sites.label[~shapely.is_empty(self._cells)]

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The nearest antenna of each point inside the boundary; None outside."""
        import shapely
        from scipy.spatial import KDTree

        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        sites, boundary = self._sites, self._boundary
        labels = np.full(len(lat), None, dtype=object)
        x, y = to_metres(lat, lon, sites.crs)
        usable = np.flatnonzero(on_earth(lat, lon) & np.isfinite(x) & np.isfinite(y))
        shapely.prepare(boundary)
        usable = usable[shapely.intersects_xy(boundary, x[usable], y[usable])]
        nearest = KDTree(np.column_stack([sites.x, sites.y])).query(np.column_stack([x[usable], y[usable]]))[1]
        labels[usable] = sites.label[nearest]
        return labels

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centroids and polygons of cells."""
        import shapely

        sites = self._sites
        at = known(sites.label, labels, f"antenna sites of {self.antennas}")
        cells = self._cells[at]
        if shapely.is_empty(cells).any():
            raise OdanonError(
                f"{int(shapely.is_empty(cells).sum())} antennas have no cell inside {self.boundary};"
                " widen the boundary or drop their events"
            )
        centre = shapely.centroid(cells)
        lat, lon = to_degrees(shapely.get_x(centre), shapely.get_y(centre), sites.crs)
        return Tiles(sites.label[at], lat, lon, "voronoi", draw=lambda: _in_degrees(cells, sites.crs))


def _read_antennas(path: Path, columns: tuple[str, str, str]) -> tuple[ObjectArray, FloatArray, FloatArray]:
    """Labels in sorted order with their coordinates."""
    import pandas as pd

    if not Path(path).exists():
        raise OdanonError(f"{path} does not exist; give the path of the antenna table")
    name, lat, lon = columns
    read = pd.read_parquet if Path(path).suffix == ".parquet" else pd.read_csv
    table = read(path)
    missing = [column for column in columns if column not in table]
    if missing:
        raise OdanonError(f"{path} has no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}")
    table = table.assign(**{name: table[name].astype(str)}).sort_values(name)
    bad = int((~on_earth(table[lat].to_numpy(float), table[lon].to_numpy(float))).sum())
    if bad or not len(table):
        raise OdanonError(f"{path} has {bad} of {len(table)} antennas without usable coordinates; repair the table")
    if table[name].duplicated().any():
        raise OdanonError(f"{path} names {int(table[name].duplicated().sum())} antennas twice; keep one row each")
    return table[name].to_numpy(object), table[lat].to_numpy(float), table[lon].to_numpy(float)


def _in_degrees(cells: ObjectArray, crs: str) -> ObjectArray:
    shapes = np.empty(len(cells), dtype=object)
    shapes[:] = [polygonal(cell) for cell in _transform(cells, lambda x, y: to_degrees(x, y, crs)[::-1])]
    return shapes


def _transform(shapes: Any, move: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]) -> Any:
    """Geometries with their coordinate pairs moved."""
    import shapely

    return shapely.transform(shapes, lambda xy: np.column_stack(move(xy[:, 0], xy[:, 1])))
