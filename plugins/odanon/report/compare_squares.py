"""Fewer areas to draw: those that lie close together and are alike in size become one square."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

_KM_PER_DEGREE = 111.32
_DETAIL = 300  # bends below this fraction of an area's extent cannot be seen on a small map
POINTS = (
    400,
    60,
)  # of an outline, where there is room and where there is little; one with more is simplified further, and loses its smallest parts


@dataclass(frozen=True)
class Areas:
    """What is drawn of the zones of a release; `of_zone` says which area each zone went into, in the order of the zones."""

    table: pd.DataFrame  # id, tiles, km2, geometry
    of_zone: npt.NDArray[np.int64]


def as_they_are(zones: pd.DataFrame, points: int) -> Areas:
    """Every zone an area of its own, with an outline of at most so many points."""
    table = pd.DataFrame(
        {
            "id": zones["zone_id"].astype(str).to_numpy(object),
            "tiles": zones["n_tiles"].to_numpy(np.int64),
            "km2": zones["area_km2"].to_numpy(np.float64),
            "geometry": _outlines(np.asarray(zones["geometry"], dtype=object), points),
        }
    )
    return Areas(table, np.arange(len(zones)))


def in_squares(zones: pd.DataFrame, extent: list[float], across: int) -> Areas:
    """Zones of about the same size at the same place are one square, of which `across` or fewer lie side by side.

    A zone goes into the square that holds its middle, of a grid whose squares are as large as the zone or up to twice that, so however
    many zones there are, there are at most about 4/3 `across` times `across` areas. A zone alone in its square keeps its outline.
    """
    import shapely

    shapes = np.asarray(zones["geometry"], dtype=object)
    west, south, east, north = shapely.bounds(shapes).T
    shrink = np.cos(np.radians((extent[1] + extent[3]) / 2))  # of a degree of longitude
    least = max((extent[2] - extent[0]) * shrink, extent[3] - extent[1]) / across
    size = np.maximum((east - west) * shrink, north - south)
    with np.errstate(invalid="ignore"):
        level = np.ceil(np.log2(np.maximum(size / least, 1)))
        side = least * 2**level
        column = np.floor(((west + east) / 2 - extent[0]) * shrink / side)
        row = np.floor(((south + north) / 2 - extent[1]) / side)
    squares = pd.DataFrame({"level": level, "column": column, "row": row}).fillna(-1)  # without a place: one area
    keys = ["level", "column", "row"]
    group = squares.groupby(keys, sort=True).ngroup().to_numpy(np.int64)
    first = pd.DataFrame({"group": group}).reset_index().groupby("group")["index"].first().to_numpy()
    members = np.bincount(group)
    alone, side = members == 1, least * 2 ** squares["level"].to_numpy()[first]
    low = np.column_stack(
        [squares["column"].to_numpy()[first] * side / shrink, squares["row"].to_numpy()[first] * side]
    )
    low += extent[:2]
    drawn = np.array(shapely.box(low[:, 0], low[:, 1], low[:, 0] + side / shrink, low[:, 1] + side), dtype=object)
    drawn[alone] = _outlines(shapes[first[alone]], POINTS[-1])
    drawn[squares["level"].to_numpy()[first] < 0] = None
    names = zones["zone_id"].astype(str).to_numpy(object)[first]
    names[~alone] = [f"{n:,} areas" for n in members[~alone]]
    km2 = np.bincount(group, zones["area_km2"])
    table = pd.DataFrame(
        {
            "id": names,
            "tiles": np.bincount(group, zones["n_tiles"]).astype(np.int64),
            "km2": np.where(
                alone, km2, np.fmin(km2, (side * _KM_PER_DEGREE) ** 2)
            ),  # areas inside each other count once
            "geometry": drawn,
        }
    )
    return Areas(table, group)


def _outlines(shapes: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Outlines with at most so many points, of those that a small map shows."""
    import shapely

    west, south, east, north = np.nan_to_num(shapely.bounds(shapes)).T
    tolerance = np.hypot(east - west, north - south) / _DETAIL
    drawn = np.asarray(shapely.simplify(shapes, tolerance), dtype=object)
    for _ in range(2):
        rough = shapely.get_num_coordinates(drawn) > most
        tolerance *= 2
        drawn[rough] = shapely.simplify(shapes[rough], tolerance[rough])
    for at in np.flatnonzero(shapely.get_num_coordinates(drawn) > most):
        drawn[at] = _largest_parts(drawn[at], most)
    return drawn


def _largest_parts(shape: Any, most: int) -> Any:
    """The land without its smallest islands, and without lakes."""
    import shapely

    parts = shapely.polygons(shapely.get_exterior_ring(shapely.get_parts(shape)))
    parts = parts[np.argsort(-shapely.area(parts), kind="stable")]
    kept = parts[np.cumsum(shapely.get_num_coordinates(parts)) <= most]
    return shapely.multipolygons(kept) if len(kept) else shapely.envelope(parts[0])
