"""Tables for programs, spreadsheets and web maps: GeoParquet, CSV and GeoJSON."""

from pathlib import Path

import pandas as pd

from odanon.tables.spreadsheet import write_csv
from odanon_assets.derived.exports.geopackage import desire_lines
from odanon_assets.derived.exports.tables import Published, in_words, listed_in_words
from odanon_assets.lake.files import write_parquet


def geoparquet(published: Published, folder: Path) -> None:
    """Every table that has rows as Parquet, outlines as GeoParquet with a box for each."""
    write_parquet(published.flows, folder / "flows.parquet")
    if len(published.weights):
        write_parquet(published.weights, folder / "weights.parquet")
    for name, placed in (("zones", published.zones), ("tiles", published.tiles)):
        if len(placed):
            placed.to_parquet(folder / f"{name}.parquet", index=False, compression="zstd", write_covering_bbox=True)


def csv(published: Published, folder: Path) -> None:
    """Every table that has rows as CSV, outlines as WKT."""
    for name, timed in (("flows", published.flows), ("weights", published.weights)):
        if len(timed):
            write_csv(in_words(timed), folder / f"{name}.csv")
    for name, lists, placed in (("zones", "tiles", published.zones), ("tiles", "zones", published.tiles)):
        if len(placed):
            plain = pd.DataFrame(listed_in_words(placed, lists)).assign(geometry=placed.geometry.to_wkt())
            write_csv(plain, folder / f"{name}.csv")


def geojson(published: Published, folder: Path) -> None:
    """Zones and desire lines as GeoJSON."""
    lines = desire_lines(published.flows, published.zones)
    for name, placed in (("zones", listed_in_words(published.zones, "tiles")), ("desire_lines", lines)):
        path = folder / f"{name}.geojson"
        path.write_text(placed.to_json(drop_id=True, to_wgs84=True) + "\n", encoding="utf-8")
