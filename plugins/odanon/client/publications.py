"""What a store has published: its catalogue, its tables, and estimates between areas of one's own, with bounds."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo

import pandas as pd

from odanon.client.asked import refuse_unpublished, unpublished
from odanon.client.fold import checked_fold, folded
from odanon.client.place import Readable, store_at
from odanon.client.plots import draw_departures, draw_profile
from odanon.errors import OdanonError
from odanon.model.when import When, clock_of, month_of
from odanon.model.when.clock import span_of
from odanon.reconstruct.readings import AUTO, EVEN, WEIGHT_COLUMNS

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from matplotlib.axes import Axes
    from shapely.geometry.base import BaseGeometry

Moment: TypeAlias = str | date  # or an instant, which is a date too
_ORDER = ["time_start", "time_end", "segment", "origin_zone", "destination_zone", "kind"]
_WEIGHED = ["time_bin", "reading", "side", "zone_id"]
_CATALOGUE = (
    "SELECT product, count(*) AS windows, min(window_start) AS first, max(window_start) AS last"
    " FROM windows WHERE status = 'published' GROUP BY product ORDER BY product"
)


def open(place: str | Path) -> "Publications":
    """The published tables in a folder (the data root of a pipeline) or behind the address of a database.

    >>> published = odanon.open(folder)
    >>> list(published)
    ['town']
    """
    return Publications(store_at(place))


class Publications:
    """All products of a store, by name."""

    def __init__(self, store: Readable) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"<published at {self._store.address}: {', '.join(self) or 'nothing yet'}>"

    @property
    def products(self) -> pd.DataFrame:
        """Name, number of published windows, the first and the last of them, of every product."""
        return self._store.query(_CATALOGUE)

    def __iter__(self) -> Iterator[str]:
        return iter(self.products["product"].tolist())

    def __getitem__(self, product: str) -> "PublishedProduct":
        known = list(self)
        if product not in known:
            raise OdanonError(f"there is no published product {product!r}; there is {', '.join(known) or 'none'}")
        return PublishedProduct(self._store, product)

    def sql(self, query: str, areas: "GeoDataFrame | None" = None) -> pd.DataFrame:
        """The answer to one reading query on flows, zones, releases, metrics, windows, bins, daily_means and months.

        `areas`, by their index, can be read as the table areas (name, geometry): "select * from matrix('areas')".
        """
        return self._store.query(query, None, areas)


class PublishedProduct:
    """The published windows of one product.

    Times are instants, or texts and dates on the local clock of the product; without any, everything published counts. Areas are
    shapes in longitude and latitude, or tables of GeoPandas in any reference system.
    """

    def __init__(self, store: Readable, name: str) -> None:
        self._store, self.name = store, name

    def __repr__(self) -> str:
        windows = self.windows
        return f"<{self.name}: {len(windows)} windows from {windows[0]} to {windows[-1]}>"

    @property
    def windows(self) -> list[date]:
        """The first days of the windows that are published."""
        return [date.fromisoformat(day) for day in self._store.windows(self.name)]

    def manifest(self, window: Moment | None = None) -> dict[str, Any]:
        """What the release of a window, the latest one unless told, says of itself: promise, figures, readings, licence."""
        told = self._rows("releases", window)["manifest"].iloc[0]
        return json.loads(told) if isinstance(told, str) else dict(told)

    def manifests(self) -> list[dict[str, Any]]:
        """Those of all published windows, in order."""
        query = f"SELECT manifest FROM releases WHERE product = {_quoted(self.name)} ORDER BY window_start"
        return [
            json.loads(each) if isinstance(each, str) else dict(each) for each in self._store.query(query)["manifest"]
        ]

    @cached_property
    def timezone(self) -> ZoneInfo:
        """The clock that windows and time bins follow."""
        return ZoneInfo(self.manifest().get("timezone") or "UTC")

    def flows(self, window: Moment | None = None, names: bool = False) -> pd.DataFrame:
        """The rows of the release of a window, with their times on the local clock beside the instants.

        With `names`, what people call their zones stands beside the ids, missing where nobody says.
        """
        rows = self._rows("flows", window).sort_values(_ORDER, ignore_index=True)
        for instant in ("time_start", "time_end"):
            clock = rows[instant].dt.tz_convert(self.timezone).dt.tz_localize(None)
            rows.insert(rows.columns.get_loc(instant) + 1, instant.replace("time", "local"), clock)
        if names:
            called = self._rows("zones", window).set_index("zone_id")["name"]
            for side in ("origin", "destination"):
                at = rows.columns.get_loc(f"{side}_zone") + 1
                rows.insert(at, f"{side}_name", rows[f"{side}_zone"].map(called).astype("str"))
        return rows

    def zones(self, window: Moment | None = None) -> "GeoDataFrame":
        """The zones that the rows of a window name, with what people call them, where anybody does, and their outlines."""
        zones = self._drawn("zones", "zone_id", window)
        zones.insert(zones.columns.get_loc("zone_id") + 1, "name", zones.pop("name").astype("str"))
        return zones

    def tiles(self, window: Moment | None = None) -> "GeoDataFrame":
        """The tiles with public weights that the reading `prior` of a window goes by, with their outlines; none if it has no such reading."""
        return self._drawn("tiles", "tile", window)

    def weights(self, window: Moment | None = None) -> pd.DataFrame:
        """The weights of zones that the reading `fitted` of a window goes by; none if it has no such reading."""
        return self._rows("weights", window)[list(WEIGHT_COLUMNS)].sort_values(_WEIGHED, ignore_index=True)

    def segments(self) -> list[str]:
        """The segments that rows are of; `all` are those that are not split."""
        query = f"SELECT DISTINCT segment FROM flows WHERE product = {_quoted(self.name)} ORDER BY segment"
        return self._store.query(query)["segment"].tolist()

    def months(self) -> list[str]:
        """The months in which published windows begin, such as 2026-03."""
        return sorted({f"{day:%Y-%m}" for day in self.windows})

    def when(
        self,
        since: Moment | None = None,
        until: Moment | None = None,
        month: str | None = None,
        days: str | None = None,
        clock: str | None = None,
    ) -> When:
        """The time that arguments of questions mean: from the start of the first window to the end of the last one, unless told."""
        if month is not None and (since is not None or until is not None):
            raise OdanonError("a month stands for since and until; give the one or the others")
        span = clock_of(clock) if clock is not None else None
        if month is not None:
            return When(*month_of(month, self.timezone), days, span)
        first = self._instant(self.windows[0] if since is None else since)
        last = span_of(self.manifest())[1] if until is None else self._instant(until)
        if last <= first and (since is None or until is None):  # before the first window, or after the last
            raise unpublished(self)
        if last <= first:
            raise OdanonError(f"the time asked for ends at {last}, before it starts; give a later `until`")
        return When(first, last, days, span)

    def month(self, month: str) -> pd.DataFrame:
        """The rows of the windows that begin in a month, such as 2026-03, added up by local clock; `windows` says over how many."""
        if month not in self.months():
            raise OdanonError(f"{self.name} has no published window in {month!r}; `months()` lists those that have")
        told = f"SELECT * FROM months WHERE product = {_quoted(self.name)} AND month = DATE '{month}-01'"
        keys = ["since", "until", "segment", "origin_zone", "destination_zone", "kind"]
        return self._store.query(told).sort_values(keys, ignore_index=True)

    def flow(
        self,
        origin: Any,
        destination: Any,
        since: Moment | None = None,
        until: Moment | None = None,
        reading: str = AUTO,
        *,
        month: str | None = None,
        days: str | None = None,
        clock: str | None = None,
        segment: str | None = None,
    ) -> Any:
        """Trips from one area to another: low, estimate, high, and the share of the estimate that is exact.

        `month` ("2026-03") stands for since and until. `days` takes days of one type: working, saturday, sunday_holiday, or monday to
        sunday; `clock` a span of the local clock such as "07:00-09:00"; `segment` the rows of one segment. A segment that there is not,
        or a time of which nothing is published, is refused: nobody knows how many trips that were.
        """
        when = self.when(since, until, month, days, clock)
        found = self._store.flow(self.name, shape(origin), shape(destination), when, reading, segment=segment)
        if not found.high:
            refuse_unpublished(self, when, segment)
        return found

    def matrix(
        self,
        areas: "GeoDataFrame",
        since: Moment | None = None,
        until: Moment | None = None,
        reading: str = AUTO,
        *,
        month: str | None = None,
        days: str | None = None,
        clock: str | None = None,
        segment: str | None = None,
    ) -> pd.DataFrame:
        """The same between all areas of a table, called by its index: origin, destination, low, estimate, high, exact."""
        placed = areas.to_crs("EPSG:4326") if areas.crs is not None else areas
        when = self.when(since, until, month, days, clock)
        table = self._store.matrix(self.name, placed, when, reading, segment=segment)
        if not table["high"].any():
            refuse_unpublished(self, when, segment)
        return table

    def profile(
        self,
        origin: Any,
        destination: Any,
        since: Moment | None = None,
        until: Moment | None = None,
        step: str = "1h",
        reading: str = AUTO,
        along: str = EVEN,
        *,
        month: str | None = None,
        days: str | None = None,
        clock: str | None = None,
        segment: str | None = None,
        fold: str | None = None,
    ) -> pd.DataFrame:
        """The same between two areas in every published step of the local clock; local_start is that on the product's clock.

        `fold` lays steps of the same local time of the `day`, or of the `week`, over each other: means over the days that `days` counts.
        """
        when, length = self.when(since, until, month, days, clock), _length(step)
        checked_fold(fold, length)
        asked = shape(origin), shape(destination), when, length, reading, along
        table = self._store.profile(self.name, *asked, segment=segment)
        if not table["high"].any():
            refuse_unpublished(self, when, segment)
        local = pd.to_datetime(table["time_start"], utc=True).dt.tz_convert(self.timezone).dt.tz_localize(None)
        table.insert(0, "local_start", local)
        return table if fold is None else folded(table, fold, self.manifests(), when)

    def plot(self, window: Moment | None = None, ax: "Axes | None" = None) -> "Axes":
        """A map of the departures of a window by ground."""
        return draw_departures(self.flows(window), self.zones(window), ax)

    def plot_profile(self, *asked: Any, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """The profile that the same arguments give, with its bounds as a band."""
        return draw_profile(self.profile(*asked, **options), ax)

    def _rows(self, view: str, window: Moment | None) -> pd.DataFrame:
        """The rows of a window in a view, which is what readers may see."""
        return self._store.query(f"SELECT * FROM {view} WHERE release_id = {_quoted(self._release(window))}")

    def _drawn(self, table: str, key: str, window: Moment | None) -> "GeoDataFrame":
        """The rows of a window in a view that has outlines."""
        import geopandas
        import shapely

        rows = self._rows(table, window).sort_values(key, ignore_index=True)
        outlines = [bytes.fromhex(each) if isinstance(each, str) else bytes(each) for each in rows["geometry"]]
        return geopandas.GeoDataFrame(rows.assign(geometry=shapely.from_wkb(outlines)), crs="EPSG:4326")

    def _release(self, window: Moment | None) -> str:
        windows = self.windows
        day = windows[-1] if window is None else _moment(window).date()
        found = self._store.released(self.name, day)
        if found is None:
            raise OdanonError(
                f"{self.name} has no published window that starts on {day}; `windows` lists them, the last is {windows[-1]}"
            )
        return found

    def _instant(self, moment: Moment) -> datetime:
        """An instant; of local times, one that clocks have twice is the first, one that they leave out is read as if they were not turned yet."""
        told = _moment(moment).to_pydatetime()
        try:
            return (told if told.tzinfo is not None else told.replace(tzinfo=self.timezone)).astimezone(UTC)
        except OverflowError:
            raise OdanonError(f"{str(moment)[:40]!r} is too early or too late for clocks; give another time") from None


def _moment(told: Moment) -> pd.Timestamp:
    """A moment as somebody writes it."""
    try:
        found = pd.Timestamp(told)
    except (ValueError, TypeError):
        found = pd.NaT
    if pd.isna(found):
        raise OdanonError(f"{str(told)[:40]!r} is no date and no time; write 2026-03-02, or 2026-03-02 07:00")
    return found


def _length(step: str) -> timedelta:
    """How long a step of a profile is."""
    try:
        found = pd.Timedelta(step)
    except (ValueError, TypeError):
        found = pd.NaT
    if pd.isna(found):
        raise OdanonError(f"{str(step)[:40]!r} is no length of time; write a step such as 1h, 30min or 7d")
    return found.to_pytimedelta()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def shape(area: Any) -> "BaseGeometry":
    """One shape in longitude and latitude."""
    if hasattr(area, "to_crs"):
        area = getattr(area, "geometry", area)
        return (area.to_crs("EPSG:4326") if area.crs is not None else area).union_all()
    if not hasattr(area, "geom_type"):
        raise OdanonError("an area is a shape of Shapely, or a GeoSeries or GeoDataFrame of GeoPandas")
    return area
