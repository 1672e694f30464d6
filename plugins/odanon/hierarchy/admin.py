"""Administrative levels from polygon layers, coarse to fine (ALGORITHMS, Hierarchies)."""

from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from odanon.errors import OdanonError
from odanon.hierarchy.tree import VIRTUAL_ROOT, Hierarchy
from odanon.plugin import parameter, plugin
from odanon.zoning.layers import locate, read_layer
from odanon.zoning.tiles import FloatArray, ObjectArray, Tiles


@plugin
class AdminLevel:
    """One administrative level."""

    path: Path = parameter(..., "polygon layer of the level")
    id: str = parameter(..., "column with the id of the unit")
    layer: str | None = parameter(None, "layer name, for files that hold several")


@plugin
class AdminHierarchy:
    """Administrative units: each tile belongs to the units that hold a point inside it."""

    levels: Annotated[list[AdminLevel], Field(min_length=1)] = parameter(..., "polygon layers, coarse to fine")
    snap_m: float = parameter(5000, "tiles outside all units join the nearest one within this distance", ge=0)

    def build(self, tiles: Tiles) -> Hierarchy:
        """Tiles under the finest units, up to `all`; a unit is named by its path, such as `region:4/town:17`.

        A unit that crosses the border of a coarser one becomes one node on each side.
        """
        import pandas as pd
        import shapely

        inside = shapely.point_on_surface(tiles.geometry)
        lat, lon = shapely.get_y(inside), shapely.get_x(inside)
        labels: list[ObjectArray] = [np.array([VIRTUAL_ROOT], dtype=object)]
        parents = [np.array([-1])]
        offset, node = 0, np.zeros(len(tiles), dtype=np.int64)
        path = np.full(len(tiles), "", dtype=object)
        for level in self.levels:
            path = path + f"{level.id}:" + self._unit(level, lat, lon)
            code, names = pd.factorize(path, sort=True)
            above = np.empty(len(names), dtype=np.int64)
            above[code] = node
            offset += len(labels[-1])
            node = code + offset
            labels.append(names)
            parents.append(above)
            path = path + "/"
        return Hierarchy.from_parents(
            np.concatenate([*labels, tiles.label]).tolist(), np.concatenate([*parents, node]), kind="admin"
        )

    def _unit(self, level: AdminLevel, lat: FloatArray, lon: FloatArray) -> ObjectArray:
        """The id of the unit of each point."""
        names, polygons = read_layer(level.path, level.id, level.layer)
        unit = locate(polygons, lat, lon)
        lost = np.flatnonzero(unit < 0)
        unit[lost] = _nearest(polygons, lat[lost], lon[lost], self.snap_m)
        strangers = int((unit < 0).sum())
        if strangers:
            raise OdanonError(
                f"{strangers} of {len(lat)} tiles lie more than {self.snap_m:g} m outside all units of {level.path};"
                " extend the layer, raise snap_m or drop those tiles"
            )
        return names[unit]


def _nearest(polygons: ObjectArray, lat: FloatArray, lon: FloatArray, within_m: float) -> npt.NDArray[np.int64]:
    """The nearest polygon of each point (the first of several), -1 beyond a distance in metres."""
    import shapely

    from odanon.zoning.crs import local_crs, to_metres

    unit = np.full(len(lat), -1, dtype=np.int64)
    if not len(lat):
        return unit
    crs = local_crs(lat, lon)
    move = lambda xy: np.column_stack(to_metres(xy[:, 1], xy[:, 0], crs))  # noqa: E731
    tree = shapely.STRtree(shapely.transform(polygons, move))
    points = shapely.transform(shapely.points(lon, lat), move)
    point, candidate = tree.query_nearest(points, max_distance=within_m)
    unit[point[::-1]] = candidate[::-1]
    return unit
