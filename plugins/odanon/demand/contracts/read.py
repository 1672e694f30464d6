"""Reading the tables of demand: Parquet or CSV, zones also as a layer of polygons, under names and words of one's own.

Foreign files are opened by the process with little memory that opens all of them (`odanon.reading`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odanon.demand.contracts.declared import COLUMNS, Table
from odanon.demand.contracts.rules import checked
from odanon.errors import OdanonError
from odanon.geo.layerfiles import dissolved, is_geoparquet, read_drawn
from odanon.reading.batches import Column
from odanon.tables.columns import Clock, categories, read_columns, whole_labels
from odanon.tables.dialects import EITHER, Told
from odanon.tables.look import Seen, look

Names = Mapping[str, str]
Words = Mapping[str, Mapping[str, str | None]]
_LAYERS = (".gpkg", ".geojson", ".json", ".shp", ".fgb")
_PLACED = ("lat", "lon")


def read(
    table: Table,
    path: str | Path,
    columns: Names | None = None,
    values: Words | None = None,
    csv: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """A table of COLUMNS, checked: text as categories, numbers as floats.

    `columns` tells which column of the file holds ours, `values` by column what words of the file mean (None: nothing known), `csv` how a CSV
    file is written where that cannot be found out (`odanon.tables.dialects.Told`). Rows that cannot be used are left out and counted in
    `attrs[LEFT_OUT]`. Zones from a layer of polygons have a `geometry`, and a point inside it for `lat` and `lon` unless `columns` names these.
    """
    path, columns, values = Path(path), columns or {}, values or {}
    for key in (*columns, *values):
        if key not in COLUMNS[table]:
            raise OdanonError(f"{table} has no column {key!r} to be named; it has {', '.join(COLUMNS[table])}")
    if table == "zones" and _is_layer(path):
        rows = _layer(path, columns, values)
    else:
        rows = _table(table, path, columns, values, csv or {})
    return checked(table, rows, str(path))


def _table(table: Table, path: Path, columns: Names, values: Words, csv: Mapping[str, Any]) -> pd.DataFrame:
    seen = look(path, Told(**csv))
    wanted = []
    for name, declared in COLUMNS[table].items():
        source = seen.find(columns.get(name, name), f"columns: {{{name}: ...}} under inputs.{table}")
        if declared.kind == "number":
            _refuse_unclear(seen, source)
        wanted.append(Column(name, source, declared.kind))
    rows = read_columns(seen, wanted, Clock())
    for name, declared in COLUMNS[table].items():
        if declared.kind == "text":
            rows[name] = _translated(whole_labels(rows[name]), values.get(name, {}))
    return rows


def _refuse_unclear(seen: Seen, source: str) -> None:
    if seen.unclear and any(EITHER.fullmatch(text.strip()) for text in seen.sample[source]):
        raise OdanonError(
            f"{seen.path}: numbers in {source!r} have three digits behind a point or comma, so they may be thousands; say what separates"
            ' decimals with csv: {decimal: ","} or csv: {decimal: "."} beside its path'
        )


def _is_layer(path: Path) -> bool:
    return path.suffix.lower() in _LAYERS or is_geoparquet(path)


def _layer(path: Path, columns: Names, values: Words) -> pd.DataFrame:
    """One row a zone; outlines that share a name are one, and the first tells commune and canton."""
    import shapely
    from geopandas import GeoDataFrame

    told = {name: each for name, each in COLUMNS["zones"].items() if name not in _PLACED or name in columns}
    found, shapes = read_drawn(path, [Column(name, columns.get(name, name), each.kind) for name, each in told.items()])
    for name, each in told.items():
        if each.kind == "text":
            found[name] = _translated(whole_labels(found[name].astype("category")), values.get(name, {}))
    named = found["zone"].notna().to_numpy()
    labels = found.loc[named, "zone"].astype("str").to_numpy(object)
    names, outlines = dissolved(labels, shapes[named], str(path), columns.get("zone", "zone"))
    first = found[named].drop_duplicates("zone").assign(zone=lambda rows: rows["zone"].astype("str")).set_index("zone")
    rows = first.loc[names].reset_index()
    rows["zone"] = categories(names)
    for name, at in zip(_PLACED, (shapely.get_y, shapely.get_x), strict=True):
        if name not in told:
            rows[name] = at(shapely.point_on_surface(outlines)).astype(np.float64)
    return GeoDataFrame(rows[list(COLUMNS["zones"])], geometry=outlines, crs="EPSG:4326")


def _translated(words: pd.Series, meaning: Mapping[str, str | None]) -> pd.Series:
    """Categories in our words; those without a translation stay as they are, and several may mean the same."""
    mine = [meaning.get(str(word), str(word)) for word in words.cat.categories]
    number, names = pd.factorize(np.array(mine, dtype=object), sort=True)
    codes = words.cat.codes.to_numpy()
    found = number[codes] if len(number) else codes
    return pd.Series(pd.Categorical.from_codes(np.where(codes < 0, -1, found), pd.Index(names, dtype="str")))
