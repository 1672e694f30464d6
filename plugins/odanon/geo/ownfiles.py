"""GeoParquet files that odanon wrote itself."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_BOX = "bbox"  # extents beside the outlines, for readers of single areas


def read_outlines(path: Path) -> "GeoDataFrame":
    """A table whose outlines are in EPSG:4326, as all of ours are.

    geopandas would make the reference system anew from what the file says of it: 12 ms, ten times what a small release takes.
    """
    import pyarrow.parquet as pq
    import shapely
    from geopandas import GeoDataFrame

    table = pq.read_table(path)
    rows = table.select([name for name in table.column_names if name != _BOX]).to_pandas()
    return GeoDataFrame(rows.assign(geometry=shapely.from_wkb(rows["geometry"].to_numpy())), crs="EPSG:4326")
