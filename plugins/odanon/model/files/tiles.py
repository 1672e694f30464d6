"""Tiles as one Parquet file: labels and outlines, kind in the file's metadata."""

from pathlib import Path

import numpy as np

from odanon.errors import OdanonError
from odanon.model.tiles import Tiles

_KIND = b"odanon.tiles.kind"


def write_tiles(tiles: Tiles, path: Path) -> None:
    """Write labels and outlines; H3 cells are outlined by their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    drawn = None if tiles.kind == "h3" else shapely.to_wkb(tiles.geometry)
    columns = {"label": pa.array(tiles.label, pa.string()), "lat": tiles.lat, "lon": tiles.lon}
    columns["outline"] = pa.nulls(len(tiles), pa.binary()) if drawn is None else pa.array(drawn, pa.binary())
    pq.write_table(pa.table(columns).replace_schema_metadata({_KIND: tiles.kind}), path, compression="zstd")


def read_tiles(path: Path) -> Tiles:
    """Read tiles back; outlines that are no areas on Earth are refused."""
    import pyarrow.parquet as pq
    import shapely

    table = pq.ParquetFile(path).read()
    kind = table.schema.metadata[_KIND].decode()
    label = np.array(table["label"].to_pylist(), dtype=object)
    outline = None if kind == "h3" else shapely.from_wkb(table["outline"].to_numpy())
    if list(label) != sorted({*label.tolist()}) or (outline is not None and not _on_earth(outline)):
        raise OdanonError(f"the tiles in {path.parent.name} are not distinct areas on Earth; repair the zoning")
    return Tiles(label, table["lat"].to_numpy(), table["lon"].to_numpy(), kind, draw=lambda: np.asarray(outline))


def _on_earth(outline: np.ndarray) -> bool:
    """Whether all are areas with coordinates in range."""
    import shapely

    areas = np.isin(shapely.get_type_id(outline), (3, 6)) & ~shapely.is_empty(outline)
    return bool(areas.all()) and bool((np.abs(shapely.bounds(outline)) <= (180, 90, 180, 90)).all())
