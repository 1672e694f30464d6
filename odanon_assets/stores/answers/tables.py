"""What is asked of drawn areas, answered by the SQL functions of the PostGIS store."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.model.when import When
from odanon.reconstruct.areas import checked
from odanon_assets.stores.database import execute, transaction
from odanon_assets.stores.interface import MATRIX_COLUMNS, PROFILE_COLUMNS, Estimate

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry
    from sqlalchemy import Connection

_ENDS = "ST_GeomFromWKB(:origin, 4326), ST_GeomFromWKB(:destination, 4326)"
_WHEN = "since => :since, until => :until, reading => :reading, segment => :segment, days => :days, clock => :clock"


def flow_in(
    url: str,
    product: str,
    ends: tuple["BaseGeometry", "BaseGeometry"],
    when: When,
    reading: str,
    segment: str | None,
) -> Estimate:
    """Trips from one area to another."""
    values = {**_shapes(ends), **_asked(when, reading, segment)}
    with _asking(url, product) as connection:
        found = execute(connection, f"SELECT low, estimate, high, exact FROM odanon.flow({_ENDS}, {_WHEN})", values)
        return Estimate(*found.one())


def profile_in(
    url: str,
    product: str,
    ends: tuple["BaseGeometry", "BaseGeometry"],
    when: When,
    step: timedelta,
    reading: str,
    along: str,
    segment: str | None,
) -> pd.DataFrame:
    """The trips from one area to another in every step (PROFILE_COLUMNS)."""
    values = {**_shapes(ends), **_asked(when, reading, segment), "along": along, "step": step.total_seconds()}
    with _asking(url, product) as connection:
        found = execute(
            connection,
            f"SELECT {', '.join(PROFILE_COLUMNS)} FROM odanon.profile({_ENDS}, {_WHEN},"
            " step => make_interval(secs => :step), along => :along) ORDER BY time_start",
            values,
        ).all()
    numbers = dict.fromkeys(PROFILE_COLUMNS[2:], "float64")
    table = pd.DataFrame(found, columns=list(PROFILE_COLUMNS)).astype(numbers)
    for name in PROFILE_COLUMNS[:2]:
        table[name] = pd.to_datetime(table[name], utc=True).astype("datetime64[us, UTC]")
    return table


def matrix_in(
    url: str, product: str, areas: "GeoDataFrame", when: When, reading: str, segment: str | None
) -> pd.DataFrame:
    """low, estimate and high of the trips between areas, and which share is exact (MATRIX_COLUMNS)."""
    # Positions stand in for the names, so that the answer carries the index's own values.
    located = checked(areas.geometry)
    if located.empty:
        return pd.DataFrame({name: [] for name in MATRIX_COLUMNS})
    rows = [{"position": at, "shape": shape.wkb} for at, shape in enumerate(located)]
    with _asking(url, product) as connection:
        execute(connection, "CREATE TEMPORARY TABLE drawn_area (position integer, shape geometry) ON COMMIT DROP")
        execute(connection, "INSERT INTO drawn_area VALUES (:position, ST_GeomFromWKB(:shape, 4326))", rows)
        found = execute(
            connection,
            "SELECT origin::integer, destination::integer, low, estimate, high, exact"
            f" FROM odanon.matrix('pg_temp.drawn_area', 'position', 'shape', {_WHEN})",
            _asked(when, reading, segment),
        ).all()
    numbers = dict.fromkeys(MATRIX_COLUMNS[2:], "float64")
    table = pd.DataFrame(found, columns=list(MATRIX_COLUMNS)).astype(numbers)
    table = table.sort_values(["origin", "destination"], ignore_index=True)
    for side in ("origin", "destination"):
        table[side] = areas.index.to_numpy()[table[side].to_numpy(dtype="int64")]
    return table


@contextmanager
def _asking(url: str, product: str) -> Iterator["Connection"]:
    """A transaction that asks about one product, of which nothing need be published: its answers are then none."""
    with transaction(url) as connection:
        execute(connection, "SELECT set_config('odanon.product', :product, true)", {"product": product})
        yield connection


def _shapes(ends: tuple["BaseGeometry", "BaseGeometry"]) -> dict[str, bytes]:
    return {"origin": ends[0].wkb, "destination": ends[1].wkb}


def _asked(when: When, reading: str, segment: str | None) -> dict[str, Any]:
    span = {"since": when.since, "until": when.until, "days": when.days, "clock": when.clock_text}
    return {**span, "reading": reading, "segment": segment}
