"""The rows of a database query as a source of points."""

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

import pandas as pd
from pydantic import field_validator

from odanon.databases import advice, error_type, sqlstate
from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin
from odanon.reading.persons import SpelledIds
from odanon.traces.recordings import Recordings

_ROWS = 100_000


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
        """The database, whatever is asked of it and whoever asks."""
        import sqlalchemy

        try:
            url = sqlalchemy.make_url(os.environ.get(self.url_variable, ""))
        except sqlalchemy.exc.ArgumentError:
            return self.url_variable
        return f"{url.get_backend_name()}://{url.host or ''}:{url.port or ''}/{url.database or ''}"

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
