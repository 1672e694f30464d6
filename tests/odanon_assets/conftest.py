"""Both stores, empty, for the tests that must hold on either."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg2 import sql
from store_databases import emptied, renamed, run_sql

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

DATABASE = 'odanon "stores"; drop table x; --'  # hostile on purpose


@pytest.fixture(scope="session")
def shared_database(postgis_url: str) -> Iterator[str]:
    run_sql(postgis_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    url = renamed(postgis_url, DATABASE)
    schema.init(url)
    yield url
    run_sql(postgis_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(DATABASE)))


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
