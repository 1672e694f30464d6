"""Reading a table of trips or flows."""

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix, not_counts
from odanon.model.tiles import Tiles
from odanon.model.window import Times
from odanon.reading.batches import Column, stand_ready
from odanon.reading.files import shown
from odanon.reading.ids import Spelling
from odanon.reading.persons import persons
from odanon.reconstruct.prior import TileWeights, read_weights
from odanon.tables.columns import Clock, Progress, mark, read_columns, share_of, whole_labels
from odanon.tables.coordinates import pair_of, placed
from odanon.tables.dialects import EITHER, Told
from odanon.tables.guess import may_count, number_columns
from odanon.tables.look import Seen, look
from odanon.tables.map import TableMap
from odanon.tables.times import column_bins, cut, parse_bins

_COMMAS = re.compile(r"[+-]?\d{1,3},\d{3}")
_COUNTS = 4  # columns that a question names
_MOST_BINS = 24 * 366
_SPELLING = Spelling(trim=True)  # of one file: nobody is another person for a blank
_log = logging.getLogger("odanon")


@dataclass(frozen=True)
class Loaded:
    """Matrices by time bin (None without one), the hierarchy over their tiles and where the tiles lie.

    `segments` are the values of the segment column, where one was named.
    """

    matrices: dict[Any, ODMatrix]
    tree: Hierarchy
    tiles: Tiles
    segments: tuple[str, ...] = ()
    prior: TileWeights | None = None  # public weights by tile
    read: dict[str, int] = field(default_factory=dict)  # rows and trips of the table, and how many were left out


@dataclass(frozen=True, kw_only=True)
class TableInput:
    """Which table, which of its columns mean what, and the zones and hierarchy under it.

    `origin` and `destination` name a column of tile labels, or two columns `lat,lon` (`x,y` of a projected `crs`) that are put into
    `zones`, or into H3 cells of `resolution`. Without a `count` a row is one trip; "1" says so where a column looks like a count.
    Rows without a value are refused or, with `drop_missing`, left out; so are, with `drop_unknown`, those of zones that `zones` lacks.
    `time` names bins or, with a `bin`, instants that the clock of `timezone` cuts; `adaptive` makes all bins one matrix, of which
    every flow has as few as it needs. With a `segment` column, `only` reads the rows of one of its values.
    `tile_weights` is a table of public weights by tile that releases are read by as well (`odanon.reconstruct.prior`).
    `csv` says how a CSV file is written where that is not to be found out (`odanon.tables.dialects.Told`).
    """

    path: Path
    origin: str = "origin"
    destination: str = "destination"
    count: str | None = None
    person: str | None = None
    weight: str | None = None
    time: str | None = None
    bin: str | None = None
    timezone: str | None = None
    adaptive: bool = False
    hierarchy: str = "h3"
    hierarchy_parameters: dict[str, Any] = field(default_factory=dict)
    zones: Path | None = None
    zone_id: str = "id"
    resolution: int = 9
    crs: str | None = None
    drop_missing: bool = False
    drop_unknown: bool = False
    segment: str | None = None
    only: str | None = None
    tile_weights: Path | None = None
    csv: dict[str, Any] = field(default_factory=dict)

    def load(self, progress: Progress | None = None) -> Loaded:
        """The matrices of the table on the hierarchy."""
        every = self._every_row(progress)
        rows = self._without_missing(every)
        segments = tuple(sorted(rows["segment"].unique())) if "segment" in rows else ()
        if self.only is not None:
            rows, every = (each[each["segment"] == self.only] for each in (rows, every))
        rows = self.within_zones(rows)
        tiles, tree = self.map.under(rows)
        prior = None if self.tile_weights is None else read_weights(self.tile_weights)
        ground = Ground.of(tree, tree, None if tiles.kind == "unplaced" else tiles)
        if ground is not None:
            ground = replace(ground, prior=None if prior is None else prior.of_nodes(tree))
        found = {bin_: replace(od, ground=ground) for bin_, od in self._matrices(rows, tree).items()}
        return Loaded(self._with_trips(found), tree, tiles, segments, prior, _left_out(every, rows))

    def _matrices(self, rows: pd.DataFrame, tree: Hierarchy) -> dict[Any, ODMatrix]:
        """One matrix, of all times where it is adaptive; or one for every time bin, by its name and in their order."""
        if self.time is None:
            return {None: self._matrix(rows, tree)}
        if self.bin is not None:
            found = cut(rows.pop("time"), self.zone, parse_bins("--bin", self.bin), str(self.path))
            number, times = found.number, found.times
        elif self.adaptive:
            number, times = column_bins(rows["time"], str(self.path))
        else:
            return {bin_: self._matrix(part, tree) for bin_, part in self._by_time(rows)}
        if self.adaptive:
            return {None: self._matrix(rows.assign(time=number), tree, times)}
        parts = rows.groupby(number, sort=True)
        names = found.names()
        return {names[int(at)]: self._matrix(part, tree) for at, part in parts}

    def _by_time(self, rows: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
        bins = rows["time"].nunique()
        if bins > _MOST_BINS or (bins > 1 and self._time_format is not None and not _on_the_quarter(rows["time"])):
            raise OdanonError(
                f"{self.path}: column {self.time!r} has {bins:,} different values, and each would be a time bin; cut instants into"
                " longer ones with --bin, such as --bin 1h"
            )
        return list(rows.groupby("time", sort=True, observed=True))

    def _with_trips(self, matrices: dict[Any, ODMatrix]) -> dict[Any, ODMatrix]:
        """The time bins in which somebody travels; all of them where nobody ever does, which the promise refuses."""
        kept = {bin_: od for bin_, od in matrices.items() if od.volume}
        if not kept or len(kept) == len(matrices):
            return matrices
        left, every = len(matrices) - len(kept), len(matrices)
        _log.warning("%s: %d of %d time bins have no trips and are left out", self.path, left, every)
        return kept

    @cached_property
    def seen(self) -> Seen:
        """What the first rows show."""
        stand_ready()
        return look(self.path, Told(**self.csv))

    @cached_property
    def map(self) -> TableMap:
        """The zones and the hierarchy under it."""
        return TableMap(self.zones, self.zone_id, self.resolution, self.hierarchy, self.hierarchy_parameters)

    def within_zones(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows between known zones."""
        return self.map.within(rows, self.path, drop=self.drop_unknown)

    @cached_property
    def zone(self) -> ZoneInfo:
        """Whose clock cuts the days."""
        if self.timezone is not None and self.timezone not in available_timezones():
            raise OdanonError(f"--timezone {self.timezone}: use an IANA time zone such as Europe/Paris or UTC")
        return ZoneInfo(self.timezone or "UTC")

    def check(self) -> None:
        """Refuse what can be refused before the table is read."""
        if self.time is None and (self.adaptive or self.bin):
            asked = "--bin cuts" if self.bin else "--adaptive splits"
            raise OdanonError(f"{asked} time and no column tells it; name one with --time")
        if self.bin is not None:
            parse_bins("--bin", self.bin)
        self.zone  # noqa: B018 - a time zone that does not exist is told
        if self.tile_weights is not None and not self.tile_weights.exists():
            raise OdanonError(f"--tile-weights {self.tile_weights} does not exist; give the path of a table")
        self.map.check()

    def rows(self, progress: Progress | None = None) -> pd.DataFrame:
        """The wanted columns under our names: tiles, ids and segments as categories, times in UTC where they are instants."""
        return self._without_missing(self._every_row(progress))

    def _every_row(self, progress: Progress | None) -> pd.DataFrame:
        self.check()
        wanted = {column.name: column for column in self._wanted()}
        table = read_columns(
            self.seen, list(wanted.values()), Clock(self._time_format or "auto", self.zone.key), progress
        )
        rows = pd.DataFrame({side: self._tiles(table, side) for side in ("origin", "destination")})
        if self.time is not None:
            rows["time"] = self._times(table, wanted["time"])
        if self.person is not None:
            numbered = not self.seen.is_text and bool(table[mark(wanted["person"])].any())
            ids, kinds = persons(table["person"], _SPELLING, numbered)
            kinds.refuse_mixed()
            rows["person"] = ids
        for name in ("count", "weight"):
            if name in wanted:
                rows[name] = table[name]
        if self.segment is not None:
            rows["segment"] = whole_labels(table["segment"])
        self._check_counts(rows)
        return rows

    def _check_counts(self, rows: pd.DataFrame) -> None:
        if "count" in rows and (why := not_counts(rows["count"].dropna().to_numpy())):
            raise OdanonError(f"{self.path}: column {self.count!r} {why}")

    def _wanted(self) -> list[Column]:
        """The columns to read, by what they hold."""
        find, columns = self.seen.find, []
        for side in ("origin", "destination"):
            option, named = f"--{side}", getattr(self, side)
            if named in self.seen.names or "," not in named:
                columns.append(Column(side, find(named, option), "text"))
            else:
                pair = pair_of(option, named)
                found = [self._clear(find(name, option), _COMMAS) for name in pair]
                columns += [Column(f"{side}_{at}", name, "number") for at, name in enumerate(found)]
        if self.count is not None and not self._one_each:
            columns.append(Column("count", self._clear(find(self.count, "--count")), "number"))
        if self.weight is not None:
            columns.append(Column("weight", self._clear(find(self.weight, "--weight")), "number"))
        if self.person is not None:
            # Ids of a text are brought into one form once for all rows; those of other types by the reader, which knows them.
            columns.append(Column("person", find(self.person, "--person"), "text" if self.seen.is_text else "id"))
        if self.segment is not None:
            columns.append(Column("segment", find(self.segment), "text"))
        if self.time is not None:
            find(self.time, "--time")
            self._check_clock()
            columns.append(Column("time", self.time, "text" if self._time_format is None else "time"))
        self._ask_for_counts({column.source for column in columns})
        return columns

    @property
    def _one_each(self) -> bool:
        """Whether somebody says that a row is one trip."""
        return self.count == "1" and "1" not in self.seen.names

    def _ask_for_counts(self, used: set[str]) -> None:
        """A column that looks like a number of trips and is not used would make every row one trip, which nobody may have meant."""
        if self.count is None and (question := self.uncounted(self.origin, self.destination, self.person, used)):
            raise OdanonError(f"{self.path}: {question}")

    def uncounted(self, origin: str, destination: str, person: str | None, used: Collection[str | None]) -> str:
        """The question whether one of the columns that are not used counts the trips of a row; nothing where none looks like it."""
        seen = self.seen
        sides = [seen.sample.get(side, []) for side in (origin, destination)]  # coordinates are no pairs of zones
        pairs = [*zip(*sides, strict=True)] if len(sides[0]) == len(sides[1]) and person is None else []
        found = may_count(pairs, number_columns(seen, [name for name in seen.names if name not in used]))
        if not found:
            return ""
        named = ", ".join(map(repr, map(shown, found[:_COUNTS]))) + (" ..." if len(found) > _COUNTS else "")
        which = f"does column {named} say" if len(found) == 1 else f"every pair is there once: does one of {named} say"
        column = found[0] if len(found) == 1 else "COLUMN"
        return f"{which} how many trips a row stands for? Add --count {column}, or --count 1 if every row is one trip"

    def _clear(self, name: str, doubtful: re.Pattern[str] = EITHER) -> str:
        """A column of numbers in which 1.234 is not perhaps 1234; of coordinates only 1,234 may be."""
        if self.seen.unclear and any(doubtful.fullmatch(text.strip()) for text in self.seen.sample[name]):
            raise OdanonError(
                f"{self.path}: numbers in {name!r} have three digits behind a point or comma, so they may be thousands; say what separates"
                " decimals with --csv-set decimal=, or --csv-set decimal=."
            )
        return name

    @cached_property
    def _time_format(self) -> str | None:
        """How instants are written; None where the column has names of time bins."""
        if self.time is None:
            return None
        return self.csv.get("time") or self.seen.time_format(self.time)

    def _check_clock(self) -> None:
        """Dates alone cannot be cut into hours, and only instants can be cut at all."""
        if self.bin is None or self.time is None:
            return
        bins = parse_bins("--bin", self.bin)
        if self._time_format is not None and bins != timedelta(days=1) and not self.seen.has_clock(self.time):
            raise OdanonError(f"{self.path}: column {self.time!r} holds days without a time; use --bin day")

    def _times(self, table: pd.DataFrame, column: Column) -> pd.Series:
        if self._time_format is None:
            return _bin_names(whole_labels(table["time"]))
        unclear = int(table[mark(column)].sum())
        if unclear:
            _log.warning(
                "%s: %d times are shown twice or never by the clock of %s; the earlier moment is taken",
                self.path,
                unclear,
                self.zone.key,
            )
        return table["time"]

    def _tiles(self, table: pd.DataFrame, side: str) -> pd.Series:
        if side in table:
            return self.map.called(whole_labels(table[side]))
        option, named = f"--{side}", getattr(self, side)
        first, second = (table[f"{side}_{at}"].to_numpy(np.float64) for at in (0, 1))
        lat, lon = placed(option, pair_of(option, named), first, second, self.crs)
        return self.map.labels(lat, lon)

    def _without_missing(self, rows: pd.DataFrame) -> pd.DataFrame:
        lacking = {name: int(rows[name].isna().sum()) for name in rows if rows[name].hasnans}
        if not lacking:
            return rows
        named = ", ".join(f"{self._told(name)}: {count:,}" for name, count in lacking.items())
        keep = rows.notna().all(axis="columns")
        if broken := int(rows[~keep].isna().all(axis="columns").sum()) if self.seen.is_text else 0:
            named += f"; {broken:,} have none of these, as rows with too few or too many fields"
        what = f"{self.path}: {share_of(rows, ~keep)} have no usable value ({named})"
        if not self.drop_missing:
            raise OdanonError(f"{what}; repair them, or leave them out with --drop-missing")
        if not keep.any():
            raise OdanonError(f"{what}; no row is left without them")
        _log.warning("%s and are left out", what)
        return rows[keep].reset_index(drop=True)

    def _told(self, name: str) -> str:
        """The columns behind one of ours, as the table calls them."""
        return str(getattr(self, name))

    def _matrix(self, rows: pd.DataFrame, tree: Hierarchy, times: Times | None = None) -> ODMatrix:
        trips, person, weight = (name if name in rows else None for name in ("count", "person", "weight"))
        time = None if times is None else "time"
        return ODMatrix.from_frame(rows, tree, tree, trips=trips, person=person, weight=weight, time=time, times=times)


def _left_out(every: pd.DataFrame, kept: pd.DataFrame) -> dict[str, int]:
    """How many rows and trips a table has, and how many of them are not in the release for want of a value or a zone."""
    rows = {"rows": len(every), "rows_left_out": len(every) - len(kept)}
    if "count" not in every:
        return rows
    trips = every["count"].sum()
    return {**rows, "trips": int(trips), "trips_left_out": int(trips - kept["count"].sum())}


def _on_the_quarter(instants: pd.Series) -> bool:
    """Whether instants may be names of bins, and are not when somebody set out."""
    return bool((instants.dt.floor("15min") == instants).all())


def _bin_names(labels: pd.Series) -> pd.Series:
    """The names of time bins; whole numbers, such as hours, count as numbers."""
    names = labels.cat.categories
    if labels.hasnans or not all(re.fullmatch(r"-?\d{1,9}", str(name)) for name in names):
        return labels
    return pd.Series(np.array([int(name) for name in names])[labels.cat.codes], labels.index)
