"""The one way to a database: connections by URL, and errors that never carry a value (PRIVACY rule 9)."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from odanon.databases import advice, error_type, sqlstate
from odanon.errors import OdanonError
from odanon.extras import needed_by

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, CursorResult, Engine

_ADVICE = {
    "3F": "run `odanon db init`",
    "42501": "the database user lacks the role for this; `odanon db check` shows the roles",
    "42P01": "check the names in the query, or run `odanon db init` if this database is new",
    "42": "check the query",
    "22": "check the query's values",
}
_DRIVER: dict[str, Any] = {"application_name": "odanon"}
# The words of our own SQL functions (RAISE ... invalid_parameter_value); they quote nothing.
_OWN_WORDS = re.compile(
    r"(a drawn area |two drawn areas |there is no |several products are |the reading |a profile needs |the profile has |along is |days is |the clock |the month "
    r"|a month |the time asked for )[a-z0-9A-Z ;:,_()=>-]*"
)


def address_of(url: str) -> str:
    """Which database a URL means, without its user and secrets."""
    with needed_by("a database"):
        from sqlalchemy import make_url

    parts = make_url(url)
    return f"database {parts.host}:{parts.port}/{parts.database}"


def engine_of(url: str) -> "Engine":
    """An engine for a PostgreSQL URL; its query part (sslmode, sslrootcert, options ...) goes to the driver as it is."""
    return _engine(_psycopg2_url(url))


@lru_cache(maxsize=8)
def _engine(url: "URL") -> "Engine":
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    with needed_by("a database"):
        # No pool: every block has its own connection, so that a crash or a fork leaves none behind.
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=_DRIVER)


def _psycopg2_url(url: str) -> "URL":
    with needed_by("a database"):
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise OdanonError("the database URL is not one; write postgresql+psycopg2://user:password@host:5432/name")
    return parsed.set(drivername="postgresql+psycopg2")


@contextmanager
def transaction(url: str) -> Iterator["Connection"]:
    """A connection in one transaction: committed when the block ends well, rolled back otherwise."""
    engine = engine_of(url)
    with scrubbed(), engine.begin() as connection:
        yield connection


@contextmanager
def reading(url: str, prepare: Callable[["Connection"], None] | None = None) -> Iterator["Connection"]:
    """A connection in a read-only transaction that is rolled back: some functions write in spite of the first.

    `prepare` makes the tables of the session before that.
    """
    engine = engine_of(url)
    with scrubbed(), engine.connect() as connection:
        if prepare is not None:
            prepare(connection)
        execute(connection, "SET TRANSACTION READ ONLY")
        yield connection


def execute(connection: "Connection", sql: str, values: Any = None) -> "CursorResult[Any]":
    """Run a statement in which `:name` stands for a value; a list of values runs it once for each."""
    from sqlalchemy import text

    return connection.execute(text(sql), values)


@contextmanager
def scrubbed() -> Iterator[None]:
    """The choke point: a database error leaves as one sentence with its code, without values, SQL or address."""
    try:
        yield
    except _database_errors() as error:
        scrubbed_error = _scrubbed(error)
        _blank(error)
        raise scrubbed_error from None


def _database_errors() -> tuple[type[Exception], ...]:
    from psycopg2 import Error
    from sqlalchemy.exc import SQLAlchemyError

    return SQLAlchemyError, Error


def _blank(error: BaseException) -> None:
    """Empty an error and those it came from, since loggers may walk the chain in spite of `from None`."""
    for linked in (error.__cause__, error.__context__):
        if isinstance(linked, _database_errors()):
            _blank(linked)
    error.args = ("a database error, scrubbed",)
    error.__cause__ = error.__context__ = None
    for name in ("statement", "params", "orig", "detail"):
        if hasattr(error, name):
            setattr(error, name, None if name != "detail" else [])


def _scrubbed(error: Exception) -> OdanonError:
    original = getattr(error, "orig", None) or error
    code = sqlstate(error)
    primary = getattr(getattr(original, "diag", None), "message_primary", None) or ""
    if code == "22023" and _OWN_WORDS.fullmatch(primary):
        return OdanonError(primary)
    what = _ADVICE.get(code) or _ADVICE.get(code[:2]) or advice(code) or "the server's own log has the details"
    name = f"{type(original).__name__}{f' {code}' if len(code) == 5 else ''}"
    return error_type(code)(f"the database refused ({name}); {what}")
