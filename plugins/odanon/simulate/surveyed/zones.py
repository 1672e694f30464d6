"""Zones of a simulated city as statistics offices draw them: small where many people live, grouped into communes and cantons."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from odanon.geo.voronoi import Sites, clipped_cells, moved
from odanon.simulate.city import City, Stream

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SAMPLE = 20_000  # positions of homes that the zones are drawn for
_ROUNDS = 20
_ZONES_OF_A_COMMUNE, _COMMUNES_OF_A_CANTON = 5, 4
_MARGIN_KM = 1.0  # meals and stops may lie a little outside the city


@dataclass(frozen=True, eq=False)
class Zones:
    """Voronoi cells around positions (km); the commune of each zone and the canton of each commune, by number."""

    city: City
    places: Floats  # (zones, 2)
    commune: Ints
    canton: Ints  # of zones

    @classmethod
    def drawn(cls, city: City, count: int) -> "Zones":
        """About as many people in each of `count` zones; communes and cantons are zones that lie together."""
        homes = np.column_stack(city.scatter(city.rng(Stream.SURVEY, 0), _SAMPLE))
        places = _middles(homes, count)
        communes, commune = _grouped(places, _ZONES_OF_A_COMMUNE)
        _, canton = _grouped(communes, _COMMUNES_OF_A_CANTON)
        return cls(city, places, commune, canton[commune])

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def names(self) -> npt.NDArray[np.object_]:
        return _names("z", np.arange(len(self)))

    @cached_property
    def communes(self) -> npt.NDArray[np.object_]:
        """The name of the commune of every zone."""
        return _names("c", self.commune)

    @cached_property
    def cantons(self) -> npt.NDArray[np.object_]:
        return _names("k", self.canton)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.places)

    def at(self, x: Floats, y: Floats) -> Ints:
        """The number of the zone at each position."""
        return self._tree.query(np.column_stack([x, y]))[1].astype(np.int64)

    def frame(self) -> "GeoDataFrame":
        """zone, commune, canton, lat, lon and outline."""
        import shapely
        from geopandas import GeoDataFrame

        x, y = self.places.T
        disc = shapely.buffer(shapely.Point(0, 0), self.city.radius_km + _MARGIN_KM)
        cells = clipped_cells(Sites(x, y, ""), disc)
        outlines = shapely.set_precision(moved(cells, lambda x, y: self.city.to_degrees(x, y)[::-1]), 1e-6)
        lat, lon = self.city.to_degrees(x, y)
        columns = {"zone": self.names, "commune": self.communes, "canton": self.cantons}
        return GeoDataFrame(
            {**columns, "lat": lat.round(6), "lon": lon.round(6)}, geometry=outlines, crs="EPSG:4326"
        ).astype(dict.fromkeys(columns, "str"))


def _grouped(places: Floats, size: int) -> tuple[Floats, Ints]:
    """Middles of groups of about `size` places, and the group of each place."""
    middles = _middles(places, max(1, round(len(places) / size)))
    group = KDTree(middles).query(places)[1]
    used, group = np.unique(group, return_inverse=True)
    return middles[used], group.astype(np.int64)


def _middles(points: Floats, count: int) -> Floats:
    """Places that about as many points each are nearest to: each moves to the mean of its points, again and again."""
    middles = points[:count].copy()
    for _ in range(_ROUNDS):
        nearest = KDTree(middles).query(points)[1]
        number = np.bincount(nearest, minlength=count)
        for axis in (0, 1):
            total = np.bincount(nearest, points[:, axis], count)
            middles[:, axis] = np.where(number > 0, total / np.maximum(number, 1), middles[:, axis])
    return middles


def _names(letter: str, number: Ints) -> npt.NDArray[np.object_]:
    return np.array([f"{letter}{each:03d}" for each in number], dtype=object)
