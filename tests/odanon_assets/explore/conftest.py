"""A town on either store with what makes maps hard: outlines that change, rests, segments, a day that was taken back; and its server."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from bundles import accept, bundle, town_zones
from psycopg2 import sql
from shapely import MultiPolygon, box
from starlette.testclient import TestClient
from store_databases import as_role, renamed, run_sql

from odanon_assets.explore.server import explorer_app
from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4)]
FACTS = {
    "timezone": "Europe/Paris",
    "parameters": {"k": 10, "unit": "persons", "zoning": {"plugin": "table"}, "hierarchy": {"plugin": "table"}},
    "metrics": {"flows": 9.0, "trips_published": 400.0},
}


def filled(store: Store) -> Store:
    """Three days of `town`, whose third zone is larger on the second day, and one of `gone`, which was withdrawn."""
    names = ["z1", "z2", "z3"]
    moved = town_zones(names)
    moved.loc[2, "geometry"] = MultiPolygon([box(2, 0, 3.25, 1)])
    for day, zones in zip(DAYS, (None, moved, None), strict=True):
        made = bundle(day=day, rows=12, zones=zones, **FACTS)
        rests = made.flows["trips"] % 4 == 0
        made.flows.loc[rests, "kind"] = "rest"
        made.flows.loc[made.flows["trips"] % 3 == 0, "segment"] = "cars"
        store.publish(made, accept)
    for day in DAYS[:2]:
        store.publish(bundle(product="gone", day=day, **FACTS), accept)
    store.withdraw("gone", DAYS[0], Act("Ada", "a test"))
    return store


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
