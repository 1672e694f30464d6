"""Reading a table of trips or flows and the map it lies on."""

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odanon import registry
from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.hierarchies.over import tree_over
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.tiles import Tiles, distinct_labels, unplaced
from odanon.protocols import HierarchyBuilder, KnowsEveryTile, Zoning
from odanon.reading.files import shown
from odanon.reading.persons import persons
from odanon.reconstruct.prior import TileWeights, read_weights
from odanon.tables.times import column_bins

_TABLES = (".csv", ".parquet")
_NAMED = 25  # zones that a sentence lists
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


@dataclass(frozen=True, kw_only=True)
class TableInput:
    """Which table, which of its columns mean what, and the zones and hierarchy under it.

    `origin` and `destination` name a column of tile labels, or two columns `lat,lon` that are put into H3 cells of
    `resolution`. Rows of zones that `zones` lacks are refused, or left out with `drop_missing`. With a `segment` column, `only` reads the rows of one of its values.
    With `adaptive` all values of `time` are bins of one matrix, of which every flow has as few as it needs.
    `tile_weights` is a table of public weights by tile that releases are read by as well (`odanon.reconstruct.prior`).
    """

    path: Path
    origin: str = "origin"
    destination: str = "destination"
    count: str | None = None
    person: str | None = None
    weight: str | None = None
    time: str | None = None
    adaptive: bool = False
    hierarchy: str = "h3"
    hierarchy_parameters: dict[str, Any] = field(default_factory=dict)
    zones: Path | None = None
    zone_id: str = "id"
    resolution: int = 9
    drop_missing: bool = False
    segment: str | None = None
    only: str | None = None
    tile_weights: Path | None = None

    def load(self) -> Loaded:
        """The matrices of the table on the hierarchy."""
        rows = self.rows()
        segments = tuple(sorted(rows["segment"].unique())) if "segment" in rows else ()
        if self.only is not None:
            rows = rows[rows["segment"] == self.only]
        rows = self.within_zones(rows)
        tiles, tree = self.map(rows)
        prior = None if self.tile_weights is None else read_weights(self.tile_weights)
        ground = Ground.of(tree, tree, None if tiles.kind == "unplaced" else tiles)
        if ground is not None:
            ground = replace(ground, prior=None if prior is None else prior.of_nodes(tree))
        if self.adaptive:
            matrices: dict[Any, ODMatrix] = {None: replace(self._in_time(rows, tree), ground=ground)}
        else:
            matrices = {bin_: replace(self._matrix(part, tree), ground=ground) for bin_, part in _by_time(rows)}
        return Loaded(self._with_trips(matrices), tree, tiles, segments, prior)

    def _with_trips(self, matrices: dict[Any, ODMatrix]) -> dict[Any, ODMatrix]:
        """The time bins in which somebody travels; all of them where nobody ever does, which the promise refuses."""
        kept = {bin_: od for bin_, od in matrices.items() if od.volume}
        if not kept or len(kept) == len(matrices):
            return matrices
        left, every = len(matrices) - len(kept), len(matrices)
        _log.warning("%s: %d of %d time bins have no trips and are left out", self.path, left, every)
        return kept

    def rows(self) -> pd.DataFrame:
        """The wanted columns under our names; tile labels and ids as text."""
        if not self.path.exists():
            raise OdanonError(f"{self.path} does not exist; give the path of a Parquet or CSV table")
        texts = {
            name: str for name in (self.origin, self.destination, self.person, self.segment) if name and "," not in name
        }
        try:
            table = (
                pd.read_parquet(self.path) if self.path.suffix == ".parquet" else pd.read_csv(self.path, dtype=texts)
            )
        except (OSError, ValueError):
            raise OdanonError(f"{self.path} cannot be read as a table; give a Parquet or CSV file") from None
        if table.empty:
            raise OdanonError(f"{self.path} has no rows; give a table of trips or flows")
        others = {} if self.time is None else {"time": self._column(table, self.time)}
        if self.person is not None:
            others["person"] = self._persons(table, self.person)
        numbers = {"count": self.count, "weight": self.weight}
        rows = pd.DataFrame(
            {
                "origin": self._labels(table, self.origin),
                "destination": self._labels(table, self.destination),
                **others,
                **{ours: self._numbers(table, theirs) for ours, theirs in numbers.items() if theirs is not None},
            }
        )
        if self.segment is not None:
            rows["segment"] = self._labels(table, self.segment)
        missing = int(rows.isna().any(axis="columns").sum())
        if missing:
            what = "rows have an empty value or coordinates out of range"
            raise OdanonError(f"{self.path}: {missing} {what}; remove or repair them first")
        return rows

    def _labels(self, table: pd.DataFrame, name: str) -> pd.Series:
        if "," not in name:
            column = self._column(table, name)
            return column.where(column.isna(), column.astype("str"))
        lat, lon = (self._numbers(table, part.strip()).to_numpy(np.float64) for part in name.split(",", 1))
        return pd.Series(registry.create("zoning", "h3", {"resolution": self.resolution}).assign(lat, lon), table.index)

    def _numbers(self, table: pd.DataFrame, name: str) -> pd.Series:
        column = self._column(table, name)
        try:
            return pd.to_numeric(column)
        except (TypeError, ValueError):
            raise OdanonError(f"{self.path}: column {name!r} holds texts that are no numbers; repair it") from None

    def _persons(self, table: pd.DataFrame, name: str) -> pd.Series:
        ids, kinds = persons(self._column(table, name))
        kinds.refuse_mixed()
        return ids.astype("str")

    def _column(self, table: pd.DataFrame, name: str) -> pd.Series:
        if name not in table.columns:
            raise OdanonError(f"{self.path} has no column {name!r}; it has {', '.join(map(str, table.columns))}")
        return table[name]

    def map(self, rows: pd.DataFrame) -> tuple[Tiles, Hierarchy]:
        """Where the labels of the table lie, which is given zones, H3 cells or nowhere, and the hierarchy over them.

        Of given zones all count, whether the table names them or not.
        """
        labels = distinct_labels([*rows["origin"].unique(), *rows["destination"].unique()])
        zoning = self._zoning or self._cells(labels)
        builder = self._builder(placed=zoning is not None)
        if zoning is not None:
            return tree_over(zoning, builder, labels)
        tiles = unplaced(labels)
        return tiles, builder.build(tiles)

    def within_zones(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows between zones that the layer of polygons has; others are named, and left out if so asked."""
        zoning = self._zoning
        if zoning is None or not isinstance(zoning, KnowsEveryTile):
            return rows
        outside = {side: ~rows[side].isin(zoning.every_label) for side in ("origin", "destination")}
        strangers = sorted({label for side, out in outside.items() for label in rows[side][out]})
        if not strangers:
            return rows
        names = ", ".join(map(shown, strangers[:_NAMED])) + (" ..." if len(strangers) > _NAMED else "")
        what = f"{self.path}: {len(strangers)} zones are not in {self.zones}: {names}"
        if not self.drop_missing:
            raise OdanonError(f"{what}; add them there, or leave their rows out with --drop-missing")
        kept = rows[~(outside["origin"] | outside["destination"])]
        if kept.empty:
            raise OdanonError(f"{what}; no row is left without them")
        _log.warning("%s; %d of %d rows are left out", what, len(rows) - len(kept), len(rows))
        return kept

    @cached_property
    def _zoning(self) -> Zoning | None:
        """The given zones: polygons, or points and the ground nearest to them."""
        if self.zones is None:
            return None
        kind = "voronoi" if self.zones.suffix in _TABLES else "polygons"
        where = {"antennas" if kind == "voronoi" else "path": self.zones, "id": self.zone_id}
        return registry.create("zoning", kind, where)

    def _cells(self, labels: ObjectArray) -> Zoning | None:
        """The zoning of labels that are H3 cells."""
        import h3

        if all(h3.is_valid_cell(label) for label in labels):
            return registry.create("zoning", "h3", {"resolution": h3.get_resolution(labels[0])})
        return None

    def _builder(self, *, placed: bool) -> HierarchyBuilder:
        """The named hierarchy, or the one in a table of children and parents."""
        if Path(self.hierarchy).suffix in _TABLES:
            return registry.create("hierarchy", "table", {"path": self.hierarchy, **self.hierarchy_parameters})
        if not placed:
            raise OdanonError(
                f"--hierarchy {self.hierarchy} needs to know where the tiles lie; add --zones FILE --zone-id COLUMN"
            )
        return registry.create("hierarchy", self.hierarchy, self.hierarchy_parameters)

    def _in_time(self, rows: pd.DataFrame, tree: Hierarchy) -> ODMatrix:
        if self.time is None:
            raise OdanonError("--adaptive splits time and no column tells it; name one with --time")
        bins, times = column_bins(rows["time"], str(self.path))
        trips, person, weight = (name if name in rows else None for name in ("count", "person", "weight"))
        told = rows.assign(time=bins)
        return ODMatrix.from_frame(
            told, tree, tree, trips=trips, person=person, weight=weight, time="time", times=times
        )

    def _matrix(self, rows: pd.DataFrame, tree: Hierarchy) -> ODMatrix:
        trips, person, weight = (name if name in rows else None for name in ("count", "person", "weight"))
        return ODMatrix.from_frame(rows, tree, tree, trips=trips, person=person, weight=weight)


def _by_time(rows: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    return list(rows.groupby("time", sort=True)) if "time" in rows else [(None, rows)]
