"""Polygons of vector layers: which of them covers a point, and what of a shape is polygons."""

from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.geo.arrays import FloatArray, ObjectArray


def locate(polygons: ObjectArray, lat: FloatArray, lon: FloatArray) -> npt.NDArray[np.int64]:
    """Index of the polygon that covers each point, -1 for none; the first of several wins.

    Points are sorted by longitude once and each polygon tests only those in its bounding box: four times
    faster than a spatial index of the polygons, which needs an object for every point.
    """
    import shapely

    shapely.prepare(polygons)
    order = np.argsort(lon, kind="stable")
    x, y = lon[order], lat[order]
    west, south, east, north = shapely.bounds(polygons).T
    start, end = np.searchsorted(x, west), np.searchsorted(x, east, side="right")
    found = np.full(len(x), -1, dtype=np.int64)
    for i in range(len(polygons) - 1, -1, -1):  # backwards, so that the first polygon has the last word
        band = y[start[i] : end[i]]
        near = start[i] + np.flatnonzero((band >= south[i]) & (band <= north[i]))
        found[near[shapely.intersects_xy(polygons[i], x[near], y[near])]] = i
    unsorted = np.empty_like(found)
    unsorted[order] = found
    return unsorted


def polygonal(shape: Any) -> Any:
    """The polygons of a geometry, without stray lines and points."""
    import shapely

    flat = [piece for part in shapely.get_parts(shape) for piece in shapely.get_parts(part)]
    return shapely.MultiPolygon([part for part in flat if part.geom_type == "Polygon"])
