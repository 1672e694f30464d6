"""What is asked of drawn areas, answered from the folders of the embedded store."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from odanon.model.release import REST
from odanon.model.when import When, local_steps
from odanon.model.when.clock import pieces_of
from odanon.model.when.shares import AskedTime, Steps, microseconds
from odanon.reconstruct.answers.along import SURROUNDINGS, checked_along
from odanon.reconstruct.answers.bounds import EDGE, PAIR, added, bounds, exact_share, rests_met
from odanon.reconstruct.areas import ground, spread, zone_shares
from odanon.reconstruct.readings import EVEN, PRIOR, checked_reading, resolved, spread_column
from odanon_assets.stores.answers.release import INSTANT, Rows, ended, shares_of
from odanon_assets.stores.answers.shapes import distinct_tiles, distinct_zones
from odanon_assets.stores.duck import flows_over, manifest_of
from odanon_assets.stores.interface import MATRIX_COLUMNS, PROFILE_COLUMNS, Estimate
from odanon_assets.stores.seal import TILES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame, GeoSeries
    from shapely.geometry.base import BaseGeometry

_FROM, _TO = 0, 1
_NUMBERS = ["low", "estimate", "high", "hours"]
_ALL = 1 - 1e-12  # of the time of a release


def flow_over(
    folders: list[Path],
    ends: tuple["BaseGeometry", "BaseGeometry"],
    when: When,
    reading: str,
    segment: str | None = None,
) -> Estimate:
    """Trips from one area to another."""
    table = matrix_over(folders, _drawn(ends), when, reading, segment)
    found = table[(table["origin"] == _FROM) & (table["destination"] == _TO)]
    low, estimate, high = (float(found[name].sum()) for name in ("low", "estimate", "high"))
    return Estimate(low, estimate, high, float(found["exact"].sum()) if estimate else None)


def _drawn(ends: tuple["BaseGeometry", "BaseGeometry"]) -> "GeoSeries":
    from geopandas import GeoSeries

    return GeoSeries([*ends], index=[_FROM, _TO], crs="EPSG:4326")


def matrix_over(
    folders: list[Path], areas: "GeoSeries", when: When, reading: str, segment: str | None = None
) -> pd.DataFrame:
    """low, estimate and high of the trips between areas, and which share is exact (MATRIX_COLUMNS)."""
    table = Asked.of(folders, areas, when, [(when.since, when.until)], reading, segment=segment).told()
    return table.assign(exact=exact_share(table["low"], table["estimate"]))[list(MATRIX_COLUMNS)]


def profile_over(
    folders: list[Path],
    ends: tuple["BaseGeometry", "BaseGeometry"],
    when: When,
    step: timedelta,
    reading: str,
    along: str,
    segment: str | None = None,
) -> pd.DataFrame:
    """The trips from one area to another in every step of which something is published (PROFILE_COLUMNS)."""
    zone = ZoneInfo((manifest_of(folders[-1]).get("timezone") if folders else None) or "UTC")
    steps = local_steps(when.since, when.until, step, zone)
    asked = Asked.of(folders, _drawn(ends), when, steps, reading, along, segment)
    table = asked.told()
    found = table[(table["origin"] == _FROM) & (table["destination"] == _TO)].set_index("step")[_NUMBERS]
    told = found.reindex(asked.published_steps(), fill_value=0.0)
    start, end = (pd.Series([steps[n][side] for n in told.index], dtype=INSTANT) for side in (0, 1))
    told = told.reset_index(drop=True).assign(time_start=start, time_end=end)
    told = told.assign(exact=exact_share(told["low"], told["estimate"]))
    return told.assign(spread_over_hours=told["hours"] / told["high"].where(told["high"] > 0))[list(PROFILE_COLUMNS)]


@dataclass(frozen=True, eq=False)
class Asked:
    """Areas and steps of time, and the releases that tell of some; shapes are compared once for all releases that share them."""

    folders: list[Path]
    times: dict[str, AskedTime]  # by release
    readings: dict[str, str]  # by release
    areas: "GeoSeries"
    steps: Steps
    along: str
    segment: str | None

    @classmethod
    def of(
        cls,
        folders: list[Path],
        areas: "GeoSeries",
        when: When,
        steps: list[tuple[datetime, datetime]],
        reading: str,
        along: str = EVEN,
        segment: str | None = None,
    ) -> "Asked":
        checked_reading(reading)
        bounds_of = [np.array([microseconds(each[n]) for each in steps], dtype=np.int64) for n in (0, 1)]
        times, readings = {}, {}
        for folder in folders:
            manifest = manifest_of(folder)
            time = AskedTime.of(pieces_of(manifest), when)
            if (time.between(bounds_of[0][:1], bounds_of[1][-1:]) > 0).all():
                times[folder.name] = time
                readings[folder.name] = _resolved(reading, folder, manifest)
        some = [folder for folder in folders if folder.name in times]
        return cls(some, times, readings, areas, (bounds_of[0], bounds_of[1]), checked_along(along), segment)

    def published_steps(self) -> list[int]:
        """The steps of which some release has time."""
        found = [time.between(*self.steps) > 0 for time in self.times.values()]
        return np.flatnonzero(np.logical_or.reduce(found)).tolist() if found else []

    def told(self) -> pd.DataFrame:
        """step, origin, destination, low, estimate, high, and hours: the high one, each trip times how long its row is."""
        nothing = pd.DataFrame({name: [] for name in PAIR} | {name: pd.Series(dtype="float64") for name in _NUMBERS})
        if not self.folders:
            return nothing
        estimates = [part.rename(columns={"trips": "estimate"}) for part in self._estimates()]
        volume = self._session.execute(_BOUNDS, self._filter).df()
        rests = [rests_met(each.met(), self._named, self._size) for each in self._rested]
        table = added([*estimates, bounds(volume, self._named), *rests])
        if table.empty:
            return nothing
        table = table.reindex(columns=nothing.columns).fillna(0.0)
        # Sums of floating numbers may leave their bounds by the last digit.
        return table.assign(estimate=table["estimate"].clip(table["low"], table["high"]))

    def _estimates(self) -> Iterator[pd.DataFrame]:
        """Estimated trips, by the readings of releases."""
        zones, shares, size = self._zones, self._shares, self._size / 1e6
        for how in sorted({*self.readings.values()}):
            chosen = [name for name, each in self.readings.items() if each == how]
            split = {each.folder.name for each in self._rested} if self.segment is not None else set()
            self._session.register("read", pd.DataFrame({"release_id": pd.array(chosen, dtype="str")}))
            plain = pd.DataFrame({"release_id": pd.array([name for name in chosen if name not in split], dtype="str")})
            self._session.register("plain", plain)
            column = spread_column(how)
            flows = self._session.execute(_volume(how), self._filter).df()
            parts = [self._rows[name].spreads(column) for name in chosen if name in split]
            if self.along == SURROUNDINGS:
                parts += [self._rows[name].shifted(column) for name in chosen if self._rows[name].timed]
            flows = pd.concat([flows, *parts], ignore_index=True) if parts else flows
            if how == EVEN:
                yield spread(flows, zones, shares, ["step"])
            elif how == PRIOR:
                for file, here in flows.groupby(flows["release_id"].map(self._files)):
                    tiles, inside = self._tiles[file]
                    yield spread(here, zones, shares, ["step"], how, tiles, size, inside)
            elif len(weights := self._session.execute(_WEIGHTS, [how]).df()):
                yield spread(flows, zones, shares, ["step"], how, weights, size)

    @cached_property
    def _session(self) -> "DuckDBPyConnection":
        session = flows_over(self.folders)
        session.register("names", self._names)
        whole = [name for name, time in self.times.items() if self._is_whole(time)]
        session.register("whole", pd.DataFrame({"release_id": pd.array(whole, dtype="str")}))
        times = session.execute(
            "SELECT DISTINCT release_id, time_start, time_end FROM flows ANTI JOIN whole USING (release_id) ORDER BY ALL"
        ).df()
        found = [self._times_asked(str(name), here) for name, here in times.groupby("release_id")]
        nothing = {"release_id": "str", "time_start": INSTANT, "time_end": INSTANT, "step": "int64", "share": "float64"}
        empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in nothing.items()})
        session.register("times", pd.concat(found, ignore_index=True) if found else empty)
        return session

    def _is_whole(self, time: AskedTime) -> bool:
        """Whether the one step that there is asks for all the time of a release."""
        first, last = self.steps
        return len(first) == 1 and bool(time.between(first, last)[0] >= _ALL * time.total)

    def _times_asked(self, name: str, times: pd.DataFrame) -> pd.DataFrame:
        """Which share of the times of rows each step asks for."""
        asked = shares_of(ended(times), self.times[name], self.steps)
        told = times.iloc[asked["at"]].reset_index(drop=True)
        return told.assign(step=asked["step"], share=asked["share"])

    @property
    def _filter(self) -> dict[str, Any]:
        return {"segment": self.segment}

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
        return {
            folder.name: Rows(folder, named[folder.name], self.times[folder.name], self.steps, self.segment)
            for folder in self.folders
        }

    @cached_property
    def _rested(self) -> list[Rows]:
        """Those that have rests."""
        listed = self._session.execute(f"SELECT DISTINCT release_id FROM flows WHERE kind = '{REST}' ORDER BY 1").df()
        return [self._rows[name] for name in listed["release_id"]]


def _resolved(reading: str, folder: Path, manifest: dict[str, Any]) -> str:
    """The reading that is meant; prior by zones, as some time ago, is none any more."""
    offered = manifest.get("readings", [EVEN])
    if not (folder / TILES).is_file():
        manifest = {**manifest, "readings": [name for name in offered if name != PRIOR]}
    return resolved(reading, manifest)


# Rows of releases that are asked for whole have no times.
_SHARE = "coalesce(t.share, 1.0)"


def _by_zone(sums: str, keys: str = "", read: str = "") -> str:
    """A query that adds up rows by step and distinct zone."""
    return (
        f"SELECT {keys} coalesce(t.step, 0) AS step, o.zone AS origin_zone, d.zone AS destination_zone, {sums} FROM flows f {read}"
        " JOIN names o ON o.release_id = f.release_id AND o.zone_id = f.origin_zone"
        " JOIN names d ON d.release_id = f.release_id AND d.zone_id = f.destination_zone"
        " LEFT JOIN times t ON t.release_id = f.release_id AND t.time_start = f.time_start"
        " AND t.time_end IS NOT DISTINCT FROM f.time_end"
        " WHERE (t.share IS NOT NULL OR f.release_id IN (SELECT release_id FROM whole))"
        " AND ($segment IS NULL OR f.segment = $segment)"
        " GROUP BY ALL ORDER BY ALL"
    )


def _volume(reading: str) -> str:
    """What is spread; a reading with weights keeps releases and time bins apart, since each has its own."""
    keys = "" if reading == EVEN else "f.release_id, f.time_start AS time_bin,"
    column = spread_column(reading)
    return _by_zone(f"sum(f.{column} * {_SHARE}) AS {column}", keys, "JOIN plain USING (release_id)")


_SOME = f"FILTER (f.kind <> '{REST}')"
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
    " WHERE w.reading = ? AND (w.release_id IN (SELECT release_id FROM whole)"
    " OR EXISTS (FROM times t WHERE t.release_id = w.release_id AND t.time_start = w.time_bin))"
    " ORDER BY ALL"
)
