"""Statements and emptying on the test databases."""

from typing import Any

import psycopg2

# Triggers are off in a replica session, so that even the append-only log can be emptied between tests.
_EMPTY = """
SET session_replication_role = replica;
TRUNCATE published.flow, published.release, published.release_window, published.release_zone, published.zone,
         published.zoning, published.metric, published.weight, published.tile, published.zone_tile, published.zone_prior,
         published.prior, published.pulse, published.piece, published.flow_time, published.part, work.audit_log RESTART IDENTITY;
DO $$ DECLARE found text; BEGIN
    FOR found IN SELECT viewname FROM pg_views WHERE schemaname = 'published' AND viewname LIKE 'product\\_%' LOOP
        EXECUTE format('DROP VIEW published.%I', found);
    END LOOP;
END $$"""


def run_sql(url: str, statement: Any) -> None:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


def renamed(url: str, name: str) -> str:
    from sqlalchemy.engine import make_url

    return make_url(url).set(database=name).render_as_string(hide_password=False)


def emptied(url: str) -> str:
    """The same database without a release in it."""
    run_sql(url, _EMPTY)
    return url


def as_role(url: str, role: str) -> str:
    """The same database with the rights of a role."""
    return f"{url}?options=-c%20role%3D{role}"
