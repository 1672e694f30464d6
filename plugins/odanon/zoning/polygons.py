"""Tiles that are the polygons of a user's vector layer."""

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from odanon.geo.layerfiles import read_named_layer
from odanon.geo.layers import locate
from odanon.model.tiles import ObjectArray, Tiles, known, on_earth
from odanon.plugin import is_none, parameter, plugin


@plugin
class PolygonZoning:
    """Polygons of a vector layer, such as traffic analysis zones."""

    path: Path = parameter(..., "vector layer (GeoPackage, shapefile, GeoJSON or GeoParquet) in any known CRS")
    id: str = parameter(..., "column with the zone id; rows that share an id become one zone")
    name: str | None = parameter(None, "column with the name of the place, for readers; public", exclude_if=is_none)
    layer: str | None = parameter(None, "layer name, for files that hold several")
    drop_missing: bool = parameter(
        False, "leave out ready trips and OD rows whose zone has no polygon, however many; else they stop the day"
    )

    @cached_property
    def _zones(self) -> tuple[ObjectArray, ObjectArray, ObjectArray | None]:
        return read_named_layer(self.path, self.id, self.name, self.layer)

    @property
    def every_label(self) -> ObjectArray:
        """All zones, visited or not."""
        return self._zones[0]

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The zone of each point (the first in label order where zones overlap); None outside all zones."""
        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        names, polygons, _ = self._zones
        labels = np.full(len(lat), None, dtype=object)
        usable = np.flatnonzero(on_earth(lat, lon))
        zone = locate(polygons, lat[usable], lon[usable])
        labels[usable[zone >= 0]] = names[zone[zone >= 0]]
        return labels

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centroids and polygons of zones."""
        ids, polygons, called = self._zones
        at = known(ids, labels, f"zones of {self.path}")
        return polygon_tiles(ids[at], polygons[at], None if called is None else called[at])


def polygon_tiles(ids: ObjectArray, polygons: ObjectArray, names: ObjectArray | None = None) -> Tiles:
    """Tiles that are polygons, in the order of their ids."""
    import shapely

    centre = shapely.centroid(polygons)
    lat, lon = shapely.get_y(centre), shapely.get_x(centre)
    return Tiles(ids, lat, lon, "polygons", draw=lambda: polygons, name=names)
