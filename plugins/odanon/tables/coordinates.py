"""Pairs of columns that say where a trip starts or ends: degrees or metres, in the right order."""

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray
from odanon.geo.crs import to_degrees
from odanon.model.tiles import on_earth

_LON = re.compile(
    r"(^|[^a-z])(lon|lng|long|longitude|x|east|easting)\d?$|^(start|end|o|d)?_?x$|longitude", re.IGNORECASE
)
_LAT = re.compile(r"(^|[^a-z])(lat|latitude|y|north|northing)\d?$|^(start|end|o|d)?_?y$|latitude", re.IGNORECASE)
_MOST = 0.5  # the share of rows that shows a mistake of all


def pair_of(option: str, text: str) -> tuple[str, str]:
    """The two columns of `lat,lon`."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise OdanonError(f"{option} {text}: name one column of tiles, or two of coordinates as lat,lon")
    return parts[0], parts[1]


def named_lat_lon(pair: tuple[str, str]) -> bool:
    """Whether the names of two columns say that they are latitude and longitude."""
    return bool(_LAT.search(pair[0]) and _LON.search(pair[1]))


def whereabouts(first: Sequence[float], second: Sequence[float]) -> str:
    """Where degrees lie in whole numbers, if their size does not say which is the latitude; else nothing."""
    if not first or not second or max(map(abs, (*first, *second))) > 90:
        return ""
    lat, lon = round(median(first)), round(median(second))
    return f"{abs(lat)}° {'north' if lat >= 0 else 'south'}, {abs(lon)}° {'east' if lon >= 0 else 'west'}"


def placed(
    option: str, names: tuple[str, str], first: FloatArray, second: FloatArray, crs: str | None
) -> tuple[Any, Any]:
    """Latitude and longitude of two columns: `lat,lon` in degrees, or `x,y` of a projected system.

    A mistake of all rows is named: columns that are swapped, metres that were taken for degrees, or another system.
    """
    swap = f"{option} {names[1]},{names[0]}"
    given = np.isfinite(first) & np.isfinite(second)
    if crs is not None and _known(crs).is_projected:
        if _LAT.search(names[0]) and _LON.search(names[1]):
            raise OdanonError(f"{option} {','.join(names)}: with --crs {crs} the columns are x,y; write {swap}")
        return _from_metres(option, names, first, second, crs)
    if given.any() and _share(_beyond(first, 180) | _beyond(second, 360), given) > _MOST:
        raise OdanonError(
            f"{option} {','.join(names)}: these are no degrees but metres or feet of a projected system; name it and the columns"
            f" x,y, such as --crs EPSG:2154 {option} x,y"
        )
    if _LON.search(names[0]) and _LAT.search(names[1]):
        raise OdanonError(f"{option} {','.join(names)}: latitude comes first; write {swap}")
    if not given.any():
        return first, second
    if _share(_beyond(first, 90) & ~_beyond(second, 90), given) > _MOST:
        raise OdanonError(f"{option} {','.join(names)}: latitude and longitude are swapped; write {swap}")
    if crs is None or _known(crs).equals("EPSG:4326"):
        return first, second
    return to_degrees(second, first, crs)


def _beyond(values: FloatArray, most: float) -> npt.NDArray[np.bool_]:
    return (values > most) | (values < -most)


def _share(which: npt.NDArray[np.bool_], given: npt.NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(which & given) / np.count_nonzero(given))


def _known(crs: str) -> Any:
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(crs)
    except CRSError:
        raise OdanonError(f"--crs {crs}: not a known system of coordinates; write for example EPSG:2154") from None


def _from_metres(option: str, names: tuple[str, str], x: FloatArray, y: FloatArray, crs: str) -> tuple[Any, Any]:
    lat, lon = to_degrees(x, y, crs)
    given = np.isfinite(x) & np.isfinite(y)
    if not given.any() or _inside(lat[given], lon[given], crs) > _MOST:
        return lat, lon
    if _inside(*to_degrees(y[given], x[given], crs), crs) > _MOST:
        raise OdanonError(f"{option} {','.join(names)}: x and y are swapped; write {option} {names[1]},{names[0]}")
    raise OdanonError(
        f"{option} {','.join(names)}: these do not lie where {crs} is used; name their own system with --crs"
    )


def _inside(lat: FloatArray, lon: FloatArray, crs: str) -> float:
    """The share of points where a system is used."""
    area, there = _known(crs).area_of_use, on_earth(lat, lon)
    if area is None:
        return float(there.mean())
    wide = 0.5  # degrees around it
    west, east = area.west - wide, area.east + wide
    across = (lon >= west) & (lon <= east) if west <= east else (lon >= west) | (lon <= east)
    return float((there & (lat >= area.south - wide) & (lat <= area.north + wide) & across).mean())
