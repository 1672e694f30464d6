"""The study area: a bounding box, a polygon layer, or what both have in common. Points outside it are in no tile."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray
from odanon.geo.crs import to_metres
from odanon.geo.layerfiles import read_area

_PIECES = 64  # into which the longest side is cut before it is projected, since edges are curves in the plane


def _in_order(bounds: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    west, south, east, north = bounds
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise ValueError("give west, south, east and north in degrees, in this order")
    return bounds


Bounds = Annotated[tuple[float, float, float, float], AfterValidator(_in_order)]


def study_area(bounds: tuple[float, float, float, float] | None, boundary: Path | None) -> Any:
    """The area in degrees; None where there is no limit."""
    import shapely

    if boundary is None:
        return None if bounds is None else shapely.box(*bounds)
    area = read_area(boundary)
    if bounds is not None:
        area = shapely.intersection(area, shapely.box(*bounds))
        if area.is_empty:
            raise OdanonError(f"{boundary} lies outside the bounds; correct one of them")
    return area


def inside(area: Any, lat: FloatArray, lon: FloatArray) -> npt.NDArray[np.bool_]:
    """Which points lie in the area, its border included."""
    import shapely

    shapely.prepare(area)
    return shapely.intersects_xy(area, lon, lat)


def in_metres(area: Any, crs: str) -> Any:
    """The area in a projected CRS."""
    import shapely

    west, south, east, north = area.bounds
    fine = shapely.segmentize(area, max(east - west, north - south) / _PIECES)
    projected = shapely.transform(fine, lambda xy: np.column_stack(to_metres(xy[:, 1], xy[:, 0], crs)))
    if not np.isfinite(projected.bounds).all():
        raise OdanonError(f"the study area leaves the region where {crs} is defined; correct one of them")
    return projected
