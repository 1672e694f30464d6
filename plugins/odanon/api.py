"""The library call: one table in, one release out."""

from typing import Any

import pandas as pd

from odanon import registry
from odanon.door import release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release


def anonymize(
    od: pd.DataFrame | ODMatrix,
    hierarchy: Hierarchy,
    algorithm: str = "atg-joint",
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
    return release({None: od}, hierarchy, anonymizer, destinations=targets).releases[None]


def _need_columns(od: pd.DataFrame, *names: str) -> None:
    for name in names:
        if name not in od.columns:
            raise OdanonError(f"the table has no column {name!r}; it has {', '.join(map(str, od.columns))}")
