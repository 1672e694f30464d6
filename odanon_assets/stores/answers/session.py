"""One reading query in the database, with areas of one's own, on all products or a single one."""

from typing import TYPE_CHECKING

import pandas as pd

from odanon.reconstruct.areas import in_degrees
from odanon_assets.stores.bundle import check_name
from odanon_assets.stores.database import execute, reading
from odanon_assets.stores.roles import READER

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from sqlalchemy import Connection

_ASK = """
DO $$
DECLARE answer refcursor := 'odanon_answer';
BEGIN
    OPEN answer FOR EXECUTE current_setting('odanon.query');
END
$$
"""
_SCHEMAS = "published, odanon, public"


def query_in(url: str, sql: str, product: str | None, areas: "GeoDataFrame | None") -> pd.DataFrame:
    """The rows of one query, with the rights of readers whoever asks; whatever else it does is refused, or rolled back."""
    with reading(url, lambda connection: _prepare(connection, product, areas)) as connection:
        execute(connection, f"SET LOCAL search_path = {_SCHEMAS}")
        if execute(connection, "SELECT pg_has_role(:reader, 'MEMBER')", {"reader": READER}).scalar():
            execute(connection, f"SET LOCAL ROLE {READER}")
        execute(connection, "SELECT set_config('odanon.query', :sql, true)", {"sql": sql})
        # A cursor takes one query that gives rows: whoever adds a COMMIT cannot leave the read-only transaction.
        execute(connection, _ASK)
        result = execute(connection, "FETCH ALL FROM odanon_answer")
        return pd.DataFrame(result.all(), columns=list(result.keys()))


def _prepare(connection: "Connection", product: str | None, areas: "GeoDataFrame | None") -> None:
    """Tables of this session: they are found before those of the same names that are published."""
    if product is not None:
        check_name(product)
        execute(connection, "SELECT set_config('odanon.product', :product, true)", {"product": product})
        told = execute(
            connection,
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'product'"
            " WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v' AND has_table_privilege(c.oid, 'SELECT')"
            " AND c.relname NOT LIKE 'product\\_%' ORDER BY 1",
        )
        for view in told.scalars().all():
            execute(
                connection,
                f"CREATE TEMPORARY VIEW {view} AS SELECT * FROM published.{view} WHERE product = '{product}'",
            )
            execute(connection, f"GRANT SELECT ON pg_temp.{view} TO {READER}")
    if areas is not None:
        execute(connection, "CREATE TEMPORARY TABLE areas (name text, geometry geometry) ON COMMIT DROP")
        if rows := [{"name": str(name), "shape": shape.wkb} for name, shape in in_degrees(areas.geometry).items()]:
            execute(connection, "INSERT INTO areas VALUES (:name, ST_GeomFromWKB(:shape, 4326))", rows)
        execute(connection, f"GRANT SELECT ON pg_temp.areas TO {READER}")
