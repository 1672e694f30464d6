"""What is asked of drawn areas, answered from the folders of the embedded store."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from odanon.model.release import REST
from odanon.model.window import told_times
from odanon.reconstruct.answers.along import SURROUNDINGS, checked_along
from odanon.reconstruct.answers.bounds import EDGE, added, bounds, exact_share, rests_met
from odanon.reconstruct.areas import ground, spread, zone_shares
from odanon.reconstruct.readings import EVEN, PRIOR, resolved, spread_column
from odanon_assets.stores.answers.release import Rows
from odanon_assets.stores.answers.shapes import distinct_tiles, distinct_zones
from odanon_assets.stores.duck import manifest_of, session_over
from odanon_assets.stores.interface import MATRIX_COLUMNS, PROFILE_COLUMNS, Estimate
from odanon_assets.stores.seal import TILES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame, GeoSeries
    from shapely.geometry.base import BaseGeometry

_AFTER = timedelta(days=2)  # days of a window are local, and its bins may lie in others in UTC
_BEFORE = timedelta(days=33)  # bins of a month may start at its end
_INSTANT = "datetime64[us, UTC]"
_FROM, _TO = 0, 1
_NUMBERS = ["low", "estimate", "high", "hours"]


def flow_over(
    folders: list[Path],
    ends: tuple["BaseGeometry", "BaseGeometry"],
    since: datetime,
    until: datetime,
    reading: str,
) -> Estimate:
    """Trips from one area to another."""
    table = matrix_over(folders, _drawn(ends), since, until, reading)
    found = table[(table["origin"] == _FROM) & (table["destination"] == _TO)]
    low, estimate, high = (float(found[name].sum()) for name in ("low", "estimate", "high"))
    return Estimate(low, estimate, high, float(found["exact"].sum()) if estimate else None)


def _drawn(ends: tuple["BaseGeometry", "BaseGeometry"]) -> "GeoSeries":
    from geopandas import GeoSeries

    return GeoSeries([*ends], index=[_FROM, _TO], crs="EPSG:4326")


def matrix_over(
    folders: list[Path], areas: "GeoSeries", since: datetime, until: datetime, reading: str
) -> pd.DataFrame:
    """low, estimate and high of the trips between areas, and which share is exact (MATRIX_COLUMNS)."""
    table = Asked.of(folders, areas, since, until, reading).between(since, until)
    return table.assign(exact=exact_share(table["low"], table["estimate"]))[list(MATRIX_COLUMNS)]


def profile_over(
    folders: list[Path],
    ends: tuple["BaseGeometry", "BaseGeometry"],
    steps: list[tuple[datetime, datetime]],
    reading: str,
    along: str,
) -> pd.DataFrame:
    """The trips from one area to another in every step (PROFILE_COLUMNS)."""
    asked = Asked.of(folders, _drawn(ends), steps[0][0], steps[-1][1], reading, along)
    found = []
    for since, until in steps:
        table = asked.between(since, until)
        found.append(table.loc[(table["origin"] == _FROM) & (table["destination"] == _TO), _NUMBERS].sum())
    told = pd.DataFrame(found).reset_index(drop=True)
    start, end = (pd.Series(side, dtype=_INSTANT) for side in zip(*steps, strict=True))
    told = told.assign(time_start=start, time_end=end, exact=exact_share(told["low"], told["estimate"]))
    return told.assign(spread_over_hours=told["hours"] / told["high"].where(told["high"] > 0))[list(PROFILE_COLUMNS)]


@dataclass(frozen=True, eq=False)
class Asked:
    """Areas, and the releases that may tell of some time; shapes are compared once for all releases that share them."""

    folders: list[Path]
    readings: dict[str, str]  # by release
    areas: "GeoSeries"
    along: str

    @classmethod
    def of(
        cls, folders: list[Path], areas: "GeoSeries", since: datetime, until: datetime, reading: str, along: str = EVEN
    ) -> "Asked":
        readings = {folder.name: _resolved(reading, folder) for folder in folders if _overlaps(folder, since, until)}
        return cls([folder for folder in folders if folder.name in readings], readings, areas, checked_along(along))

    def between(self, since: datetime, until: datetime) -> pd.DataFrame:
        """origin, destination, low, estimate, high, and hours: the high one, each trip times how long its row is."""
        nothing = pd.DataFrame(
            {"origin": [], "destination": [], **{name: pd.Series(dtype="float64") for name in _NUMBERS}}
        )
        if not self.folders:
            return nothing
        self._session.execute(
            "CREATE OR REPLACE TABLE asked AS SELECT ?::timestamptz AS since, ?::timestamptz AS until", [since, until]
        )
        self._session.register("uneven", _uneven_times(self.folders, since, until))
        estimates = [part.rename(columns={"trips": "estimate"}) for part in self._estimates(since, until)]
        volume = self._session.execute(_BOUNDS).df()
        rested = [each for each in self._rested if each.meets(since, until)]
        rests = [rests_met(each.met(since, until), self._named, self._size) for each in rested]
        table = added([*estimates, bounds(volume, self._named), *rests])
        return nothing if table.empty else table.reindex(columns=nothing.columns).fillna(0.0)

    def _estimates(self, since: datetime, until: datetime) -> Iterator[pd.DataFrame]:
        """Estimated trips, by the readings of releases."""
        zones, shares, size = self._zones, self._shares, self._size / 1e6
        for how in sorted({*self.readings.values()}):
            chosen = [name for name, each in self.readings.items() if each == how]
            self._session.register("read", pd.DataFrame({"release_id": chosen}))
            flows = self._session.execute(_volume(how)).df()
            if self.along == SURROUNDINGS:
                some = [self._rows[name] for name in chosen]
                timed = [each for each in some if each.meets(since, until) and each.timed]
                flows = pd.concat([flows, *(each.shifted(since, until, spread_column(how)) for each in timed)])
            if how == EVEN:
                yield spread(flows, zones, shares)
            elif how == PRIOR:
                for file, here in flows.groupby(flows["release_id"].map(self._files)):
                    tiles, inside = self._tiles[file]
                    yield spread(here, zones, shares, reading=how, weights=tiles, size=size, inside=inside)
            elif len(weights := self._session.execute(_WEIGHTS, [how]).df()):
                yield spread(flows, zones, shares, reading=how, weights=weights, size=size)

    @cached_property
    def _session(self) -> "DuckDBPyConnection":
        session = session_over(self.folders)
        session.register("names", self._names)
        return session

    @cached_property
    def _distinct(self) -> tuple["GeoDataFrame", pd.DataFrame]:
        return distinct_zones(self.folders)

    @property
    def _zones(self) -> "GeoDataFrame":
        return self._distinct[0]

    @property
    def _names(self) -> pd.DataFrame:
        return self._distinct[1]

    @cached_property
    def _shares(self) -> pd.DataFrame:
        return zone_shares(self._zones, self.areas)

    @cached_property
    def _named(self) -> pd.DataFrame:
        """Shares by the number of zones."""
        return self._shares.assign(zone_id=self._zones["zone_id"].to_numpy()[self._shares["zone"]])

    @cached_property
    def _size(self) -> pd.Series:
        """The ground of zones in square metres."""
        return pd.Series(ground(self._zones.geometry.to_numpy()), index=self._zones["zone_id"].to_numpy())

    @cached_property
    def _files(self) -> dict[str, str]:
        """The file of public weights by release."""
        read = [folder for folder in self.folders if self.readings[folder.name] == PRIOR]
        return {folder.name: manifest_of(folder)["weights"]["sha256"] for folder in read}

    @cached_property
    def _tiles(self) -> dict[str, tuple["GeoDataFrame", pd.DataFrame]]:
        """The tiles of each file, and the shares of them in the areas."""
        found = {}
        for file in {*self._files.values()}:
            tiles = distinct_tiles([each for each in self.folders if self._files.get(each.name) == file], self._names)
            found[file] = tiles, zone_shares(tiles, self.areas)
        return found

    @cached_property
    def _rows(self) -> dict[str, Rows]:
        """The rows of each release."""
        named = {str(name): here.set_index("zone_id")["zone"] for name, here in self._names.groupby("release_id")}
        return {folder.name: Rows(folder, named[folder.name]) for folder in self.folders}

    @cached_property
    def _rested(self) -> list[Rows]:
        """Those that have rests."""
        listed = self._session.execute(f"SELECT DISTINCT release_id FROM flows WHERE kind = '{REST}' ORDER BY 1").df()
        return [self._rows[name] for name in listed["release_id"]]


def _resolved(reading: str, folder: Path) -> str:
    """The reading that is meant; prior by zones, as some time ago, is none any more."""
    manifest = manifest_of(folder)
    offered = manifest.get("readings", [EVEN])
    if not (folder / TILES).is_file():
        manifest = {**manifest, "readings": [name for name in offered if name != PRIOR]}
    return resolved(reading, manifest)


def _uneven_times(folders: list[Path], since: datetime, until: datetime) -> pd.DataFrame:
    """Which share of the times of rows is asked for, where bins of one length are not of as many days."""
    found = [
        (folder.name, *each)
        for folder in folders
        if (times := told_times(manifest_of(folder))) is not None
        for each in times.shares(since, until)
    ]
    columns = {"release_id": "str", "time_start": _INSTANT, "time_end": _INSTANT, "share": "float64"}
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def _overlaps(folder: Path, since: datetime, until: datetime) -> bool:
    """Whether times of a release may lie in [since, until)."""
    start = date.fromisoformat(manifest_of(folder)["window_start"])
    return since.date() <= start + _BEFORE and start - _AFTER <= until.date()


# Rows are spread evenly over their time; those that are older than ends of bins count where they start.
_SHARE = (
    "CASE WHEN u.share IS NOT NULL THEN u.share"
    " WHEN f.time_end IS NULL OR (f.time_start >= asked.since AND f.time_end <= asked.until) THEN 1.0"
    " ELSE (epoch(least(f.time_end, asked.until)) - epoch(greatest(f.time_start, asked.since)))"
    " / (epoch(f.time_end) - epoch(f.time_start)) END"
)


def _by_zone(sums: str, keys: str = "", read: str = "") -> str:
    """A query that adds up rows by distinct zone."""
    return (
        f"SELECT {keys} o.zone AS origin_zone, d.zone AS destination_zone, {sums} FROM flows f CROSS JOIN asked {read}"
        " JOIN names o ON o.release_id = f.release_id AND o.zone_id = f.origin_zone"
        " JOIN names d ON d.release_id = f.release_id AND d.zone_id = f.destination_zone"
        " LEFT JOIN uneven u ON u.release_id = f.release_id AND u.time_start = f.time_start AND u.time_end = f.time_end"
        " WHERE f.time_start < asked.until AND coalesce(f.time_end, f.time_start + INTERVAL 1 MICROSECOND) > asked.since"
        " GROUP BY ALL ORDER BY ALL"
    )


def _volume(reading: str) -> str:
    """What is spread; a reading with weights keeps releases and time bins apart, since each has its own."""
    keys = "" if reading == EVEN else "f.release_id, f.time_start AS time_bin,"
    column = spread_column(reading)
    return _by_zone(f"sum(f.{column} * {_SHARE}) AS {column}", keys, "JOIN read USING (release_id)")


_SOME = f"FILTER (f.kind <> '{REST}' AND {_SHARE} > 0)"
_BOUNDS = _by_zone(
    f"coalesce(sum(f.trips) FILTER ({_SHARE} > {1 - EDGE}), 0)::double AS low,"
    f" coalesce(sum(f.trips) {_SOME}, 0)::double AS high,"
    f" coalesce(sum(f.trips * (epoch(f.time_end) - epoch(f.time_start)) / 3600) {_SOME}, 0)::double AS hours"
)
_WEIGHTS = (
    "SELECT w.release_id, w.time_bin, w.reading, w.side, z.zone AS zone_id, a.zone AS around, w.weight"
    " FROM weights w JOIN read USING (release_id)"
    " JOIN names z ON z.release_id = w.release_id AND z.zone_id = w.zone_id"
    " LEFT JOIN names a ON a.release_id = w.release_id AND a.zone_id = w.around"
    " CROSS JOIN asked WHERE w.reading = ? AND w.time_bin < asked.until AND w.time_bin >= coalesce("
    "(SELECT max(b.time_bin) FROM weights b JOIN read USING (release_id) WHERE b.time_bin <= asked.since), asked.since)"
    " ORDER BY ALL"
)
