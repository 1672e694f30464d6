"""Hierarchies by their names, over zones or cells that somebody has at hand: `odanon.hierarchy("ward", zones)`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odanon import registry
from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.geo.h3cells import cell_names
from odanon.geo.layerfiles import dissolved, read_layer
from odanon.hierarchies.over import tree_over
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import distinct_labels
from odanon.zoning.polygons import polygon_tiles

USUAL: dict[str, dict[str, Any]] = {"h3": {"steps": "fine"}}  # parameters that are meant unless others are given


def hierarchy(name: str, zones: Any, *, id: str = "id", **parameters: Any) -> Hierarchy:
    """The named hierarchy over zones: a GeoDataFrame or a vector file with their ids in the column `id`, or H3 cells.

    `parameters` are those of the hierarchy, as `odanon plugins hierarchy` lists them.
    """
    if not isinstance(name, str):
        raise OdanonError(
            f'the first argument is the name of a hierarchy such as "ward", and this is a {type(name).__name__}'
        )
    builder = registry.create("hierarchy", name, {**USUAL.get(name, {}), **parameters})
    if isinstance(zones, str | Path) and Path(zones).suffix:
        tiles = polygon_tiles(*read_layer(Path(zones), id))
    elif hasattr(zones, "geometry") and isinstance(zones, pd.DataFrame):
        tiles = polygon_tiles(*_drawn(zones, id))
    elif isinstance(zones, Iterable) and not isinstance(zones, str | bytes | pd.DataFrame):
        return _over_cells(name, builder, zones)
    else:
        raise OdanonError(
            f"zones are a GeoDataFrame, the path of a vector file or a list of H3 cells, and this is a {type(zones).__name__}"
        )
    return replace(builder.build(tiles), coverage="full")


def over_rows(rows: pd.DataFrame, name: str, origin: str, destination: str) -> Hierarchy:
    """The named hierarchy over the H3 cells that rows name; others need to know where their tiles lie."""
    builder = registry.create("hierarchy", name, USUAL.get(name, {}))
    labels = pd.concat([rows[origin], rows[destination]]).dropna().unique()
    return _over_cells(name, builder, labels)


def with_cells(rows: pd.DataFrame, *sides: str) -> pd.DataFrame:
    """The rows with the usual names of the H3 cells that they name otherwise, as by whole numbers; others as they are."""
    for side in sides:
        labels = rows[side].dropna().unique()
        names = cell_names(labels)
        if names is not None and names != [*labels]:
            rows = rows.assign(**{side: rows[side].astype(object).map(dict(zip(labels, names, strict=True)))})
    return rows


def _over_cells(name: str, builder: Any, labels: Iterable[Any]) -> Hierarchy:
    import h3

    names = cell_names(labels)
    if not names:
        raise OdanonError(
            f'hierarchy "{name}" needs to know where the tiles lie and they are no H3 cells; write'
            f' hierarchy=odanon.hierarchy("ward", zones) with a GeoDataFrame of zones'
        )
    cells = distinct_labels(names)
    zoning = registry.create("zoning", "h3", {"resolution": h3.get_resolution(cells[0])})
    return tree_over(zoning, builder, cells)[1]


def _drawn(zones: Any, column: str) -> tuple[ObjectArray, ObjectArray]:
    """Sorted ids and polygons of a GeoDataFrame in degrees."""
    if column not in zones.columns:
        known = ", ".join(str(name) for name in zones.columns if name != zones.geometry.name)
        raise OdanonError(f"the zones have no column {column!r}; name the one with their ids, id=..., of {known}")
    if zones.crs is None:
        raise OdanonError("the zones do not say in which system their coordinates are; set it with zones.set_crs(...)")
    known = zones[zones[column].notna()]
    names = known[column].astype("str").to_numpy(object)
    return dissolved(names, np.asarray(known.geometry.to_crs("EPSG:4326"), dtype=object), "the table of zones", column)
