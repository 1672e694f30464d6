"""Tiles that are the polygons of a user's vector layer."""

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from odanon.geo.layerfiles import read_layer
from odanon.geo.layers import locate
from odanon.model.tiles import ObjectArray, Tiles, known, on_earth
from odanon.plugin import parameter, plugin


@plugin
class PolygonZoning:
    """Polygons of a vector layer, such as traffic analysis zones."""

    path: Path = parameter(..., "vector layer (GeoPackage, shapefile, GeoJSON or GeoParquet) in any known CRS")
    id: str = parameter(..., "column with the zone id; rows that share an id become one zone")
    layer: str | None = parameter(None, "layer name, for files that hold several")
    drop_missing: bool = parameter(
        False, "leave out ready trips and OD rows whose zone has no polygon, however many; else they stop the day"
    )

    @cached_property
    def _zones(self) -> tuple[ObjectArray, ObjectArray]:
        return read_layer(self.path, self.id, self.layer)

    @property
    def every_label(self) -> ObjectArray:
        """All zones, visited or not."""
        return self._zones[0]

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The zone of each point (the first in label order where zones overlap); None outside all zones."""
        lat, lon = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        names, polygons = self._zones
        labels = np.full(len(lat), None, dtype=object)
        usable = np.flatnonzero(on_earth(lat, lon))
        zone = locate(polygons, lat[usable], lon[usable])
        labels[usable[zone >= 0]] = names[zone[zone >= 0]]
        return labels

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """Centroids and polygons of zones."""
        names, polygons = self._zones
        at = known(names, labels, f"zones of {self.path}")
        return polygon_tiles(names[at], polygons[at])


def polygon_tiles(names: ObjectArray, polygons: ObjectArray) -> Tiles:
    """Tiles that are polygons, in the order of their names."""
    import shapely

    centre = shapely.centroid(polygons)
    return Tiles(names, shapely.get_y(centre), shapely.get_x(centre), "polygons", draw=lambda: polygons)
