"""`odanon sql`: a query on what is published."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from odanon.errors import OdanonError
from odanon.geo.layerfiles import read_layer
from odanon.tables.spreadsheet import inert
from odanon_assets.commands.shared import store_of

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

PANEL = ("Stores", 1)
_SHOWN = 50  # rows in a terminal
_WIDEST = 10_000  # letters of a line that goes to another program


class Shape(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def sql(
    query: Annotated[
        str, typer.Argument(help="A query on the views flows, zones, releases, metrics, windows, bins and months.")
    ],
    product: Annotated[
        str | None, typer.Option(help="Show this product alone, from its store; without it, all of the embedded store.")
    ] = None,
    areas: Annotated[
        Path | None,
        typer.Option(
            help="GeoJSON (or any vector file) with areas of yours, which become the table areas (name, geometry)."
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Column of that file with their names.")] = "name",
    shape: Annotated[Shape, typer.Option("--format", help="How the answer is written.")] = Shape.table,
    out: Annotated[Path | None, typer.Option(help="File for the answer, in place of the terminal.")] = None,
) -> None:
    """Query what is published, reading only: with DuckDB on the embedded store, in the database on PostGIS.

    For instance: `odanon sql "select origin_zone, sum(trips) from flows group by 1 order by 2 desc limit 10"`, or for a program `odanon sql "select * from flows" --format csv > flows.csv`.
    flow, matrix and profile estimate trips between areas of your own: `odanon sql "select * from matrix('areas', month => '2026-03', days => 'working')" --areas districts.geojson`.
    A terminal shows the first 50 rows; files and other programs get all of them, in full width.
    """
    if shape is Shape.parquet and out is None:
        raise OdanonError("--format parquet: say which file with --out, such as --out answer.parquet")
    store = store_of(product)
    rows = store.query(query, product, _areas(areas, name))
    if out is not None:
        _write(rows, shape, out)
        typer.echo(f"{len(rows):,} rows written to {out}")
    else:
        _print(rows, shape)
    if not store.query("select 1 from metrics where name = 'noise_variance' limit 1", product).empty:
        typer.echo(
            "some releases are perturbed: metrics has the noise_variance of their numbers, releases what it means",
            err=True,
        )


def _areas(path: Path | None, column: str) -> "GeoDataFrame | None":
    if path is None:
        return None
    import geopandas

    labels, polygons = read_layer(path, column)
    return geopandas.GeoDataFrame(index=labels, geometry=polygons, crs="EPSG:4326")


def _write(rows: pd.DataFrame, shape: Shape, out: Path) -> None:
    if out.exists():
        raise OdanonError(f"{out} is there already; give a new file, so that nothing is overwritten")
    if shape is Shape.parquet:
        rows.to_parquet(out, index=False)
    else:
        out.write_text(_text(rows, shape), encoding="utf-8")


def _print(rows: pd.DataFrame, shape: Shape) -> None:
    if shape is not Shape.table or not sys.stdout.isatty():
        typer.echo(_text(rows, shape), nl=False)
        return
    Console().print(_table(rows.head(_SHOWN)))
    if len(rows) > _SHOWN:
        typer.echo(f"the first {_SHOWN} of {len(rows):,} rows; --format csv gives all")


def _text(rows: pd.DataFrame, shape: Shape) -> str:
    if shape is Shape.csv:
        return inert(_plain(rows)).to_csv(index=False, lineterminator="\n")
    if shape is Shape.json:
        return _plain(rows).to_json(orient="records", lines=True, date_format="iso", force_ascii=False)
    console, table = Console(width=_WIDEST, color_system=None), _table(rows)
    with console.capture() as captured:
        console.print(table, width=console.measure(table).maximum)
    return captured.get()


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Outlines as hexadecimal WKB, which programs read."""
    binary = [name for name in rows if rows[name].map(type).isin([bytes, bytearray, memoryview]).any()]
    return rows.assign(
        **{name: rows[name].map(lambda value: bytes(value).hex(), na_action="ignore") for name in binary}
    )


def _table(rows: pd.DataFrame) -> Table:
    table = Table(box=box.SIMPLE)
    for name in rows.columns:
        table.add_column(Text(str(name)))
    for row in rows.itertuples(index=False, name=None):
        table.add_row(*(Text(str(value)) for value in row))
    return table
