"""Files with outlines of ours are read as geopandas reads them."""

from pathlib import Path

import geopandas
import pytest
from geopandas.testing import assert_geodataframe_equal
from shapely.geometry import box

from odanon.geo.ownfiles import read_outlines
from odanon.reconstruct.prior import no_tiles


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("boxes", [True, False], ids=["with extents", "without"])
def test_a_table_is_what_was_written(tmp_path: Path, rows: int, boxes: bool) -> None:
    columns = {"zone_id": [f"z{n}" for n in range(rows)], "tiles": [["a", f"b{n}"] for n in range(rows)]}
    outlines = [box(n, 0, n + 1, 1) if n != 1 else None for n in range(rows)]
    written = geopandas.GeoDataFrame({**columns, "level": range(rows)}, geometry=outlines, crs="EPSG:4326")
    written.to_parquet(tmp_path / "zones.parquet", index=False, write_covering_bbox=boxes and rows > 0)
    slow = geopandas.read_parquet(tmp_path / "zones.parquet").drop(columns="bbox", errors="ignore")
    assert_geodataframe_equal(read_outlines(tmp_path / "zones.parquet"), slow)


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    no_tiles().to_parquet(tmp_path / "tiles.parquet", index=False)
    assert_geodataframe_equal(
        read_outlines(tmp_path / "tiles.parquet"), geopandas.read_parquet(tmp_path / "tiles.parquet")
    )


@pytest.mark.parametrize("other", ["another system", "none", "two columns"])
def test_a_file_that_somebody_wrote_again_is_read_as_it_says(tmp_path: Path, other: str) -> None:
    table = geopandas.GeoDataFrame({"zone_id": ["z"]}, geometry=[box(0, 0, 1, 1)], crs="EPSG:4326")
    if other == "two columns":
        table["centre"] = table.geometry.centroid
    else:
        table = table.set_crs("EPSG:2154" if other == "another system" else None, allow_override=True)
    table.to_parquet(tmp_path / "zones.parquet", index=False)
    assert_geodataframe_equal(read_outlines(tmp_path / "zones.parquet"), table)
