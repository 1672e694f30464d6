"""GeoParquet files that odanon wrote itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_DEGREES = {"authority": "EPSG", "code": 4326}
_BOX = "bbox"  # extents beside the outlines, for readers of single areas


def read_outlines(path: Path) -> "GeoDataFrame":
    """A table whose outlines are in EPSG:4326, as all of ours are.

    geopandas would make the reference system anew from what the file says of it: 12 ms, ten times what a small release takes.
    """
    import geopandas
    import pyarrow.parquet as pq
    import shapely

    table = pq.read_table(path)
    if not _as_we_write(table.schema.metadata or {}):  # somebody else has written it again
        return geopandas.read_parquet(path).drop(columns=_BOX, errors="ignore")
    rows = table.select([name for name in table.column_names if name != _BOX]).to_pandas()
    return geopandas.GeoDataFrame(rows.assign(geometry=shapely.from_wkb(rows["geometry"].to_numpy())), crs="EPSG:4326")


def _as_we_write(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether a file has one column of outlines, as bytes (WKB) and in the reference system of all of ours."""
    columns = json.loads(metadata.get(b"geo", b"{}")).get("columns", {})
    told = columns.get("geometry", {})
    return len(columns) == 1 and told.get("encoding") == "WKB" and (told.get("crs") or {}).get("id") == _DEGREES
