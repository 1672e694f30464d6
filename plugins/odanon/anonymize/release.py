"""What an anonymiser returns: published flows, where every input pair went, and the parameters used."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymize.matrix import ODMatrix
from odanon.hierarchy.tree import Hierarchy


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of one side of a release and the tiles (ranks) each one covers.

    The tiles of area `a` are `members[start[a]:start[a + 1]]`. `n_tiles` may be larger than their number when
    the hierarchy counts tiles without traffic (coverage `full`).
    """

    label: npt.NDArray[np.object_]
    n_tiles: npt.NDArray[np.int64]
    level: npt.NDArray[np.int16]
    start: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]

    @classmethod
    def from_nodes(cls, tree: Hierarchy, nodes: npt.NDArray[np.integer]) -> "Areas":
        """Areas that are nodes of a hierarchy."""
        first, end = tree.tile_start[nodes], tree.tile_end[nodes]
        start = np.concatenate([[0], np.cumsum(end - first)]).astype(np.int64)
        members = np.arange(start[-1]) - np.repeat(start[:-1] - first, end - first)
        return cls(tree.label[nodes], tree.n_tiles[nodes], tree.level[nodes], start, members.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Release:
    """A set of generalised flows; each tile pair is covered by at most one.

    `flows` has one row per published flow: origin, destination (area labels), trips, persons (NA without ids),
    weight (when given), origin_tiles, destination_tiles. `assignment` has one row per input pair: origin,
    destination (tile labels), trips, flow (row number in `flows`, -1 = suppressed).
    """

    flows: pd.DataFrame
    assignment: pd.DataFrame
    origins: Areas
    destinations: Areas
    parameters: dict[str, Any]
    metrics: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_nodes(
        cls,
        od: ODMatrix,
        origins: Hierarchy,
        destinations: Hierarchy,
        pair_origin: npt.NDArray[np.integer],
        pair_destination: npt.NDArray[np.integer],
        parameters: dict[str, Any],
        metrics: dict[str, Any] | None = None,
    ) -> "Release":
        """Assemble from the tree nodes that each input pair is published at (-1 = suppressed).

        Flows are ordered by (origin node, destination node); people are counted from the person-level rows.
        """
        kept = np.flatnonzero(pair_origin >= 0)
        key = pair_origin[kept].astype(np.int64) * len(destinations) + pair_destination[kept]
        flow_keys, flow_of_kept = np.unique(key, return_inverse=True)
        pair_flow = np.full(len(pair_origin), -1, dtype=np.int64)
        pair_flow[kept] = flow_of_kept
        o_nodes, o_code = np.unique(flow_keys // len(destinations), return_inverse=True)
        d_nodes, d_code = np.unique(flow_keys % len(destinations), return_inverse=True)
        o_areas, d_areas = Areas.from_nodes(origins, o_nodes), Areas.from_nodes(destinations, d_nodes)
        return cls(
            flows=_flow_table(od, pair_flow, len(flow_keys), (o_areas, o_code), (d_areas, d_code)),
            assignment=_assignment_table(od, origins, destinations, pair_flow),
            origins=o_areas,
            destinations=d_areas,
            parameters=parameters,
            metrics=metrics or {},
        )


def _categories(codes: npt.NDArray, labels: npt.NDArray[np.object_]) -> pd.Categorical:
    """Labels by code without one Python string per row."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype="str"))


def _flow_table(
    od: ODMatrix,
    pair_flow: npt.NDArray[np.int64],
    n_flows: int,
    origin: tuple[Areas, npt.NDArray],
    destination: tuple[Areas, npt.NDArray],
) -> pd.DataFrame:
    published = pair_flow >= 0
    trips = np.zeros(n_flows, dtype=np.int64)
    np.add.at(trips, pair_flow[published], od.pairs.trips[published])
    table = {
        "origin": _categories(origin[1], origin[0].label),
        "destination": _categories(destination[1], destination[0].label),
        "trips": trips,
        "persons": pd.array(_distinct_people(od, pair_flow, n_flows), dtype="Int64"),
        "origin_tiles": origin[0].n_tiles[origin[1]],
        "destination_tiles": destination[0].n_tiles[destination[1]],
    }
    if od.pairs.weight is not None:
        weights = np.bincount(pair_flow[published], od.pairs.weight[published], minlength=n_flows)
        table["weight"] = weights
    return pd.DataFrame(table)


def _distinct_people(od: ODMatrix, pair_flow: npt.NDArray[np.int64], n_flows: int) -> npt.NDArray | list[Any]:
    """The size of the union of the people behind each flow."""
    if od.person is None:
        return [pd.NA] * n_flows
    row_flow = pair_flow[od.row_pair]
    kept = row_flow >= 0
    n_people = int(od.person.max(initial=0)) + 1
    seen = np.unique(row_flow[kept] * n_people + od.person[kept])
    return np.bincount(seen // n_people, minlength=n_flows)


def _assignment_table(
    od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, pair_flow: npt.NDArray[np.int64]
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "origin": _categories(od.pairs.origin, origins.label[origins.tiles]),
            "destination": _categories(od.pairs.destination, destinations.label[destinations.tiles]),
            "trips": od.pairs.trips,
            "flow": pair_flow,
        }
    )
