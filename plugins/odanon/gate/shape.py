"""Whether a release is a release at all: the columns, types and ranges that everything after it counts on."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.gate.verifier import Finding
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import KINDS, Release
from odanon.model.window import Times

_LABELS = ("origin", "destination")
_SIZES = ("origin_tiles", "destination_tiles")
_TILES = 2**31  # more than any map has
_TRIPS = 2**53  # whole numbers that every reader counts exactly


def misshapen(
    release: Release, origins: Hierarchy, destinations: Hierarchy, *, weighted: bool, times: Times | None
) -> list[Finding]:
    """What keeps a release from being judged; nothing else is asked of one that has any of this."""
    labels = _LABELS if times is None else (*_LABELS, "time")
    problems = (
        _flow_problems(release.flows, labels, weighted=weighted)
        or _assignment_problems(release.assignment, labels, len(release.flows))
        or _area_problems("origin", release.origins, origins)
        or _area_problems("destination", release.destinations, destinations)
        or _time_problems(release.times, times)
    )
    return [Finding("shape", 1, problem) for problem in problems]


def _time_problems(intervals: Areas | None, times: Times | None) -> list[str]:
    if times is not None:
        return ["there are no intervals"] if intervals is None else _area_problems("time", intervals, times.tree)
    return [] if intervals is None else ["there are intervals of a matrix without times"]


def _flow_problems(flows: pd.DataFrame, labels: tuple[str, ...], *, weighted: bool) -> list[str]:
    wanted = [*labels, "kind", "trips", "persons", *_SIZES, *(["weight"] if weighted else [])]
    if problem := _columns("flows", flows, wanted):
        return [problem]
    problems = [f"flows.{name} has missing names" for name in labels if flows[name].isna().any()]
    problems += [f"flows.{name} is no column of names" for name in labels if not _names(flows[name])]
    if not flows["kind"].isin(KINDS).all():
        problems.append(f"flows.kind is something else than {' or '.join(KINDS)}")
    limits = {"trips": (0, _TRIPS), "origin_tiles": (1, _TILES), "destination_tiles": (1, _TILES)}
    problems += [
        f"flows.{name} does not hold whole numbers from {low}"
        for name, (low, high) in limits.items()
        if not _whole(flows[name], low, high)
    ]
    if not _whole(flows["persons"].dropna(), 0, _TRIPS):
        problems.append("flows.persons does not hold whole numbers")
    if weighted and not (pd.api.types.is_numeric_dtype(flows["weight"]) and np.isfinite(flows["weight"]).all()):
        problems.append("flows.weight does not hold numbers")
    return problems


def _assignment_problems(assignment: pd.DataFrame, labels: tuple[str, ...], n_flows: int) -> list[str]:
    if problem := _columns("assignment", assignment, [*labels, "trips", "flow"]):
        return [problem]
    problems = [f"assignment.{name} is no column of names" for name in labels if not _names(assignment[name])]
    if not _whole(assignment["trips"], 0, _TRIPS):
        problems.append("assignment.trips does not hold whole numbers")
    if not _whole(assignment["flow"], -1, n_flows):
        problems.append("assignment.flow is no row of flows, nor -1")
    return problems


def _columns(table: str, frame: pd.DataFrame, wanted: list[str]) -> str:
    if not isinstance(frame, pd.DataFrame):
        return f"{table} is no table"
    found = list(frame.columns)
    if sorted(map(str, found)) == sorted(wanted):
        return ""
    missing, extra = sorted(set(wanted) - set(found)), len(set(found) - set(wanted))
    return f"{table} must have the columns {', '.join(wanted)}; {len(missing)} are missing, {extra} are strangers"


def _names(column: pd.Series) -> bool:
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return len(values) == 0 or pd.api.types.is_string_dtype(values)


def _whole(column: pd.Series, low: int, high: int) -> bool:
    if not len(column):
        return True
    whole = pd.api.types.is_integer_dtype(column) and not column.isna().any()
    return bool(whole and low <= column.min() and column.max() < high)


def _area_problems(side: str, areas: Areas, tree: Hierarchy) -> list[str]:
    if not isinstance(areas, Areas):
        return [f"the {side} areas are no Areas"]
    arrays = areas.label, areas.n_tiles, areas.level, areas.start, areas.members
    if any(not isinstance(array, np.ndarray) or array.ndim != 1 for array in arrays):
        return [f"the parts of the {side} areas are no arrays"]
    number = len(areas.label)
    if not (len(areas.n_tiles) == len(areas.level) == number and len(areas.start) == number + 1):
        return [f"the arrays of the {side} areas have different lengths"]
    if any(not np.issubdtype(part.dtype, np.integer) for part in arrays[1:]):
        return [f"sizes, levels and members of the {side} areas are not whole numbers"]
    if not _bounded(areas, tree.n_leaves):
        return [f"members of the {side} areas are no tiles of the hierarchy"]
    problems = []
    if not all(isinstance(label, str) for label in areas.label.tolist()) or len(set(areas.label)) < number:
        problems.append(f"the {side} areas have no names, or two have one name")
    if _repeated(areas):
        problems.append(f"tiles are listed twice in an area of the {side}")
    return problems


def _bounded(areas: Areas, n_leaves: int) -> bool:
    lengths, members = np.diff(areas.start), areas.members
    if areas.start[0] != 0 or areas.start[-1] != len(members) or (lengths <= 0).any():
        return False
    return bool(not len(members) or (members.min() >= 0 and members.max() < n_leaves))


def _repeated(areas: Areas) -> bool:
    owner: npt.NDArray[np.int64] = np.repeat(np.arange(len(areas.label)), np.diff(areas.start))
    key = owner * (int(areas.members.max(initial=0)) + 1) + areas.members
    return len(pd.unique(key)) < len(key)
