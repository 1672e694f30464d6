"""Making and reading data: `odanon simulate`, `odanon sql`."""

from typing import Annotated

import typer

from odanon.simulate.command import simulate


def register(app: typer.Typer) -> None:
    app.command()(simulate)
    app.command()(sql)


def sql(
    query: Annotated[str, typer.Argument(help="A query on the views flows, zones and releases.")],
) -> None:
    """Query everything published in the embedded store with DuckDB.

    For instance: `odanon sql "select origin_zone, sum(trips) from flows group by all order by 2 desc limit 10"`.
    """
    import duckdb

    from odanon.errors import OdanonError
    from odanon_assets.lake import default_root
    from odanon_assets.stores.embedded import EmbeddedStore

    session = EmbeddedStore(default_root()).connect()
    try:
        session.sql(query).show(max_rows=50)
    except duckdb.Error as error:
        raise OdanonError(f"DuckDB does not accept the query: {str(error).splitlines()[0]}") from None
