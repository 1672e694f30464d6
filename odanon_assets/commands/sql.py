"""`odanon sql`: a query on what is published."""

from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from odanon_assets.commands.shared import store_of

PANEL = ("Stores", 1)


def sql(
    query: Annotated[str, typer.Argument(help="A query on the views flows, zones, releases and metrics.")],
    product: Annotated[
        str | None, typer.Option(help="Ask the store of this product; without it, the embedded store.")
    ] = None,
) -> None:
    """Query what is published: with DuckDB on the embedded store, in the database on PostGIS.

    For instance: `odanon sql "select origin_zone, sum(trips) from flows group by 1 order by 2 desc limit 10"`.
    """
    store = store_of(product)
    rows = store.query(query)
    table = Table(box=box.SIMPLE)
    for name in rows.columns:
        table.add_column(Text(str(name)))
    for row in rows.head(50).itertuples(index=False, name=None):
        table.add_row(*(Text(str(value)) for value in row))
    Console().print(table)
    if len(rows) > 50:
        typer.echo(f"the first 50 of {len(rows):,} rows")
    if not store.query("select 1 from metrics where name = 'noise_variance' limit 1").empty:
        typer.echo(
            "some releases are perturbed: metrics has the noise_variance of their numbers, releases what it means"
        )
