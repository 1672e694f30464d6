"""The stable public names: what users call and what plugin authors build on. Every other path is private.

import odanon

release = odanon.anonymize(rows, hierarchy, algorithm="atg-lattice", k=10)

from odanon.api import Anonymizer, parameter, plugin   # to write a plugin
"""

from typing import Any

import pandas as pd

from odanon import registry
from odanon.anonymizers.anonymizer import ALL_LIMITS, LIMITS, Anonymizer
from odanon.checking import CheckedDay, Verdict
from odanon.client.publications import Publications, PublishedProduct, open
from odanon.door import RefusedError, Released, release
from odanon.errors import OdanonError, OutageError
from odanon.hierarchies.over import tree_over
from odanon.model.areas import Areas
from odanon.model.figure import Figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.model.tiles import Tiles
from odanon.model.window import Times
from odanon.notify.alert import Alert
from odanon.plugin import Duration, parameter, parameters_of, plugin
from odanon.protocols import (
    Anonymizes,
    DayCheck,
    Engine,
    HierarchyBuilder,
    KnowsEveryTile,
    KnowsPeople,
    ListsFiles,
    Metric,
    Notifier,
    OdSource,
    Source,
    StayDetector,
    TellsState,
    TraceSource,
    TripSource,
    Zoning,
)
from odanon.reading.delivery import DeliveredFile, Delivery

__all__ = [
    "ALL_LIMITS",
    "LIMITS",
    "Alert",
    "Anonymizer",
    "Anonymizes",
    "Areas",
    "CheckedDay",
    "DayCheck",
    "DeliveredFile",
    "Delivery",
    "Duration",
    "Engine",
    "Figure",
    "Hierarchy",
    "HierarchyBuilder",
    "KnowsEveryTile",
    "KnowsPeople",
    "ListsFiles",
    "Metric",
    "Notifier",
    "ODMatrix",
    "OdSource",
    "OdanonError",
    "OutageError",
    "Promise",
    "Publications",
    "PublishedProduct",
    "RefusedError",
    "Release",
    "Released",
    "Source",
    "StayDetector",
    "TellsState",
    "Tiles",
    "Times",
    "TraceSource",
    "TripSource",
    "Verdict",
    "Zoning",
    "anonymize",
    "open",
    "parameter",
    "parameters_of",
    "plugin",
    "release",
    "tree_over",
]


def anonymize(
    od: pd.DataFrame | ODMatrix,
    hierarchy: Hierarchy,
    algorithm: str = "atg-lattice",
    *,
    destinations: Hierarchy | None = None,
    origin: str = "origin",
    destination: str = "destination",
    trips: str | None = "trips",
    person: str | None = "person",
    weight: str | None = None,
    **parameters: Any,
) -> Release:
    """Anonymise one OD matrix; what the verifier refuses is an error (`odanon.door`).

    `od` has one row per trip, or per pair (and person) with its number of trips, in any order; `origin` and
    `destination` name tiles of `hierarchy` (`destinations` when that side has a tree of its own). Columns that
    the frame does not have (`trips`, `person`) count as not given: one trip a row, no ids. `parameters` go to the
    algorithm: k, unit, suppression and the others that `odanon plugins anonymize` lists.
    """
    targets = destinations or hierarchy
    anonymizer = registry.create("anonymize", algorithm, parameters)
    promise = registry.find("anonymize", algorithm).promise(parameters)
    if isinstance(od, pd.DataFrame):
        _need_columns(od, origin, destination)
        od = ODMatrix.from_frame(
            od,
            hierarchy,
            targets,
            origin=origin,
            destination=destination,
            trips=trips if trips in od.columns else None,
            person=person if person in od.columns else None,
            weight=weight,
        )
    return release({None: od}, hierarchy, anonymizer, promise, destinations=targets).releases[None]


def _need_columns(od: pd.DataFrame, *names: str) -> None:
    for name in names:
        if name not in od.columns:
            raise OdanonError(f"the table has no column {name!r}; it has {', '.join(map(str, od.columns))}")
