"""The risk report of a release: what k does not promise, measured (PRIVACY, Measured and reported).

The public part holds release-level figures with few digits; the tables behind it stay restricted.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.errors import OdanonError
from odanon.hierarchy.tree import Hierarchy
from odanon.privacy.bands import rounded
from odanon.privacy.closeness import closeness

DOMINANT = 0.25  # a person with a larger share of a flow's trips dominates it


@dataclass(frozen=True, eq=False)
class RiskReport:
    """Figures for readers, and the tables by flow and by origin area that only the publisher sees."""

    public: dict[str, float]
    flows: pd.DataFrame  # origin, destination, persons, prosecutor, dominance[, minimality]
    origins: pd.DataFrame  # origin, people, homogeneity, homogeneous_tiles, total_variation[, earth_mover_km]


def risk_report(
    od: ODMatrix, release: Release, destinations: Hierarchy, *, membership: float | None = None
) -> RiskReport:
    """Measure a release against the matrix it was made from.

    prosecutor: 1 / people of the flow, the chance to name someone known to be in it. dominance: the largest share
    of a flow's trips that one person has. homogeneity: the largest share of an origin area's people that take one
    flow, with the tiles of its destination. total variation and earth mover: t-closeness of an origin's
    destinations to everybody's. minimality: the least share of a flow's trips that must lie in parts below k, for
    whoever knows the multiplier; it is absent where the algorithm has none. `membership` is what the anonymiser
    scores on the fixed city (`membership_auc`), passed on to the public part.
    """
    if od.person is None:
        raise OdanonError("a risk report counts people and this matrix has no person ids; give person-level rows")
    if release.flows.empty:
        raise OdanonError("the release has no flows, so there is no risk to report")
    row_flow = release.assignment["flow"].to_numpy(np.int64)[od.row_pair]
    flows = _by_flow(od, release, row_flow)
    implied = implied_small_share(release, destinations)
    if implied is not None:
        flows["minimality"] = implied
    table = _by_origin(od, release, row_flow, flows)
    table = table.join(closeness(release, destinations, table.index))
    public = _public(flows, table, release)
    if membership is not None:
        public["membership_auc"] = rounded(membership, 2)
    return RiskReport(public, flows, table.reset_index())


def _by_flow(od: ODMatrix, release: Release, row_flow: npt.NDArray[np.int64]) -> pd.DataFrame:
    assert od.person is not None  # checked by the caller
    inside = row_flow >= 0
    n_flows, n_people = len(release.flows), int(od.person.max(initial=0)) + 1
    code, seen = pd.factorize(row_flow[inside] * n_people + od.person[inside])
    mine = np.bincount(code, od.trips[inside], len(seen))
    mine = np.minimum(mine, release.parameters.get("contribution_cap") or np.inf)
    owner = seen // n_people
    largest = np.zeros(n_flows)
    np.maximum.at(largest, owner, mine)
    persons = np.bincount(owner, minlength=n_flows)
    flows = release.flows[["origin", "destination"]].astype("str")
    return flows.assign(persons=persons, prosecutor=1 / persons, dominance=largest / np.bincount(owner, mine, n_flows))


def _by_origin(od: ODMatrix, release: Release, row_flow: npt.NDArray[np.int64], flows: pd.DataFrame) -> pd.DataFrame:
    assert od.person is not None  # checked by the caller
    code, origin = pd.factorize(flows["origin"], sort=True)
    inside = row_flow >= 0
    n_people = int(od.person.max(initial=0)) + 1
    seen = pd.unique(code[row_flow[inside]].astype(np.int64) * n_people + od.person[inside])
    people = np.bincount(seen // n_people, minlength=len(origin))
    share = flows["persons"].to_numpy() / people[code]
    order = np.lexsort([share, code])  # the last of each origin is its largest
    last = np.flatnonzero(np.append(np.diff(code[order]) != 0, True))
    best = order[last]
    return pd.DataFrame(
        {
            "people": people,
            "homogeneity": share[best],
            "homogeneous_tiles": release.flows["destination_tiles"].to_numpy()[best],
        },
        index=pd.Index(origin, name="origin"),
    )


def implied_small_share(release: Release, destinations: Hierarchy) -> npt.NDArray[np.float64] | None:
    """By flow: the share of its trips that must lie in parts below k, given the multiplier lambda; None without one.

    A flow is published at a node and not at its children only if (|o| + |d|) v is at most the children's cost, in
    which trips below k cost lambda each. With m = |o| + the largest child's tiles, at least
    (|o| + |d| - m) / (lambda - m) of the trips are below k. A small multiplier thus tells much.
    """
    multiplier = release.metrics.get("lambda")
    if multiplier is None:
        return None
    largest = np.zeros(len(destinations), dtype=np.int64)
    np.maximum.at(largest, destinations.parent[:-1], destinations.n_tiles[:-1])
    node_of = pd.Series(largest, index=pd.Index(destinations.label, dtype="str"))
    child = release.flows["destination"].astype("str").map(node_of).fillna(0).to_numpy(np.int64)
    o, d = release.flows["origin_tiles"].to_numpy(), release.flows["destination_tiles"].to_numpy()
    gain, room = d - child, multiplier - (o + child)
    share = np.where(room > gain, gain / np.where(room > gain, room, 1), 1.0)
    return np.where(child > 0, share, 0.0)


def _public(flows: pd.DataFrame, origins: pd.DataFrame, release: Release) -> dict[str, float]:
    people = origins["people"].to_numpy()
    figures = {
        "prosecutor_at_most": 1 / release.parameters["k"] if release.parameters["unit"] != "trips" else 1.0,
        "prosecutor_mean": len(flows) / float(flows["persons"].sum()),
        "dominated_share": float((flows["dominance"] > DOMINANT).mean()),
        "homogeneity_mean": float(np.average(origins["homogeneity"], weights=people)),
        "homogeneous_tiles_mean": float(np.average(origins["homogeneous_tiles"], weights=people)),
    }
    for name in ("total_variation", "earth_mover_km"):
        if name in origins:
            measured = origins[name].dropna()
            figures[f"{name}_mean"] = float(measured.mean())
            figures[f"{name}_max"] = float(measured.max())
    if "minimality" in flows:
        figures["minimality_mean"] = float(np.average(flows["minimality"], weights=release.flows["trips"]))
    return {name: rounded(value, 2) for name, value in figures.items()}
