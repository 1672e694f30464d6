"""Both stores, empty, for the tests that must hold on either."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from psycopg2 import sql

sys.path.insert(0, str(Path(__file__).parent))

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

DATABASE = 'odanon "stores"; drop table x; --'  # hostile on purpose

# Triggers are off in a replica session, so that even the append-only log can be emptied between tests.
_EMPTY = """
SET session_replication_role = replica;
TRUNCATE published.flow, published.release, published.release_window, published.release_zone, published.zone,
         published.zoning, published.metric, work.audit_log RESTART IDENTITY;
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


@pytest.fixture(scope="session")
def shared_database(postgis_url: str) -> Iterator[str]:
    run_sql(postgis_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    url = renamed(postgis_url, DATABASE)
    schema.init(url)
    yield url
    run_sql(postgis_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(DATABASE)))


def emptied(url: str) -> str:
    """The same database without a release in it."""
    run_sql(url, _EMPTY)
    return url


@pytest.fixture
def database(shared_database: str) -> str:
    """The URL of an empty, initialised database."""
    return emptied(shared_database)


@pytest.fixture
def fresh_database(postgis_url: str) -> Iterator[str]:
    """The URL of a database without anything in it, for the tests of the schema itself."""
    name = sql.Identifier("odanon_fresh")
    run_sql(postgis_url, sql.SQL("CREATE DATABASE {}").format(name))
    yield renamed(postgis_url, "odanon_fresh")
    run_sql(postgis_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture(params=["embedded", "postgis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each kind."""
    if request.param == "embedded":
        return EmbeddedStore(tmp_path / "store")
    return PostgisStore(request.getfixturevalue("database"))
