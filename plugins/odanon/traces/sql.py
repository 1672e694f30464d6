"""The rows of a database query as a source of points."""

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from pydantic import field_validator

from odanon.databases import advice, error_type, sqlstate
from odanon.errors import OdanonError
from odanon.extras import needed_by
from odanon.plugin import parameter, plugin
from odanon.reading.persons import SpelledIds
from odanon.traces.recordings import Recordings

if TYPE_CHECKING:
    from sqlalchemy import URL

_ROWS = 100_000
_HERE = "localhost"
_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "mssql": 1433, "oracle": 1521}
_NAME = r'(?:"[^"]+"|[\w$]+)'
_TABLE = re.compile(rf"\b(?:from|join)\s+({_NAME}(?:\s*\.\s*{_NAME})*)", re.IGNORECASE)


@plugin
class Sql(SpelledIds, Recordings):
    """Points from a database query, PostGIS or any other that SQLAlchemy speaks to."""

    enters: ClassVar[str] = "traces"

    query: str = parameter(
        ..., "SELECT of person, time, lat and lon (ST_Y, ST_X of a point) between the parameters :start and :end"
    )
    url_variable: str = parameter(
        "ODANON_SOURCE_URL",
        "environment variable that holds the database URL; the URL itself never enters a file or a run's config",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
    )
    day_query: str | None = parameter(
        None, "quick SELECT that gives a row if the day :day has been loaded; without it every day counts as loaded"
    )

    @field_validator("query")
    @classmethod
    def _bounded(cls, value: str) -> str:
        if ":start" not in value or ":end" not in value:
            raise ValueError(
                "bound the query by the parameters :start and :end, such as time >= :start and time < :end"
            )
        return value

    @property
    def data_place(self) -> str:
        """The database, whatever is asked of it, whoever asks and however its URL is spelled."""
        url = self._url()
        return self.url_variable if url is None else _file(url) or _place(url, _server(url))

    def reads(self, start: datetime, end: datetime) -> list[str]:
        """The database's file, or the tables that the query names under every address of their server."""
        url = self._url()
        if url is None:
            return []
        if file := _file(url):
            return [file]
        tables = {found[1].split(".")[-1].strip('" ').lower() for found in _TABLE.finditer(self.query)} or {""}
        return sorted(f"{_place(url, address)} {table}" for address in _addresses(url) for table in tables)

    def _url(self) -> "URL | None":
        with needed_by("the source sql"):
            import sqlalchemy

        try:
            return sqlalchemy.make_url(os.environ.get(self.url_variable, ""))
        except sqlalchemy.exc.ArgumentError:
            return None

    def available(self, day: date) -> bool:
        """What the day query says; the traces are not read."""
        return self.day_query is None or any(len(rows) for rows in self._run(self.day_query, {"day": day}))

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        """Rows of the query for [start, end) and the context around it, in batches as the server sends them.

        Times without a zone come as they are and are quarantined: use timestamptz, or place them in the query.
        """
        window = {"start": (start - context).astimezone(UTC), "end": (end + context).astimezone(UTC)}
        for rows in self._run(self.query, window):
            if "time" in rows.columns:
                yield from _by_zone(rows)
            else:
                yield rows

    def _run(self, query: str, parameters: dict[str, Any]) -> Iterator[pd.DataFrame]:
        with needed_by("the source sql"):
            import sqlalchemy

        url = os.environ.get(self.url_variable)
        if not url:
            raise OdanonError(f"the sql source needs the environment variable {self.url_variable}; export it first")
        try:
            # Hidden parameters and no error text: a driver's message may quote rows.
            engine = sqlalchemy.create_engine(url, hide_parameters=True, poolclass=sqlalchemy.NullPool)
            with engine.connect().execution_options(stream_results=True, yield_per=_ROWS) as connection:
                result = connection.execute(sqlalchemy.text(query), parameters)
                for rows in result.partitions(_ROWS):  # the option alone does not cut the rows of a text
                    # Objects: beside a NULL, pandas would make floats of integers and round large ids.
                    yield pd.DataFrame(rows, columns=list(result.keys()), dtype=object)
        except (sqlalchemy.exc.SQLAlchemyError, ImportError) as error:
            code = sqlstate(error)
            kind = type(getattr(error, "orig", None) or error).__name__
            what = advice(code) or "run it by hand with values for its parameters"
            raise error_type(code)(f"the query of the sql source failed ({kind}); {what}") from None


def _by_zone(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows with an aware time as UTC, then the others as wall-clock times."""
    stamps = [stamp if isinstance(stamp, datetime) else _parsed(stamp) for stamp in rows["time"]]
    wall = pd.Series([stamp is not None and stamp.tzinfo is None for stamp in stamps], dtype=bool)
    times = pd.Series(stamps, dtype=object)
    places = {name: pd.to_numeric(rows[name], errors="coerce") for name in ("lat", "lon") if name in rows.columns}
    others = rows.drop(columns=["person", "time", *places], errors="ignore").infer_objects()
    rows = rows.assign(**places, **others)
    if not wall.all():
        yield rows[~wall].assign(time=pd.to_datetime(times[~wall], utc=True).dt.as_unit("us"))
    if wall.any():
        yield rows[wall].assign(time=pd.to_datetime(times[wall]).dt.as_unit("us"))


def _parsed(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _file(url: "URL") -> str | None:
    """The real name of a database that is a file."""
    path = (url.database or "").removeprefix("file:").partition("?")[0]
    return os.path.realpath(path) if url.host is None and os.path.isfile(path) else None


def _place(url: "URL", server: str) -> str:
    backend = url.get_backend_name()
    return f"{backend}://{server}:{url.port or _PORTS.get(backend, '')}/{url.database or ''}"


def _server(url: "URL") -> str:
    """The host of a URL; every name of this machine and every socket on it is one."""
    host = str(url.host or url.query.get("host") or _HERE).lower().rstrip(".")
    return _HERE if host.startswith("/") else _here_or(host)


def _addresses(url: "URL") -> set[str]:
    """The addresses of a database's server, or its name where nobody knows them."""
    try:
        found = socket.getaddrinfo(_server(url), None, proto=socket.IPPROTO_TCP)
    except OSError:
        return {_server(url)}
    return {_here_or(str(address[0])) for *_, address in found}


def _here_or(host: str) -> str:
    try:
        return _HERE if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host
