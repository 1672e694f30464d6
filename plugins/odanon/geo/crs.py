"""Coordinate reference systems: degrees (EPSG:4326) to metres and back."""

from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from odanon.geo.arrays import FloatArray

AUTO = "auto"


def _metric(name: str) -> str:
    """A projected CRS in metres; pydantic turns the ValueError into a field error."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        crs = CRS.from_user_input(name)
    except CRSError:
        raise ValueError(f"{name!r} is not a known CRS; write for example EPSG:2154") from None
    if not crs.is_projected or crs.axis_info[0].unit_name != "metre":
        raise ValueError(f"{name!r} is not a projected CRS in metres; write for example EPSG:2154")
    return name


MetricCrs = Annotated[str, AfterValidator(_metric)]
MetricCrsOrAuto = Annotated[str, AfterValidator(lambda name: name if name == AUTO else _metric(name))]


def local_crs(lat: FloatArray, lon: FloatArray) -> str:
    """An equal-area projection centred on the points, for areas up to a country."""
    phi, theta = np.radians(lat), np.radians(lon)
    x, y, z = (np.cos(phi) * np.cos(theta)).mean(), (np.cos(phi) * np.sin(theta)).mean(), np.sin(phi).mean()
    centre_lat = np.degrees(np.arctan2(z, np.hypot(x, y)))
    centre_lon = np.degrees(np.arctan2(y, x))
    return f"+proj=laea +lat_0={centre_lat:.3f} +lon_0={centre_lon:.3f} +datum=WGS84 +units=m"


def utm_crs(lat: FloatArray, lon: FloatArray) -> str:
    """The UTM zone of the middle of the points, by the name that other programs know it by."""
    zone = int((np.mean(lon) + 180) // 6) % 60 + 1
    return f"EPSG:{(32600 if np.mean(lat) >= 0 else 32700) + zone}"


def resolve(crs: str, lat: FloatArray, lon: FloatArray) -> str:
    """The CRS itself, or the local one around the points for `auto`."""
    return local_crs(lat, lon) if crs == AUTO else crs


def to_metres(lat: FloatArray, lon: FloatArray, crs: str) -> tuple[FloatArray, FloatArray]:
    """Easting and northing of points; infinite where the projection is not defined."""
    from pyproj import Transformer

    return Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(lon, lat)


def to_degrees(x: npt.NDArray, y: npt.NDArray, crs: str) -> tuple[FloatArray, FloatArray]:
    """Latitude and longitude of projected points."""
    from pyproj import Transformer

    lon, lat = Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(x, y)
    return lat, lon
