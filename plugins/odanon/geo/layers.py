"""Vector layers (GeoPackage, shapefile, GeoJSON, GeoParquet) as labelled EPSG:4326 polygons."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray, ObjectArray

if TYPE_CHECKING:
    from geopandas import GeoDataFrame


def read_layer(path: Path, id_column: str, layer: str | None = None) -> tuple[ObjectArray, ObjectArray]:
    """Sorted ids and their valid polygons in EPSG:4326; rows that share an id are dissolved."""
    import shapely

    frame = _read(path, layer)
    if id_column not in frame.columns:
        raise OdanonError(f"{path} has no column {id_column!r}; it has {', '.join(map(str, frame.columns))}")
    frame = frame[frame.geometry.notna() & ~frame.geometry.is_empty & frame[id_column].notna()]
    if not len(frame):
        raise OdanonError(f"{path} holds no polygon with an id in {id_column!r}; check the layer and the column")
    shapes = shapely.make_valid(frame.to_crs("EPSG:4326").geometry.to_numpy())
    names = np.array([_label(value) for value in frame[id_column].tolist()], dtype=object)
    labels = np.array(sorted(set(names)), dtype=object)
    groups = np.split(np.argsort(names, kind="stable"), np.searchsorted(np.sort(names), labels[1:]))
    polygons = np.empty(len(labels), dtype=object)
    polygons[:] = [polygonal(shapely.union_all(shapes[group])) for group in groups]
    return labels, polygons


def read_area(path: Path, layer: str | None = None) -> Any:
    """The union of all polygons of a layer, in EPSG:4326."""
    import shapely

    frame = _read(path, layer).to_crs("EPSG:4326")
    area = polygonal(shapely.union_all(shapely.make_valid(frame.geometry.dropna().to_numpy())))
    if area.is_empty:
        raise OdanonError(f"{path} holds no polygon; give a layer that outlines the region")
    return area


def locate(polygons: ObjectArray, lat: FloatArray, lon: FloatArray) -> npt.NDArray[np.int64]:
    """Index of the polygon that covers each point, -1 for none; the first of several wins.

    Points are sorted by longitude once and each polygon tests only those in its bounding box: four times
    faster than a spatial index of the polygons, which needs an object for every point.
    """
    import shapely

    shapely.prepare(polygons)
    order = np.argsort(lon, kind="stable")
    x, y = lon[order], lat[order]
    west, south, east, north = shapely.bounds(polygons).T
    start, end = np.searchsorted(x, west), np.searchsorted(x, east, side="right")
    found = np.full(len(x), -1, dtype=np.int64)
    for i in range(len(polygons) - 1, -1, -1):  # backwards, so that the first polygon has the last word
        band = y[start[i] : end[i]]
        near = start[i] + np.flatnonzero((band >= south[i]) & (band <= north[i]))
        found[near[shapely.intersects_xy(polygons[i], x[near], y[near])]] = i
    unsorted = np.empty_like(found)
    unsorted[order] = found
    return unsorted


def polygonal(shape: Any) -> Any:
    """The polygons of a geometry, without stray lines and points."""
    import shapely

    flat = [piece for part in shapely.get_parts(shape) for piece in shapely.get_parts(part)]
    return shapely.MultiPolygon([part for part in flat if part.geom_type == "Polygon"])


def _read(path: Path, layer: str | None) -> "GeoDataFrame":
    import geopandas

    if not Path(path).exists():
        raise OdanonError(f"{path} does not exist; give the path of a polygon layer")
    try:
        if Path(path).suffix == ".parquet":
            frame = geopandas.read_parquet(path)
        else:
            frame = geopandas.read_file(path, layer=layer) if layer else geopandas.read_file(path)
    except (ValueError, OSError, RuntimeError) as error:
        raise OdanonError(f"{path} cannot be read as a polygon layer ({type(error).__name__})") from error
    if not isinstance(frame, geopandas.GeoDataFrame) or frame.crs is None:
        raise OdanonError(f"{path} has no geometry with a CRS; save it again with its EPSG code")
    return frame


def _label(value: Any) -> str:
    """Ids as text; a whole number stored as a float loses its `.0`."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
