"""Files of vector layers (GeoPackage, shapefile, GeoJSON, GeoParquet) as labelled EPSG:4326 polygons.

They are opened by the process with little memory that opens all foreign files (PRIVACY rule 26).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.geo.layers import polygonal
from odanon.geo.placenames import first_names
from odanon.reading.batches import Column, Job
from odanon.reading.table import read_whole

MOST_SHAPES = 2_000_000  # more than any map has; each takes far more memory than its bytes
_SHAPE = Column("shape", "geometry", "shape")
_CRS = Column("crs", "crs", "text")


def is_geoparquet(path: Path) -> bool:
    """Whether a file is a layer in Parquet, told from its footer; one that cannot be read is none."""
    if path.suffix.lower() not in (".parquet", ".pq"):
        return False
    try:
        return b"geo" in (pq.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def read_layer(path: Path, id_column: str, layer: str | None = None) -> tuple[ObjectArray, ObjectArray]:
    """Sorted ids and their valid polygons in EPSG:4326; rows that share an id are dissolved."""
    labels, polygons, _ = read_named_layer(path, id_column, None, layer)
    return labels, polygons


def read_named_layer(
    path: Path, id_column: str, name_column: str | None, layer: str | None = None
) -> tuple[ObjectArray, ObjectArray, ObjectArray | None]:
    """The same with the names of places in another column, None without one."""
    named = [] if name_column is None else [Column("name", name_column, "text")]
    rows = _read(path, [Column("label", id_column, "text"), *named], layer)
    rows = rows[rows["label"].notna()]
    ids = rows["label"].astype("str").to_numpy(object)
    labels, polygons = dissolved(ids, _in_degrees(rows), f"{path}", id_column)
    names = first_names(ids, rows["name"].to_numpy(object), labels, f"{path}") if named else None
    return labels, polygons, names


def read_drawn(path: Path, columns: list[Column], layer: str | None = None) -> tuple[pd.DataFrame, ObjectArray]:
    """The wanted columns of all rows, and their shapes in EPSG:4326 as they are."""
    rows = _read(path, columns, layer)
    return rows.drop(columns=["shape", "crs"]), _in_degrees(rows)


def dissolved(names: ObjectArray, shapes: ObjectArray, where: str, id_column: str) -> tuple[ObjectArray, ObjectArray]:
    """Sorted names and their valid polygons; shapes that share a name become one."""
    import shapely

    drawn = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    if not drawn.any():
        raise OdanonError(f"{where} holds no polygon with an id in {id_column!r}; check the layer and the column")
    names, shapes = names[drawn], shapely.make_valid(shapes[drawn])
    labels = np.array(sorted(set(names)), dtype=object)
    groups = np.split(np.argsort(names, kind="stable"), np.searchsorted(np.sort(names), labels[1:]))
    polygons = np.empty(len(labels), dtype=object)
    polygons[:] = [polygonal(shapely.union_all(shapes[group])) for group in groups]
    return labels, polygons


def read_area(path: Path, layer: str | None = None) -> Any:
    """The union of all polygons of a layer, in EPSG:4326."""
    import shapely

    shapes = _in_degrees(_read(path, [], layer))
    area = polygonal(shapely.union_all(shapely.make_valid(shapes[~shapely.is_missing(shapes)])))
    if area.is_empty:
        raise OdanonError(f"{path} holds no polygon; give a layer that outlines the region")
    return area


def _read(path: Path, columns: list[Column], layer: str | None) -> pd.DataFrame:
    if not Path(path).exists():
        raise OdanonError(f"{path} does not exist; give the path of a polygon layer")
    job = Job([str(path)], "file", [*columns, _SHAPE, _CRS], layer=layer)
    return read_whole(str(path), job, MOST_SHAPES).to_pandas()


def _in_degrees(rows: pd.DataFrame) -> ObjectArray:
    import geopandas

    if rows.empty:
        return np.empty(0, dtype=object)
    shapes = geopandas.GeoSeries.from_wkb(rows["shape"].to_numpy(object), crs=str(rows["crs"].iloc[0]))
    return shapes.to_crs("EPSG:4326").to_numpy()
