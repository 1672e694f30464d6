"""The risk report of a release: what k does not promise, measured (PRIVACY, Measured and reported).

The public figures are of the release as a whole and have few digits; the tables behind them stay restricted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.risk.bands import rounded
from odanon.risk.closeness import MOST_MOVED, closeness

DOMINANT = 0.25  # a person with a larger share of a flow's trips dominates it
_ENDS = ["origin", "destination"]


@dataclass(frozen=True, eq=False)
class RiskReport:
    """The tables by flow and by origin area that only the publisher sees.

    `flows`: origin, destination, trips, prosecutor, dominance, persons and, where the algorithm has a multiplier,
    minimality. `origins`: origin, people (who leave it), row_people (who are in its own rows, not in those of areas inside it),
    homogeneity, homogeneous_tiles, total_variation and, where centroids are known, earth_mover_km. What counts people is absent for rows without person ids.
    """

    flows: pd.DataFrame
    origins: pd.DataFrame

    @classmethod
    def joined(cls, reports: Mapping[Any, "RiskReport"], column: str) -> "RiskReport":
        """One report over several matrices, such as the time bins of a day, told apart by a column."""
        flows, origins = (
            pd.concat({name: getattr(report, table) for name, report in reports.items()}, names=[column])
            .reset_index(level=0)
            .reset_index(drop=True)
            for table in ("flows", "origins")
        )
        return cls(flows, origins)

    def by_segment(self, parts: Mapping[str, tuple[ODMatrix, Release]]) -> "RiskReport":
        """The same release as it is shown by segment: each flow once for every segment, or for everybody."""
        tables = {name: flow_risks(od, release) for name, (od, release) in parts.items() if len(release.flows)}
        shown = pd.concat(tables, names=["segment"]).reset_index(level=0).reset_index(drop=True)
        if "minimality" in self.flows:
            shown = shown.merge(self.flows[[*_ENDS, "minimality"]], on=_ENDS, how="left", validate="m:1")
        return RiskReport(shown, self.origins)

    def public(self, k: int, unit: str) -> dict[str, float]:
        """Figures for readers: nothing about people where k counts trips, nor of fewer than k flows or origins."""
        flows, origins = self.flows, self.origins
        if unit == "trips":
            return {"prosecutor_at_most": 1.0}
        figures = {}
        if "persons" in flows and len(flows) >= k:
            figures["prosecutor_mean"] = len(flows) / float(flows["persons"].sum())
            figures["dominated_share"] = float((flows["dominance"] > DOMINANT).mean())
        if "people" in origins and len(origins) >= k:
            for name in ("homogeneity", "homogeneous_tiles"):
                figures[f"{name}_mean"] = float(np.average(origins[name], weights=origins["row_people"]))
        at_most = ceil(1000 / k) / 1000  # a bound is rounded up
        return {"prosecutor_at_most": at_most, **{name: rounded(value, 2) for name, value in figures.items()}}

    def restricted(self) -> dict[str, float]:
        """Figures for the publisher. In small releases closeness shows single tiles, and minimality the multiplier."""
        flows, origins = self.flows, self.origins
        figures = {}
        for name in ("total_variation", "earth_mover_km"):
            if name in origins and origins[name].notna().any():
                figures[f"{name}_mean"] = float(origins[name].mean())
                figures[f"{name}_max"] = float(origins[name].max())
        if "minimality" in flows and flows["minimality"].notna().any():
            known = flows[flows["minimality"].notna()]
            figures["minimality_mean"] = float(np.average(known["minimality"], weights=known["trips"]))
        return {name: rounded(value, 2) for name, value in figures.items()}


def risk_report(
    od: ODMatrix, release: Release, origins: Hierarchy, destinations: Hierarchy, *, moved: int = MOST_MOVED
) -> RiskReport:
    """Measure a release that has flows against the matrix it was made from.

    prosecutor: 1 / people of the flow, the chance to name someone known to be in it. dominance: the largest share
    of a flow's trips that one person has. homogeneity: the largest share of the people who leave an origin area that take one
    flow, with the tiles of its destination; where areas lie inside each other, people leave all that hold them, and means weigh an area by the people
    of its own rows. A rest is a flow here. total variation and earth mover (solved for `moved` origins):
    t-closeness of an origin's destinations to everybody's. minimality: see `implied_small_share`.
    """
    flows = flow_risks(od, release)
    implied = implied_small_share(release, origins, destinations)
    if implied is not None:
        flows["minimality"] = implied
    return RiskReport(flows, _by_origin(od, release, flows, (origins, destinations), moved))


def flow_risks(od: ODMatrix, release: Release) -> pd.DataFrame:
    """People, prosecutor risk and dominance of every flow; trips alone where nobody knows whose they are."""
    flows = release.flows[_ENDS].astype("str").assign(trips=release.flows["trips"])
    if od.person is None:
        return flows
    flow, _, trips = _people_of_flows(od, release)
    mine = np.minimum(trips, release.parameters.get("contribution_cap") or np.inf)
    largest = np.zeros(len(flows))
    np.maximum.at(largest, flow, mine)
    persons = np.bincount(flow, minlength=len(flows))
    dominance = largest / np.bincount(flow, mine, len(flows))
    return flows.assign(persons=persons, prosecutor=1 / persons, dominance=dominance)


def _people_of_flows(
    od: ODMatrix, release: Release
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Flow, person and trips of everybody in every published flow."""
    assert od.person is not None  # checked by the callers
    row_flow = release.assignment["flow"].to_numpy(np.int64)[od.row_pair]
    inside = row_flow >= 0
    n_people = int(od.person.max(initial=0)) + 1
    code, seen = pd.factorize(row_flow[inside] * n_people + od.person[inside])
    return seen // n_people, seen % n_people, np.bincount(code, od.trips[inside], len(seen)).astype(np.float64)


def _by_origin(
    od: ODMatrix, release: Release, flows: pd.DataFrame, trees: tuple[Hierarchy, Hierarchy], moved: int
) -> pd.DataFrame:
    code, labels = pd.factorize(flows["origin"], sort=True)
    table = pd.DataFrame(index=pd.Index(labels, name="origin"))
    if od.person is not None:
        people, row_people = _leaving(od, release, code, labels, trees[0])
        share = _people_between(od, release, flows) / people[code]
        order = np.lexsort([share, code])  # the last of each origin is its largest
        best = order[np.flatnonzero(np.append(np.diff(code[order]) != 0, True))]
        tiles = release.flows["destination_tiles"].to_numpy()[best]
        table = table.assign(people=people, row_people=row_people, homogeneity=share[best], homogeneous_tiles=tiles)
    return table.join(closeness(release, trees[1], table.index, moved)).reset_index()


def _people_between(od: ODMatrix, release: Release, flows: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Different people of each flow; in time, of all flows between its areas, whenever they travel."""
    if release.times is None:
        return flows["persons"].to_numpy()
    flow, person, _ = _people_of_flows(od, release)
    ends = pd.factorize(pd.MultiIndex.from_frame(flows[_ENDS]))[0]
    n_people = int(person.max(initial=0)) + 1
    seen = pd.unique(ends[flow].astype(np.int64) * n_people + person)
    return np.bincount(seen // n_people, minlength=int(ends.max(initial=-1)) + 1)[ends]


def _leaving(
    od: ODMatrix, release: Release, code: npt.NDArray[np.intp], labels: pd.Index, tree: Hierarchy
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Different people of published trips that leave each origin area (of areas that are no zones, those in its flows), and those in its flows."""
    assert od.person is not None
    flow, person, _ = _people_of_flows(od, release)
    n_people = int(person.max(initial=0)) + 1
    seen = pd.unique(code[flow].astype(np.int64) * n_people + person)
    in_rows = np.bincount(seen // n_people, minlength=len(labels))
    people = in_rows.copy()
    inside = release.assignment["flow"].to_numpy(np.int64)[od.row_pair] >= 0
    order = np.argsort(od.origin[inside], kind="stable")
    tile, who = od.origin[inside][order], od.person[inside][order]
    node = pd.Index(tree.label, dtype="str").get_indexer(pd.Index(labels, dtype="str"))
    for area in np.flatnonzero(node >= 0):
        first, end = np.searchsorted(tile, (tree.tile_start[node[area]], tree.tile_end[node[area]]))
        people[area] = len(pd.unique(who[first:end]))
    return people, in_rows


def implied_small_share(
    release: Release, origins: Hierarchy, destinations: Hierarchy
) -> npt.NDArray[np.float64] | None:
    """By flow: the share of its trips that must lie in parts below k, for whoever knows the multiplier lambda.

    Where one side is fixed, a flow is published at a node of the other and not at its children only if (|o| + |d|) v is at most the
    children's cost, in which trips below k cost lambda each. With m = the fixed side + the largest child's tiles, at least
    (|o| + |d| - m) / (lambda - m) of the trips are below k: a small multiplier tells much. The lattice could split either side, so
    the larger of both shares holds; where it counts the loss, a trip below k costs (1 + lambda) / w tiles, and splitting is taken to lose no
    more than not splitting. Rests are no choice and tell 0. None without a multiplier, or where all flows share their areas and none is split by itself.
    """
    trees = {"destination": destinations, "origin": origins}
    direction, said = release.metrics.get("direction"), release.metrics
    free = {"origin-first": ["destination"], "destination-first": ["origin"]}
    sides = list(trees) if "objective" in release.parameters else free.get(str(direction), [])  # both of the lattice
    if "lambda" not in said or not sides:
        return None
    price = said.get("tile_price")
    multiplier = said["lambda"] if price is None else (1 + said["lambda"]) / price if price else np.inf
    chosen = release.flows["kind"].to_numpy() == "flow" if "kind" in release.flows else True
    return np.where(chosen, np.max([_told_by(release, side, trees[side], multiplier) for side in sides], axis=0), 0.0)


def _told_by(release: Release, side: str, tree: Hierarchy, multiplier: float) -> npt.NDArray[np.float64]:
    """The share that follows from one side not having been split."""
    largest = np.zeros(len(tree), dtype=np.int64)
    np.maximum.at(largest, tree.parent[:-1], tree.n_tiles[:-1])
    node_of = pd.Series(largest, index=pd.Index(tree.label, dtype="str"))
    child = release.flows[side].astype("str").map(node_of).fillna(0).to_numpy(np.int64)
    tiles = release.flows["origin_tiles"].to_numpy() + release.flows["destination_tiles"].to_numpy()
    gain = release.flows[f"{side}_tiles"].to_numpy() - child
    room = multiplier - (tiles - gain)
    share = np.where(room > gain, gain / np.where(room > gain, room, 1), 1.0)
    return np.where(child > 0, share, 0.0)
