"""Both stores, empty, for the tests that must hold on either; and a small town to publish there."""

from collections.abc import Iterator
from pathlib import Path

import gate_town as gate
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


@pytest.fixture
def town_folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with the OD table of one day of a small town (`gate_town`)."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, gate.people(200))
    return workspace


@pytest.fixture(params=["embedded", "postgis"])
def publish(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a product's file says under `publish` to use an empty store of each kind."""
    if request.param == "embedded":
        return {"store": "embedded"}
    monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
    return {"store": "postgis", "url": "${ODANON_DB_URL}"}


@pytest.fixture(params=["embedded", "postgis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each kind."""
    if request.param == "embedded":
        return EmbeddedStore(tmp_path / "store")
    return PostgisStore(request.getfixturevalue("database"))
