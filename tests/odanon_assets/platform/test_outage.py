"""Databases of the store and of the source that go away, and mistakes that are no outage."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from dagster import DagsterInstance, RunsFilter
from dagster_postgres import utils as storage
from postgis_server import Server, crashing_server
from product_example import small_product
from repository import REPOSITORY
from sqlalchemy import text
from sqlalchemy.engine import make_url

from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon.traces import sql
from odanon_assets.chain import day
from odanon_assets.platform import assets
from odanon_assets.platform.launch import run_days
from odanon_assets.stores import schema
from odanon_assets.stores.database import engine_of, transaction
from odanon_assets.stores.postgis import PostgisStore
from odanon_assets.watch.progress import listening

DAY = date(2026, 3, 2)
START = datetime(2026, 3, 2, tzinfo=UTC)
SETTINGS = REPOSITORY / "dagster.yaml"
SECRET = "a-secret-of-the-url"
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

    def warning(self, product: str, day: str, check: str, sentence: str) -> None:
        return

    def day(self, product: str, day: str, error: str, note: str) -> None:
        self.endings.append(error)
        if not self.up and len(self.endings) == self.tries:
            self.server.start()
            self.up = True


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of our own that asks ann for a password."""
    with crashing_server() as found:
        with transaction(found.url) as connection:
            connection.execute(text("CREATE ROLE ann LOGIN PASSWORD 'hers'"))
            connection.execute(text("REVOKE CONNECT ON DATABASE template1 FROM public"))
            hba = connection.execute(text("SHOW hba_file")).scalar_one()
            lines = "VALUES ('host all ann 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')"
            connection.execute(text(f"COPY ({lines}) TO '{hba}'"))
        with engine_of(found.url).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ALTER SYSTEM SET fsync = off"))  # nobody pulls the plug of this machine
        found.crash()
        found.start()
        yield found


def test_a_day_that_meets_an_outage_of_the_database_is_tried_until_it_is_back(
    server: Server, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    monkeypatch.setattr(assets, "RETRY_AFTER", (0.1, 0.1, 0.1))
    schema.init(server.url)
    monkeypatch.setenv("ODANON_DB_URL", server.url)
    product = small_product(workspace / "pipelines", **TINY, publish={"store": "postgis", "url": "${ODANON_DB_URL}"})
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


def enter(url: str) -> None:
    """What the store does."""
    with transaction(url) as connection:
        connection.execute(text("SELECT 1"))


def read(url: str, query: str = "SELECT 'ann' AS person, :start AS time, :end AS later") -> None:
    """What the sql source does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODANON_SOURCE_URL", url)
        list(sql.Sql(query=query).batches(START, START + timedelta(days=1)))


@pytest.mark.parametrize("use", [enter, read])
@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"username": "ann", "password": SECRET}, "check the user and the password"),
        ({"username": "ann"}, "check the user and the password"),  # no password at all
        ({"username": "bob"}, "check the user and the password"),  # nobody of this name
        ({"database": "nowhere"}, "check the name of the database"),
        ({"username": "ann", "password": "hers", "database": "template1"}, "lacks the role|run it by hand"),
    ],
)
def test_a_server_that_lets_nobody_in_is_no_outage(
    server: Server, use: Callable[[str], None], change: dict[str, str], remedy: str
) -> None:
    use(server.url)
    url = make_url(server.url).set(**change).render_as_string(hide_password=False)
    with pytest.raises(OdanonError, match=remedy) as refused:
        use(url)
    assert not isinstance(refused.value, OutageError)
    assert not any(value in str(refused.value) for value in change.values())


def test_a_mistake_in_a_query_is_no_outage(server: Server) -> None:
    with pytest.raises(OdanonError) as mistake, transaction(server.url) as connection:
        connection.execute(text("SELECT 1 / 0"))
    with pytest.raises(OdanonError, match="run it by hand") as theirs:
        read(server.url, "SELECT 1 / 0 WHERE now() BETWEEN :start AND :end")
    assert not isinstance(mistake.value, OutageError)
    assert not isinstance(theirs.value, OutageError)


def test_a_server_that_is_away_or_goes_away_is_an_outage(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "_ROWS", 1000)
    monkeypatch.setenv("ODANON_SOURCE_URL", server.url)
    rows = "SELECT 'ann' AS person, generate_series(:start, :end, interval '1 second') AS time"
    batches = sql.Sql(query=rows).batches(START, START + timedelta(days=1))
    assert len(next(batches)) == 1000  # as the server sends them
    server.crash()
    try:
        with pytest.raises(OutageError, match="check that the server runs"):
            list(batches)
        for use in (enter, read):
            with pytest.raises(OutageError, match="check that the server runs"):
                use(server.url)
    finally:
        server.start()


class Away:
    """Stops Dagster's database in the middle of a day; Dagster then waits for it for no time at all, but as often as ever.

    With `back`, the server is there again for the last try of the second event that could not be written.
    """

    def __init__(self, server: Server, back: bool) -> None:
        self.server, self.back = server, back
        self.last_tries = 0

    def stage(self, product: str, stage: str, day: str) -> None:
        if stage == "trips":
            self.server.crash()

    def warning(self, product: str, day: str, check: str, sentence: str) -> None:
        return

    def day(self, product: str, day: str, error: str, note: str) -> None:
        return

    def wait(self, attempt_num: int, **rest: object) -> float:
        self.last_tries += attempt_num == 5
        if self.back and self.last_tries == 2:
            self.back = False
            self.server.start()
        return 0.0


@pytest.fixture
def on_postgresql(server: Server, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    """A product whose Dagster has our own settings and keeps its runs in the server."""
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    settings = {**yaml.safe_load(SETTINGS.read_text()), "storage": {"postgres": {"postgres_url": server.url}}}
    (workspace / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(settings))
    return small_product(workspace / "pipelines", **TINY)


def last_run() -> dict[str, str]:
    """The tags of the run that was made last."""
    with DagsterInstance.get() as instance:
        (run,) = instance.get_runs(RunsFilter(), limit=1)
        return dict(run.tags)


def test_a_run_that_could_not_write_its_events_is_retried_and_one_with_bad_days_is_not(
    server: Server, on_postgresql: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(Away(server, back=True)) as away:
        monkeypatch.setattr(storage, "calculate_delay", away.wait)
        (result,) = run_days(on_postgresql, [DAY], resume=False)
    assert "the run failed" in result.error
    assert last_run()["dagster/failure_reason"] == "STEP_FAILURE"
    assert last_run()["dagster/will_retry"] == "true"

    def mistaken(*_: object, **__: object) -> dict:
        raise OdanonError("a mistake that no repetition repairs")

    monkeypatch.setattr(day, "run_stage", mistaken)
    (result,) = run_days(on_postgresql, [DAY], resume=True)
    assert result.error == "a mistake that no repetition repairs"
    assert last_run()["dagster/failure_reason"] == "STEP_FAILURE"
    assert last_run()["dagster/will_retry"] == "false"


def test_odanon_run_says_how_to_go_on_when_dagsters_database_is_away(
    server: Server, on_postgresql: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(Away(server, back=False)) as away:
        monkeypatch.setattr(storage, "calculate_delay", away.wait)
        with pytest.raises(OutageError, match=r"Dagster's own database .* --resume goes on"):
            list(run_days(on_postgresql, [DAY], resume=False))
    with pytest.raises(OutageError, match="--resume goes on"):
        list(run_days(on_postgresql, [DAY], resume=True))
    server.start()
    (result,) = run_days(on_postgresql, [DAY], resume=True)
    assert result.error == ""
