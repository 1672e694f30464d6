"""Database errors leave as a sentence without values (PRIVACY rule 9)."""

import logging
import traceback
from io import StringIO

import psycopg2
import pytest
from bundles import accept, bundle
from sqlalchemy import text

from odanon.errors import OdanonError
from odanon_assets.stores.database import engine_of, scrubbed, transaction
from odanon_assets.stores.postgis import PostgisStore

CANARY = "33612345678"


def everything_about(error: BaseException) -> str:
    """All that a logger could print of an error and of those it came from, suppressed ones included."""
    seen, parts = error, []
    while seen is not None:
        parts += [repr(seen), str(seen), *map(str, vars(seen).values())]
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    return "\n".join([*parts, *traceback.format_exception(error)])


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT '{CANARY}'::integer / 0",
        f"SELECT '{CANARY}x'::integer",
        f"INSERT INTO published.zoning (version) VALUES ('{CANARY}'), ('{CANARY}')",
        f'SELECT * FROM published."{CANARY}"',
        f"SELECT '{CANARY}",
        f"DO $$ BEGIN RAISE EXCEPTION 'a drawn area {CANARY}' ; END $$",
    ],
)
def test_no_value_is_in_an_error(database: str, statement: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(OdanonError) as caught, transaction(database) as connection:
        connection.execute(text(statement.replace(":", "\\:")))
    assert CANARY not in everything_about(caught.value)
    assert CANARY not in caplog.text
    assert "the database refused" in str(caught.value)


def test_bound_and_copied_values_are_scrubbed_too(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(OdanonError) as bound, transaction(database) as connection:
            connection.execute(text("SELECT cast(:value AS date)"), {"value": CANARY + "x"})
        with pytest.raises(OdanonError) as copied, transaction(database) as connection:
            connection.connection.cursor().copy_expert(
                "COPY published.metric FROM STDIN", StringIO(f"{CANARY}x\t1\t2\n")
            )
    for caught in (bound, copied):
        assert CANARY not in everything_about(caught.value)
    assert CANARY not in caplog.text


def test_a_wrong_password_or_address_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    store = PostgisStore(f"postgresql://somebody:{CANARY}@127.0.0.1:1/nowhere?connect_timeout=2")
    assert CANARY not in repr(store)
    with caplog.at_level(logging.DEBUG), pytest.raises(OdanonError, match="check that the server runs") as caught:
        store.publish(bundle(), accept)
    assert CANARY not in everything_about(caught.value) + caplog.text
    with pytest.raises(OdanonError, match="the database URL is not one") as caught:
        PostgisStore(f"mysql://{CANARY}@host/x").windows("town")
    assert CANARY not in everything_about(caught.value)


def test_an_unrelated_error_under_way_is_left_alone() -> None:
    theirs = psycopg2.Error("theirs")
    theirs.__context__ = mine = KeyError("mine")
    with pytest.raises(OdanonError), scrubbed():
        raise theirs
    assert mine.args == ("mine",)


def test_tls_settings_reach_the_driver() -> None:
    engine = engine_of("postgresql://somebody@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere.pem")
    _, options = engine.dialect.create_connect_args(engine.url)
    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/nowhere.pem"
    assert engine.url.drivername == "postgresql+psycopg2"
