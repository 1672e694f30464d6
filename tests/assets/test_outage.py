"""The database of the store goes away in the middle of a day and comes back."""

from datetime import date
from pathlib import Path

import pytest
from postgis_server import Server, crashing_server
from product_example import small_product
from sqlalchemy import text

from odanon.errors import OdanonError, OutageError
from odanon_assets import assets
from odanon_assets.progress import listening
from odanon_assets.run import run_days
from odanon_assets.stores import schema
from odanon_assets.stores.database import transaction
from odanon_assets.stores.postgis import PostgisStore

DAY = date(2026, 3, 2)
TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


class Outage:
    """Crashes the server when a day reaches its publication, and starts it again when the day has failed `tries` times."""

    def __init__(self, server: Server, tries: int) -> None:
        self.server, self.tries = server, tries
        self.up = True
        self.endings: list[str] = []

    def stage(self, product: str, stage: str, day: str) -> None:
        if stage == "published" and not self.endings:
            self.server.crash()
            self.up = False

    def day(self, product: str, day: str, error: str, note: str) -> None:
        self.endings.append(error)
        if not self.up and len(self.endings) == self.tries:
            self.server.start()
            self.up = True


def test_a_day_that_meets_an_outage_of_the_database_is_tried_until_it_is_back(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    monkeypatch.setattr(assets, "RETRY_AFTER", (0.1, 0.1, 0.1))
    with crashing_server() as server:
        schema.init(server.url)
        monkeypatch.setenv("ODANON_DB_URL", server.url)
        product = small_product(
            workspace / "pipelines", **TINY, publish={"store": "postgis", "url": "${ODANON_DB_URL}"}
        )
        with listening(Outage(server, tries=2)) as outage:
            (result,) = run_days(product, [DAY], resume=False)
        store = PostgisStore(server.url)
        assert result.error == ""
        assert store.windows("small") == [str(DAY)]
        assert store.problems(str(store.released("small", DAY))) == []
        first, second, third = outage.endings
        assert "the database refused" in first
        assert first.endswith("it will be tried again")
        assert second.endswith("it will be tried again")
        assert third == ""


def test_a_mistake_in_a_query_is_no_outage(postgis_url: str) -> None:
    with pytest.raises(OdanonError) as mistake, transaction(postgis_url) as connection:
        connection.execute(text("SELECT 1 / 0"))
    with pytest.raises(OutageError), transaction("postgresql://nobody@127.0.0.1:1/nowhere"):
        pass
    assert not isinstance(mistake.value, OutageError)
