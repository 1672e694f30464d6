"""Where within an antenna's reach a person is: one place for each person and site, drawn by area or by given weights.

An antenna says only that a phone is somewhere in its cell. Dividing a stay between the zones of the cell would make
fractions of people, whom nobody can count up to k. So a whole person is put at one place of the cell. The draw is a
function of the pseudonym and the site: within a window a person who returns to an antenna returns to the same place,
and over many people every zone gets its share of the cell. Pseudonyms are secret and change with the window, hence so do
the draws.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from odanon.geo.arrays import FloatArray
from odanon.geo.crs import AUTO, to_degrees, to_metres
from odanon.geo.voronoi import Sites, clipped_cells, clipping_area, nearest_site, sites_of

Words = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Reach:
    """Sites and the pieces of ground that each reaches: triangles in metres, a single place being a triangle of no size.

    The pieces of a site follow each other; `until` of a piece is the number of its site plus the share of the site's
    weight in its pieces so far.
    """

    sites: Sites
    word: Words  # of each site, from its exact position
    corners: FloatArray  # (pieces, 3, 2)
    until: FloatArray

    def places(self, person: npt.NDArray[np.int64], lat: FloatArray, lon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The place of each person within the reach of the site nearest to a position; none without a position."""
        there = np.flatnonzero(np.isfinite(lat) & np.isfinite(lon))
        placed = np.full((2, len(lat)), np.nan)
        if len(there):
            site = nearest_site(self.sites, *to_metres(lat[there], lon[there], self.sites.crs))
            draw = _uniform(person[there], self.word[site])
            # A draw below 1 may round up to 1 beside a large number; it is then still the last piece of its site.
            at = np.searchsorted(self.until, np.minimum(site + draw[0], np.nextafter(site + 1.0, 0)), side="right")
            one, two, three = (self.corners[at, corner].T for corner in range(3))
            across, along = np.where(draw[1] + draw[2] > 1, 1 - draw[1:], draw[1:])  # the far half, folded back
            x, y = one + across * (two - one) + along * (three - one)
            placed[:, there] = to_degrees(x, y, self.sites.crs)
        return placed[0], placed[1]


def reach_by_area(lat: FloatArray, lon: FloatArray, boundary: Path | None) -> Reach:
    """Antennas reach their Voronoi cells evenly; one without a cell inside the boundary reaches its own place only."""
    import shapely

    sites, first, _ = sites_of(lat, lon, AUTO)
    triangles = shapely.constrained_delaunay_triangles(clipped_cells(sites, clipping_area(sites, boundary)))
    piece, site = shapely.get_parts(triangles, return_index=True)
    corners = shapely.get_coordinates(piece).reshape(-1, 4, 2)[:, :3]
    lost = np.setdiff1d(np.arange(len(sites.x)), site)
    masts = np.repeat(np.column_stack([sites.x, sites.y])[lost, None], 3, axis=1)
    weight = np.concatenate([shapely.area(piece), np.ones(len(lost))])
    pieces = np.concatenate([site, lost]), np.concatenate([corners, masts]), weight
    return Reach(sites, _word(lat[first], lon[first]), *_in_order(len(sites.x), *pieces))


def reach_by_weights(
    lat: FloatArray,
    lon: FloatArray,
    antenna: npt.NDArray[np.int64],
    places: tuple[FloatArray, FloatArray],
    weight: FloatArray,
) -> Reach:
    """Antennas reach given places with given weights; `antenna` numbers that of each place.

    Stays know their site and not which of its antennas it was: those at one site share their places.
    """
    sites, first, site_of = sites_of(lat, lon, AUTO)
    corners = np.repeat(np.column_stack(to_metres(*places, sites.crs))[:, None], 3, axis=1)
    return Reach(sites, _word(lat[first], lon[first]), *_in_order(len(sites.x), site_of[antenna], corners, weight))


def _in_order(
    sites: int, site: npt.NDArray[np.int64], corners: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Corners and `until` of pieces sorted by site and place, whatever order they were given in."""
    order = np.lexsort([*corners.reshape(len(corners), -1).T[::-1], site])
    order = order[weight[order] > 0]
    site, corners, weight = site[order], corners[order], weight[order]
    whole = np.bincount(site, weight, sites)[site]
    before = np.append(0.0, np.cumsum(weight))[np.searchsorted(site, site)]
    share = np.minimum((np.cumsum(weight) - before) / whole, 1.0)
    share[np.append(site[1:] != site[:-1], True)] = 1.0
    return corners, site + share


def _uniform(person: npt.NDArray[np.int64], word: Words) -> FloatArray:
    """Three numbers in [0, 1) for each person and site, the same wherever and whenever they are asked for."""
    word = _mixed(person.astype(np.uint64) ^ word)
    words = _mixed(word + np.arange(1, 4, dtype=np.uint64)[:, None] * _GOLDEN)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _word(lat: FloatArray, lon: FloatArray) -> Words:
    return _mixed(lat.view(np.uint64) ^ _mixed(lon.view(np.uint64)))


def _mixed(word: Words) -> Words:
    """Every bit of the result depends on every bit of the word (the finaliser of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
