"""The stable public names: what users call and what plugin authors build on. Every other path is private.

import odanon

release = odanon.anonymize(rows, hierarchy="h3", k=10)
release = odanon.anonymize(rows, hierarchy=odanon.hierarchy("ward", zones), k=10)

from odanon.api import Anonymizer, parameter, plugin   # to write a plugin
"""

import warnings
from typing import Any

import pandas as pd

from odanon import registry
from odanon.anonymizers.anonymizer import ALL_LIMITS, LIMITS, Anonymizer
from odanon.checking import CheckedDay, Verdict
from odanon.client.publications import Publications, PublishedProduct, open
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import System
from odanon.demand.matrices import Matrices
from odanon.demand.placers.agenda import Agenda
from odanon.demand.placers.placer import Travellers
from odanon.door import RefusedError, Released, release
from odanon.errors import OdanonError, OutageError
from odanon.hierarchies.named import hierarchy, over_rows, with_cells
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
    Calibrator,
    DayCheck,
    Engine,
    HierarchyBuilder,
    KnowsEveryTile,
    KnowsPeople,
    ListsFiles,
    Metric,
    Notifier,
    OdSource,
    Placer,
    Source,
    StayDetector,
    TellsState,
    TraceSource,
    TripSource,
    Zoning,
)
from odanon.reading.delivery import DeliveredFile, Delivery
from odanon.reading.persons import persons
from odanon.tables.guess import called_as_counts, may_count

_FIRST = 1000  # rows that show whether a table is one of flows

__all__ = [
    "ALL_LIMITS",
    "LIMITS",
    "Agenda",
    "Alert",
    "Anonymizer",
    "Anonymizes",
    "Areas",
    "Calibrated",
    "Calibrator",
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
    "Matrices",
    "Metric",
    "Notifier",
    "ODMatrix",
    "OdSource",
    "OdanonError",
    "OutageError",
    "Placer",
    "Promise",
    "Publications",
    "PublishedProduct",
    "RefusedError",
    "Release",
    "Released",
    "Source",
    "StayDetector",
    "System",
    "TellsState",
    "Tiles",
    "Times",
    "TraceSource",
    "Travellers",
    "TripSource",
    "Verdict",
    "Zoning",
    "anonymize",
    "hierarchy",
    "open",
    "parameter",
    "parameters_of",
    "plugin",
    "release",
    "tree_over",
]


def anonymize(
    od: pd.DataFrame | ODMatrix,
    hierarchy: Hierarchy | str,
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
    `destination` name tiles of `hierarchy` (`destinations` when that side has a tree of its own), which is "h3" for H3 cells or what
    `odanon.hierarchy` makes of zones. Columns that the frame does not have (`trips`, `person`) count as not given: one trip a row, no
    ids. `parameters` go to the algorithm: k, unit, suppression and the others that `odanon plugins anonymize` lists. A release of an
    algorithm that nobody can verify, since it adds noise, comes with a warning that says so.
    """
    _check_types(od, hierarchy, destinations, algorithm)
    anonymizer = registry.create("anonymize", algorithm, parameters)
    promise = registry.find("anonymize", algorithm).promise(parameters)
    if isinstance(od, pd.DataFrame):
        _need_columns(od, origin, destination, *([weight] if weight is not None else []))
        _ask_for_counts(od, origin, destination, trips, person, weight)
        od = _with_persons(od, person)
        if isinstance(hierarchy, str) or hierarchy.kind == "h3":
            od = with_cells(od, origin, destination)
        tree = over_rows(od, hierarchy, origin, destination) if isinstance(hierarchy, str) else hierarchy
        od = ODMatrix.from_frame(
            od,
            tree,
            destinations or tree,
            origin=origin,
            destination=destination,
            trips=trips if trips in od.columns else None,
            person=person if person in od.columns else None,
            weight=weight,
        )
    else:
        assert not isinstance(hierarchy, str)
        tree = hierarchy
    released = release({None: od}, tree, anonymizer, promise, destinations=destinations or tree)
    if not released.verified:
        warnings.warn(released.sentence, stacklevel=2)
    return released.releases[None]


def _holds_numbers(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _check_types(od: Any, hierarchy: Any, destinations: Any, algorithm: Any) -> None:
    """Refuse what is no table, no tree or no name."""
    if not isinstance(od, pd.DataFrame | ODMatrix):
        raise OdanonError(
            f"the first argument is a pandas DataFrame of trips, and this is a {type(od).__name__}; make one of it"
        )
    if not isinstance(hierarchy, Hierarchy | str):
        raise OdanonError(
            f'hierarchy is "h3" or what odanon.hierarchy makes, and this is a {type(hierarchy).__name__}; write for example'
            ' hierarchy=odanon.hierarchy("ward", zones)'
        )
    if isinstance(od, ODMatrix) and isinstance(hierarchy, str):
        raise OdanonError("an ODMatrix has ranks of a tree of its own; give that tree as hierarchy")
    if destinations is not None and not isinstance(destinations, Hierarchy):
        raise OdanonError(f"destinations is what odanon.hierarchy makes, and this is a {type(destinations).__name__}")
    if not isinstance(algorithm, str):
        raise OdanonError(f'algorithm is a name such as "atg-lattice", and this is a {type(algorithm).__name__}')


def _need_columns(od: pd.DataFrame, *names: str) -> None:
    for name in names:
        if name not in od.columns:
            raise OdanonError(f"the table has no column {name!r}; it has {', '.join(map(str, od.columns))}")
    if od.empty:
        raise OdanonError("the table has no rows; give trips or flows")


def _with_persons(od: pd.DataFrame, person: str | None) -> pd.DataFrame:
    """The table with one id for every person, as the command line reads it: 17 and the text 17.0 are one."""
    if person is None or person not in od.columns:
        return od
    ids, kinds = persons(od[person])
    kinds.refuse_mixed()
    return od.assign(**{person: ids})


def _ask_for_counts(
    od: pd.DataFrame, origin: str, destination: str, trips: str | None, person: str | None, weight: str | None
) -> None:
    """A column that looks like a number of trips and is not used is asked about, as on the command line."""
    if trips is None or trips in od.columns:
        return
    used = {origin, destination, person, weight}
    free = [name for name in od.columns if name not in used]
    pairs = [] if person in od.columns else [*od[[origin, destination]].head(_FIRST).itertuples(index=False, name=None)]
    called = called_as_counts(free)  # numbers or texts
    if found := [called] if called else may_count(pairs, [name for name in free if _holds_numbers(od[name])]):
        raise OdanonError(
            f"does column {found[0]!r} say how many trips a row stands for? Write trips={found[0]!r}, or trips=None if every row is one trip"
        )
