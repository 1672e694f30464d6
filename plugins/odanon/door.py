"""Releases of all matrices of a window: its time bins, each on its own or sharing one partition."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameters_of

Bin = TypeVar("Bin")


def release_window(
    anonymizer: Any, matrices: Mapping[Bin, ODMatrix], origins: Hierarchy, destinations: Hierarchy
) -> dict[Bin, Release]:
    """One release per matrix; a matrix that does not reach the thresholds in all is suppressed whole.

    When that is so of every matrix, the anonymiser's own refusal is raised.
    """
    enough = {name: od for name, od in matrices.items() if _reaches(od, anonymizer)}
    if not enough:
        anonymizer.check(max(matrices.values(), key=lambda od: _units(od, anonymizer.unit)))
        raise OdanonError(
            f"no time bin stands for k_population = {anonymizer.k_population:g} inhabitants in all; use longer bins,"
            " a longer window or a smaller k_population"
        )
    if hasattr(anonymizer, "anonymize_window"):
        made = anonymizer.anonymize_window(list(enough.values()), origins, destinations)
    else:
        made = [anonymizer.anonymize(od, origins, destinations) for od in enough.values()]
    released = dict(zip(enough, made, strict=True))
    parameters = parameters_of(anonymizer)
    return {
        name: released.get(name) or _nothing(od, origins, destinations, parameters) for name, od in matrices.items()
    }


def _reaches(od: ODMatrix, anonymizer: Any) -> bool:
    """Whether the whole matrix, published as one flow, would keep the promise."""
    if _units(od, anonymizer.unit) < max(anonymizer.k, anonymizer.k_areas or 0):
        return False
    # A matrix without weights goes on to the anonymiser, which says what is missing.
    return anonymizer.k_population is None or od.weight is None or od.weight.sum() >= anonymizer.k_population


def _units(od: ODMatrix, unit: str) -> int:
    return od.volume if unit == "trips" else od.n_people or 0


def _nothing(od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, parameters: dict[str, Any]) -> Release:
    nowhere = np.full(len(od.pairs.trips), -1)
    return Release.from_nodes(od, origins, destinations, nowhere, nowhere, parameters)
