"""Administrative levels from polygon layers, coarse to fine (ALGORITHMS, Hierarchies)."""

from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from odanon.errors import OdanonError
from odanon.geo.crs import local_crs, to_metres
from odanon.geo.layerfiles import read_named_layer
from odanon.geo.layers import locate
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy
from odanon.model.tiles import ObjectArray, Tiles
from odanon.plugin import is_none, parameter, plugin


@plugin
class AdminLevel:
    """One administrative level."""

    path: Path = parameter(..., "polygon layer of the level")
    id: str = parameter(..., "column with the id of the unit")
    name: str | None = parameter(None, "column with the name of the unit, for readers; public", exclude_if=is_none)
    layer: str | None = parameter(None, "layer name, for files that hold several")


@plugin
class AdminHierarchy:
    """Administrative units: each tile belongs to the units that hold a point inside it."""

    levels: Annotated[list[AdminLevel], Field(min_length=1)] = parameter(..., "polygon layers, coarse to fine")
    snap_m: float = parameter(
        1000,
        "tiles whose point lies in no unit join the one they overlap most, or the nearest this many metres away",
        gt=0,
    )

    def build(self, tiles: Tiles) -> Hierarchy:
        """Tiles under the finest units, up to `all`; a unit is named by its path, such as `region:4/town:17`.

        A unit that crosses the border of a coarser one becomes one node on each side.
        """
        import pandas as pd

        labels: list[ObjectArray] = [np.array([VIRTUAL_ROOT], dtype=object)]
        parents = [np.array([-1])]
        called: list[ObjectArray] = [np.array([None], dtype=object)]
        offset, node = 0, np.zeros(len(tiles), dtype=np.int64)
        path = np.full(len(tiles), "", dtype=object)
        for level in self.levels:
            unit, unit_name = self._unit(level, tiles)
            path = path + f"{level.id}:" + unit
            code, names = pd.factorize(path, sort=True)
            above, told = np.empty(len(names), dtype=np.int64), np.full(len(names), None, dtype=object)
            told[code] = unit_name
            above[code] = node
            offset += len(labels[-1])
            node = code + offset
            labels.append(names)
            called.append(told)
            parents.append(above)
            path = path + "/"
        label = np.concatenate([*labels, tiles.label])
        tree = Hierarchy.from_parents(label.tolist(), np.concatenate([*parents, node]), kind="admin")
        units = np.concatenate(called)
        return tree.named(label[: len(units)], units).placed(tiles.label, tiles.lat, tiles.lon)

    def _unit(self, level: AdminLevel, tiles: Tiles) -> tuple[ObjectArray, ObjectArray]:
        """The id of the unit of each tile, and its name."""
        import shapely

        ids, polygons, names = read_named_layer(level.path, level.id, level.name, level.layer)
        inside = shapely.point_on_surface(tiles.geometry)
        unit = locate(polygons, shapely.get_y(inside), shapely.get_x(inside))
        lost = np.flatnonzero(unit < 0)
        if len(lost):
            crs = local_crs(tiles.lat[lost], tiles.lon[lost])
            unit[lost] = _nearest(_metric(polygons, crs), _metric(tiles.geometry[lost], crs), self.snap_m)
        strangers = int((unit < 0).sum())
        if strangers:
            raise OdanonError(
                f"{strangers} of {len(tiles)} tiles lie more than {self.snap_m:g} m outside all units of {level.path};"
                " extend the layer, raise snap_m or drop those tiles"
            )
        return ids[unit], np.full(len(unit), None, dtype=object) if names is None else names[unit]


def _metric(shapes: ObjectArray, crs: str) -> ObjectArray:
    import shapely

    return shapely.transform(shapes, lambda xy: np.column_stack(to_metres(xy[:, 1], xy[:, 0], crs)))


def _nearest(units: ObjectArray, shapes: ObjectArray, within_m: float) -> npt.NDArray[np.int64]:
    """The unit nearest to each shape, the largest overlap first, then the first unit; -1 beyond a distance."""
    import shapely

    shape, candidate = shapely.STRtree(units).query_nearest(shapes, max_distance=within_m)
    overlap = shapely.area(shapely.intersection(shapes[shape], units[candidate]))
    worst_first = np.lexsort((candidate, -overlap))[::-1]
    unit = np.full(len(shapes), -1, dtype=np.int64)
    unit[shape[worst_first]] = candidate[worst_first]
    return unit
