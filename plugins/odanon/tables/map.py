"""The map under a table: given zones, H3 cells or nowhere, and the hierarchy over them."""

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from odanon import registry
from odanon.errors import OdanonError
from odanon.geo.arrays import FloatArray, ObjectArray
from odanon.geo.h3cells import cell_names, is_cell
from odanon.geo.layerfiles import is_geoparquet
from odanon.hierarchies.over import tree_over
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles, distinct_labels, on_earth, unplaced
from odanon.protocols import HierarchyBuilder, KnowsEveryTile, Zoning
from odanon.reading.files import listed
from odanon.tables.columns import called, categories, share_of

_OUTSIDE = "\0outside"  # the label of a place in no zone
_TABLES = (".csv", ".parquet")
_log = logging.getLogger("odanon")


@dataclass(frozen=True)
class TableMap:
    """Zones of a file, or H3 cells of a resolution for places that no zones are given for; and the name of a hierarchy."""

    zones: Path | None
    zone_id: str
    resolution: int
    hierarchy: str
    hierarchy_parameters: dict[str, Any]

    def check(self) -> None:
        """Refuse files that are not there, and a hierarchy that does not exist."""
        named = {"--zones": self.zones, "--hierarchy": Path(self.hierarchy) if self._of_table else None}
        for option, path in named.items():
            if path is not None and not path.exists():
                raise OdanonError(f"{option} {path} does not exist; correct the path")
        self.builder  # noqa: B018

    def labels(self, lat: FloatArray, lon: FloatArray) -> pd.Series:
        """The tile of every place, missing where it is no place on earth."""
        if self._zoning is None:
            codes, names = registry.create("zoning", "h3", {"resolution": self.resolution}).coded(lat, lon)
            return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names, dtype="str"), validate=False))
        labels = categories(self._zoning.assign(lat, lon))
        outside = labels.isna() & on_earth(lat, lon)  # a place in no zone is unknown, an empty one is missing
        return labels.cat.add_categories([_OUTSIDE]).where(~outside, _OUTSIDE)

    def called(self, labels: pd.Series) -> pd.Series:
        """Labels under the usual names of H3 cells, if that is what they name in other ways."""
        named = labels.cat.categories
        cells = None if self.zones is not None or self._of_table else cell_names(named)
        return labels if cells is None or cells == [*named] else called(labels, cells)

    def unknown(self, labels: pd.Series) -> list[str]:
        """The labels that the layer of polygons does not have."""
        if self._zoning is None or not isinstance(self._zoning, KnowsEveryTile):
            return []
        return sorted({*labels.cat.categories} - {*self._zoning.every_label})

    def within(self, rows: pd.DataFrame, path: Path, *, drop: bool) -> pd.DataFrame:
        """The rows between zones that the layer of polygons has; others are named, and left out if so asked."""
        zoning = self._zoning
        if zoning is None or not isinstance(zoning, KnowsEveryTile):
            return rows
        outside = {side: ~rows[side].isin(zoning.every_label) for side in ("origin", "destination")}
        lost = outside["origin"] | outside["destination"]
        if not lost.any():
            return rows
        names = sorted({str(label) for side, out in outside.items() for label in rows[side][out].unique()} - {_OUTSIDE})
        counted = share_of(rows, lost)
        what = (
            f"{len(names)} zones are not in {self.zones}: {listed(names)}"
            if names
            else f"{counted} start or end in none of {self.zones}"
        )
        if not drop:
            raise OdanonError(f"{path}: {what}; add them there, or leave their rows out with --drop-unknown")
        kept = rows[~lost]
        if kept.empty:
            raise OdanonError(f"{path}: {what}; no row is left without them")
        _log.warning("%s: %s; %s are left out", path, what, counted)
        return kept

    def under(self, rows: pd.DataFrame) -> tuple[Tiles, Hierarchy]:
        """Where the labels of the rows lie, and the hierarchy over them.

        Of given zones all count, whether the rows name them or not.
        """
        labels = distinct_labels([*rows["origin"].unique(), *rows["destination"].unique()])
        zoning = self._zoning or _cells(labels)
        if zoning is None and not self._of_table:
            raise OdanonError(
                f"--hierarchy {self.hierarchy} needs to know where the tiles lie, and the labels are no H3 cells; add --zones FILE --zone-id COLUMN,"
                " or name two columns lat,lon for each end"
            )
        if zoning is not None:
            return tree_over(zoning, self.builder, labels)
        tiles = unplaced(labels)
        return tiles, self.builder.build(tiles)

    @cached_property
    def builder(self) -> HierarchyBuilder:
        """The named hierarchy, or the one in a table of children and parents."""
        if self._of_table:
            return registry.create("hierarchy", "table", {"path": self.hierarchy, **self.hierarchy_parameters})
        return registry.create("hierarchy", self.hierarchy, self.hierarchy_parameters)

    @property
    def _of_table(self) -> bool:
        return Path(self.hierarchy).suffix in _TABLES

    @cached_property
    def _zoning(self) -> Zoning | None:
        """The given zones: polygons, or points and the ground nearest to them."""
        if self.zones is None:
            return None
        kind = "voronoi" if self.zones.suffix.lower() in _TABLES and not is_geoparquet(self.zones) else "polygons"
        where = {"antennas" if kind == "voronoi" else "path": self.zones, "id": self.zone_id}
        return registry.create("zoning", kind, where)


def _cells(labels: ObjectArray) -> Zoning | None:
    """The zoning of labels that are H3 cells."""
    import h3

    if all(map(is_cell, labels)):
        return registry.create("zoning", "h3", {"resolution": h3.get_resolution(labels[0])})
    return None
