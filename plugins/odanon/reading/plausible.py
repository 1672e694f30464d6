"""Rows that only their neighbours show to be wrong: swapped coordinates and teleports (PRIVACY rule 11).

Both are looked for among the sorted points of a bucket of whole people, without repeated rows. So the verdict depends
neither on the order of files nor on how rows were batched.

A pair (lat, lon) is taken for swapped when it lies outside the region of the bucket while (lon, lat) lies inside.
The region is the middle 60 % of the bucket's latitudes and of its longitudes, in whole degrees, widened on both sides
by their width and one degree. Where a region contains its own mirror image (near the line where latitude equals
longitude) no swap can be told, and the test of speeds has to do.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_LOW, _HIGH = 0.2, 0.8

Degrees = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A box in degrees."""

    south: float
    north: float
    west: float
    east: float

    def holds(self, lat: Degrees, lon: Degrees) -> Mask:
        """Which positions lie in the box."""
        return (lat >= self.south) & (lat <= self.north) & (lon >= self.west) & (lon <= self.east)


def region_of(lat: Degrees, lon: Degrees) -> Region:
    """Where most of the points lie, generously."""
    south, north = _widened_middle((lat + 90).astype(np.int64), 180)
    west, east = _widened_middle((lon + 180).astype(np.int64), 360)
    return Region(south - 90, north - 90, west - 180, east - 180)


def implausible(
    starts: npt.NDArray[np.int64], time_us: npt.NDArray[np.int64], lat: Degrees, lon: Degrees
) -> tuple[Mask, Mask]:
    """(swapped rows, teleports) of points sorted by person and time; row `starts[p]` is the first of person p.

    A teleport is a fix that its person cannot have reached from the one before, nor left for the next
    (`odanon.reading.kernels.teleports.teleports`). No row is both.
    """
    from odanon.reading.kernels.teleports import teleports

    region = region_of(lat, lon)
    outside = ~region.holds(lat, lon)
    if not outside.any():
        return outside, teleports(starts, time_us, lat, lon)
    swapped = outside & region.holds(lon, lat)
    kept = np.flatnonzero(~swapped)
    teleported = np.zeros(len(lat), dtype=bool)
    teleported[kept] = teleports(np.searchsorted(kept, starts), time_us[kept], lat[kept], lon[kept])
    return swapped, teleported


def _widened_middle(degree: npt.NDArray[np.int64], bins: int) -> tuple[float, float]:
    """The middle of a column of whole degrees, widened; everything when it is empty."""
    if not len(degree):
        return 0.0, float(bins)
    below = np.cumsum(np.bincount(degree, minlength=bins)) / len(degree)
    low, high = int(np.searchsorted(below, _LOW)), int(np.searchsorted(below, _HIGH)) + 1
    margin = high - low + 1
    return float(low - margin), float(high + margin)
