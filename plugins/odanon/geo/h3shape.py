"""Outlines of sets of H3 cells as valid EPSG:4326 geometries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shapely import MultiPolygon, Polygon


def outline(cells: Sequence[str]) -> "MultiPolygon":
    """The dissolved boundary of H3 cells of one resolution (sets that enclose a pole are not supported)."""
    import h3
    import shapely

    parts: list[Polygon] = []
    for polygon in h3.cells_to_h3shape(list(cells), tight=False):
        rings = [[(lon, lat) for lat, lon in ring] for ring in (polygon.outer, *polygon.holes)]
        parts.extend(_split_at_antimeridian(rings))
    return shapely.orient_polygons(shapely.MultiPolygon(parts))


def _split_at_antimeridian(rings: list[list[tuple[float, float]]]) -> "list[Polygon]":
    """Rings that jump from +180 to -180 are unrolled eastwards, cut at 180 and the far part moved back."""
    import shapely
    from shapely.affinity import translate

    if np.ptp([lon for lon, _ in rings[0]]) <= 180:
        return [shapely.Polygon(rings[0], rings[1:])]
    unrolled = [[(lon + 360 if lon < 0 else lon, lat) for lon, lat in ring] for ring in rings]
    whole = shapely.Polygon(unrolled[0], unrolled[1:])
    west = shapely.intersection(whole, shapely.box(-180, -90, 180, 90))
    east = translate(shapely.intersection(whole, shapely.box(180, -90, 540, 90)), -360)
    return [part for part in shapely.get_parts([west, east]) if part.geom_type == "Polygon"]
