"""A town on either store, and the server over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from explored_town import filled
from psycopg2 import sql
from starlette.testclient import TestClient
from store_databases import as_role, renamed, run_sql

from odanon_assets.explore.server import explorer_app
from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.postgis import PostgisStore


@pytest.fixture(scope="module", params=["embedded", "postgis"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where readers find the town, with no more than the rights of a reader."""
    if request.param == "embedded":
        root = tmp_path_factory.mktemp("explored")
        filled(EmbeddedStore(root))
        yield str(root)
        return
    server: str = request.getfixturevalue("postgis_url")
    name = sql.Identifier("odanon_explored")
    run_sql(server, sql.SQL("CREATE DATABASE {}").format(name))
    url = renamed(server, "odanon_explored")
    schema.init(url)
    filled(PostgisStore(url))
    yield as_role(url, "odanon_reader")
    run_sql(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture(scope="module")
def client(place: str) -> Iterator[TestClient]:
    with TestClient(explorer_app(place)) as asking:
        yield asking


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The town on an embedded store that a test may spoil."""
    filled(EmbeddedStore(tmp_path / "data"))
    return tmp_path / "data"
