"""OMX, the matrices of transport models: trips between zones of the reader's own, one matrix a time bin and their sum."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.extras import needed_by
from odanon.geo.layerfiles import read_named_layer
from odanon.model.when import DAYS, When, clock_of
from odanon.model.when.clock import bin_instants, span_of
from odanon_assets.derived.exports.tables import Published
from odanon_assets.stores.interface import Store

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

LOOKUP = "zone_id"
NAMES = "name"  # the lookup with names of zones
_LARGEST = 2**32  # the ids that every reader of OMX takes are smaller whole numbers
_DIGITS = 6  # of a trip; the stores agree that far


@dataclass(frozen=True)
class OwnZones:
    """Areas of the reader: their ids in the order of rows and columns, and their outlines by position."""

    ids: npt.NDArray[Any]
    areas: "GeoDataFrame"
    names: npt.NDArray[Any] | None = None  # as bytes, empty where there is none


def read_zones(path: Path, column: str, name: str | None = None) -> OwnZones:
    """The areas of a vector file by the ids in a column, with names from another one if told: in the order of numbers if all are whole
    ones, otherwise of text."""
    import geopandas

    labels, polygons, called = read_named_layer(path, column, name)
    names = None if called is None else np.array([(each or "").encode() for each in called])
    ids: npt.NDArray[Any] = np.array([str(label).encode() for label in labels])
    if all(str(label).isdecimal() and str(int(label)) == label and int(label) < _LARGEST for label in labels):
        numbers = labels.astype(np.uint32)
        order = np.argsort(numbers, kind="stable")
        ids, polygons, names = numbers[order], polygons[order], None if names is None else names[order]
    return OwnZones(ids, geopandas.GeoDataFrame(geometry=polygons, crs="EPSG:4326"), names)


def omx(store: Store, zones: OwnZones, published: Published, folder: Path) -> None:
    """Write the estimated trips between zones: a matrix for each time bin, `total`, and the ids under the lookup `zone_id`, names under `name`."""
    with needed_by("the format omx"):
        import openmatrix
    size = len(zones.ids)
    total = np.zeros((size, size))
    with openmatrix.open_file(str(folder / f"{published.product}.omx"), "w") as file:
        file.root._v_attrs["SHAPE"] = np.array([size, size], dtype="int32")
        file.root._v_attrs["product"] = published.product
        file.root._v_attrs["releases"] = " ".join(manifest["release_id"] for manifest in published.manifests)
        # Not by create_matrix and create_mapping: they note when they are called, and the same export has the same bytes.
        file.create_array(file.root.lookup, LOOKUP, obj=zones.ids, track_times=False)
        if zones.names is not None:
            file.create_array(file.root.lookup, NAMES, obj=zones.names, track_times=False)
        for name, told, when in _named_bins(published):
            trips = _trips_between(store, published.product, zones.areas, when)
            total += trips
            matrix = file.create_carray(file.root.data, name, obj=trips, track_times=False)
            for key, value in told.items():
                matrix.attrs[key] = value
        file.create_carray(file.root.data, "total", obj=total.round(_DIGITS), track_times=False)


def _trips_between(store: Store, product: str, areas: "GeoDataFrame", when: When) -> npt.NDArray[np.float64]:
    """Estimated trips from each area (row) to each (column); all that is known here of what a store's matrix looks like."""
    found = store.matrix(product, areas, when)
    square = np.zeros((len(areas), len(areas)))
    square[found["origin"].astype(int), found["destination"].astype(int)] = found["estimate"].round(_DIGITS)
    return square


def _named_bins(published: Published) -> Iterator[tuple[str, dict[str, str], When]]:
    """The time bins of all releases: a name by the local clock, start and end as instants and on that clock, and what to ask for."""
    for manifest in published.manifests:
        zone = ZoneInfo(manifest.get("timezone") or "UTC")
        for since, until, when in _bins(published, manifest):
            start, end = (at.astimezone(zone) for at in (since, until))
            again = "b" if start.fold else ""  # the hour that comes twice when summer time ends
            told = {"time_start": since.isoformat(), "time_end": until.isoformat()}
            told |= {"local_start": f"{start:%Y-%m-%dT%H:%M:%S}", "local_end": f"{end:%Y-%m-%dT%H:%M:%S}"}
            yield f"t{start:%Y%m%d_%H%M}{again}", told, when


def _bins(published: Published, manifest: dict[str, Any]) -> list[tuple[datetime, datetime, When]]:
    """The bins that a release tells of, or the shortest stretches of time that its rows tell apart."""
    if told := [each for each in manifest.get("bins", []) if each["days"]]:
        return [_of_days(each, manifest) for each in told]
    rows = published.flows[published.flows["release_id"] == manifest["release_id"]]
    # Rows that are older than ends of bins count where they start.
    ends = rows["time_end"].fillna(rows["time_start"] + pd.Timedelta(seconds=1))
    edges = pd.concat([pd.Series(1, index=rows["time_start"]), pd.Series(-1, index=ends)])
    under_way = edges.groupby(level=0).sum().cumsum()  # how many rows hold the time after an edge
    moments = [at.to_pydatetime() for at in under_way.index]
    pairs = [pair for pair, rows_there in zip(pairwise(moments), under_way, strict=False) if rows_there]
    return [(since, until, When(since, until)) for since, until in pairs]


def _of_days(told: dict[str, Any], manifest: dict[str, Any]) -> tuple[datetime, datetime, When]:
    """A bin of a week or month: its instants are those of one of its days, and its trips those of all of them."""
    start, end = bin_instants(told)
    days = told["day_type"] if told["day_type"] in DAYS else None
    return start, end, When(*span_of(manifest), days, clock_of(f"{told['since']}-{told['until']}"))
