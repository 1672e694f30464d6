"""Voronoi cells of antenna sites, clipped to a boundary, in metres."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from odanon.geo.arrays import FloatArray, ObjectArray
from odanon.geo.crs import resolve, to_metres
from odanon.geo.layerfiles import read_area

BUFFER_M = 5000.0  # around the antennas' convex hull, when there is no boundary


class Sites(NamedTuple):
    """Places of antennas in metres of `crs`; antennas at one place share a site."""

    x: FloatArray
    y: FloatArray
    crs: str


def sites_of(lat: FloatArray, lon: FloatArray, crs: str) -> tuple[Sites, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct places of antennas in order of their first one; that antenna; and the site of every antenna."""
    crs = resolve(crs, lat, lon)
    x, y = to_metres(lat, lon, crs)
    _, first, of = np.unique(np.stack([x, y]), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    return Sites(x[first], y[first], crs), first, rank[of.reshape(-1)]


def clipping_area(sites: Sites, boundary: Path | None, buffer_m: float = BUFFER_M) -> Any:
    """The area of a boundary layer in metres; without one, the buffered convex hull of the sites."""
    import shapely

    if boundary is None:
        hull = shapely.convex_hull(shapely.multipoints(np.column_stack([sites.x, sites.y])))
        return shapely.buffer(hull, buffer_m)
    # Long edges are straight in degrees, hence bent in metres: points every 0.01 degrees follow the bend.
    area = shapely.segmentize(read_area(boundary), 0.01)
    return moved(area, lambda lon, lat: to_metres(lat, lon, sites.crs))


def clipped_cells(sites: Sites, area: Any) -> ObjectArray:
    """The cell of each site inside an area, aligned with the sites; empty where a cell misses it."""
    import shapely

    if len(sites.x) == 1:
        return np.array([area], dtype=object)
    points = shapely.multipoints(np.column_stack([sites.x, sites.y]))
    diagram = shapely.voronoi_polygons(points, extend_to=area, ordered=True)
    shapely.prepare(area)
    return shapely.intersection(shapely.get_parts(diagram), area)


def nearest_site(sites: Sites, x: FloatArray, y: FloatArray) -> npt.NDArray[np.int64]:
    """The site nearest to each point: the one in whose cell it lies."""
    from scipy.spatial import KDTree

    return KDTree(np.column_stack([sites.x, sites.y])).query(np.column_stack([x, y]))[1]


def moved(shapes: Any, move: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]) -> Any:
    """Geometries with their coordinate pairs moved."""
    import shapely

    return shapely.transform(shapes, lambda xy: np.column_stack(move(xy[:, 0], xy[:, 1])))
