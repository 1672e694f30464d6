"""What an anonymiser returns: published flows, where every input pair went, and the parameters used."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import WEIGHT_UNIT, ODMatrix

TOTAL = "all"  # the segment of everybody
FLOW, REST = KINDS = ("flow", "rest")
_STEPS = np.array([digit * 10**zeros for zeros in range(13) for digit in (1, 2, 5)])


@dataclass(frozen=True, eq=False)
class Release:
    """A set of generalised flows and rests; each tile pair belongs to at most one.

    `flows` has one row per published flow or rest: origin, destination (area labels), kind, trips, persons (NA without
    ids), weight (when given; rounded), origin_tiles, destination_tiles. A rest counts the trips between its areas that no
    finer row counts: rows are disjoint as products, or one lies inside the other and the outer one is a rest.
    `assignment` has one row per input pair: origin, destination (tile labels), trips, flow (row number in `flows`: the
    innermost row that holds the pair; -1 = suppressed). Of a matrix with times both also have a `time`, the label of an interval
    of `times` and of a bin: rows are then products of two areas and an interval, and pairs of two tiles and a bin.
    """

    flows: pd.DataFrame
    assignment: pd.DataFrame
    origins: Areas
    destinations: Areas
    parameters: dict[str, Any]
    metrics: dict[str, Any] = field(default_factory=dict)
    times: Areas | None = None  # the intervals that flows name

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
        *,
        pair_rest: npt.NDArray[np.bool_] | None = None,
        pair_time: npt.NDArray[np.integer] | None = None,
        contribution_cap: int | None = None,
        extra_origins: Areas | None = None,
        extra_destinations: Areas | None = None,
    ) -> "Release":
        """Assemble from the tree nodes that each input pair is published at (-1 = suppressed).

        `pair_rest` marks the pairs that are counted in a rest there; two nodes have a flow or a rest, never both. `pair_time` are
        the intervals, for a matrix with times. Flows are ordered by (origin node, destination node, interval); people are counted from the person-level rows.
        Node numbers from the size of a tree on stand for its extra areas, which are not nodes. With a
        `contribution_cap` a flow's trips count each person's up to the cap; the rest is metric `capped_trips`.
        The metrics G, Gbar (of flows, rests apart), S (trips) and S_share are added to the given ones.
        """
        n_destinations = len(destinations) + (len(extra_destinations.label) if extra_destinations else 0)
        kept = np.flatnonzero(pair_origin >= 0)
        key = pair_origin[kept].astype(np.int64) * n_destinations + pair_destination[kept]
        intervals = None
        if pair_time is not None:
            assert od.times is not None
            intervals = od.times.tree
            key = key * len(intervals) + pair_time[kept]
        flow_keys, flow_of_kept = _sorted_codes(key)
        times = None if intervals is None else _coded_areas(intervals, flow_keys % len(intervals))
        if intervals is not None:
            flow_keys = flow_keys // len(intervals)
        pair_flow = np.full(len(pair_origin), -1, dtype=np.int64)
        pair_flow[kept] = flow_of_kept
        o_nodes, o_code = np.unique(flow_keys // n_destinations, return_inverse=True)
        d_nodes, d_code = np.unique(flow_keys % n_destinations, return_inverse=True)
        o_areas = _areas_of(origins, o_nodes, extra_origins)
        d_areas = _areas_of(destinations, d_nodes, extra_destinations)
        rest = _rests(flow_of_kept, None if pair_rest is None else pair_rest[kept], len(flow_keys))
        trips = np.zeros(len(flow_keys), dtype=np.int64)
        np.add.at(trips, flow_of_kept, od.pairs.trips[kept])
        counted = trips if contribution_cap is None else _capped_trips(od, pair_flow, len(trips), contribution_cap)
        figures = _generalisation(trips, rest, o_areas.n_tiles[o_code] + d_areas.n_tiles[d_code], od.volume)
        if contribution_cap is not None:
            figures["capped_trips"] = int((trips - counted).sum())
        return cls(
            flows=_flow_table(od, pair_flow, rest, counted, (o_areas, o_code), (d_areas, d_code), times),
            assignment=assignment_table(od, origins, destinations, pair_flow),
            origins=o_areas,
            destinations=d_areas,
            parameters=parameters,
            metrics={**figures, **(metrics or {})},
            times=None if times is None else times[0],
        )


def _coded_areas(tree: Hierarchy, node: npt.NDArray[np.int64]) -> tuple[Areas, npt.NDArray]:
    """The areas of some nodes, and the area of each."""
    nodes, code = np.unique(node, return_inverse=True)
    return Areas.from_nodes(tree, nodes), code


def _rests(flow: npt.NDArray[np.int64], marked: npt.NDArray[np.bool_] | None, n_flows: int) -> npt.NDArray[np.bool_]:
    """Which rows are rests, from the row and the mark of every pair."""
    rest = np.zeros(n_flows, dtype=np.bool_)
    if marked is not None:
        rest[flow[marked]] = True
        if rest[flow[~marked]].any():
            raise OdanonError("a release counts the same two areas as a flow and as a rest; make them one row")
    return rest


def kinds(rest: npt.NDArray[np.bool_]) -> pd.Categorical:
    """The column `kind` from which rows are rests."""
    return pd.Categorical.from_codes(rest.astype(np.int8), categories=pd.Index(KINDS, dtype="str"))


def _generalisation(
    trips: npt.NDArray[np.int64], rest: npt.NDArray[np.bool_], tiles: npt.NDArray[np.int64], volume: int
) -> dict[str, float | int]:
    """G and Gbar of flows and S (ALGORITHMS, Costs), before any cap on contributions."""
    published, in_flows, G = int(trips.sum()), int(trips[~rest].sum()), int((trips * tiles)[~rest].sum())
    return {
        "G": G,
        "Gbar": G / in_flows if in_flows else float("nan"),
        "S": volume - published,
        "S_share": (volume - published) / volume if volume else 0.0,
    }


def _sorted_codes(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """`np.unique` with inverse for many repetitions: hash first, sort only what is distinct."""
    codes, distinct = pd.factorize(keys)
    order = np.argsort(distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[codes]


def _areas_of(tree: Hierarchy, nodes: npt.NDArray[np.int64], extra: Areas | None) -> Areas:
    inside = nodes[nodes < len(tree)]
    areas = Areas.from_nodes(tree, inside)
    return areas if extra is None else areas.followed_by(extra.take(nodes[len(inside) :] - len(tree)))


def _categories(codes: npt.NDArray, labels: npt.NDArray[np.object_]) -> pd.Categorical:
    """Labels by code without one Python string per row."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype="str"))


def _flow_table(
    od: ODMatrix,
    pair_flow: npt.NDArray[np.int64],
    rest: npt.NDArray[np.bool_],
    trips: npt.NDArray[np.int64],
    origin: tuple[Areas, npt.NDArray],
    destination: tuple[Areas, npt.NDArray],
    time: tuple[Areas, npt.NDArray] | None,
) -> pd.DataFrame:
    table = {
        "origin": _categories(origin[1], origin[0].label),
        "destination": _categories(destination[1], destination[0].label),
        **({} if time is None else {"time": _categories(time[1], time[0].label)}),
        "kind": kinds(rest),
        "trips": trips,
        "persons": _distinct_people(od, pair_flow, len(trips)),
        "origin_tiles": origin[0].n_tiles[origin[1]],
        "destination_tiles": destination[0].n_tiles[destination[1]],
    }
    if od.weight is not None:
        table["weight"] = estimates(od, pair_flow, len(trips))
    return pd.DataFrame(table)


def estimates(od: ODMatrix, pair_flow: npt.NDArray[np.int64], n_flows: int) -> npt.NDArray[np.float64]:
    """The weight of every flow, rounded so that nobody's weight can be read off (PRIVACY rule 20).

    It is a multiple of a step: 1, 2 or 5 times a power of ten, at least as large as what any one person weighs in the
    flow, or any row where nobody has an id. No flow is told as nothing.
    """
    row_flow = pair_flow if od.person is None else pair_flow[od.row_pair]
    kept = np.flatnonzero(row_flow >= 0)
    person = kept if od.person is None else od.person[kept]
    n_people = int(person.max(initial=0)) + 1
    code, seen = pd.factorize(row_flow[kept] * n_people + person)
    mine, total, heaviest = (np.zeros(n, dtype=np.int64) for n in (len(seen), n_flows, n_flows))
    np.add.at(mine, code, od.weight_units[kept])
    np.add.at(total, seen // n_people, mine)
    np.maximum.at(heaviest, seen // n_people, mine)
    step = _STEPS[np.searchsorted(_STEPS * WEIGHT_UNIT, heaviest)]
    width = step * WEIGHT_UNIT
    return np.maximum((total + width // 2) // width * step, step).astype(np.float64)


def _distinct_people(od: ODMatrix, pair_flow: npt.NDArray[np.int64], n_flows: int) -> pd.arrays.IntegerArray:
    """The size of the union of the people behind each flow."""
    if od.person is None:
        return pd.arrays.IntegerArray(np.ones(n_flows, dtype=np.int64), np.ones(n_flows, dtype=np.bool_))
    row_flow = pair_flow[od.row_pair]
    kept = row_flow >= 0
    n_people = int(od.person.max(initial=0)) + 1
    seen = pd.unique(row_flow[kept] * n_people + od.person[kept])
    counts = np.bincount(seen // n_people, minlength=n_flows)
    return pd.arrays.IntegerArray(counts, np.zeros(n_flows, dtype=np.bool_))


def _capped_trips(od: ODMatrix, pair_flow: npt.NDArray[np.int64], n_flows: int, cap: int) -> npt.NDArray[np.int64]:
    """Trips of each flow when nobody counts for more than `cap` of them."""
    assert od.person is not None  # a cap is refused without ids
    row_flow = pair_flow[od.row_pair]
    kept = row_flow >= 0
    n_people = int(od.person.max(initial=0)) + 1
    code, seen = pd.factorize(row_flow[kept] * n_people + od.person[kept])
    by_person = np.zeros(len(seen), dtype=np.int64)
    np.add.at(by_person, code, od.trips[kept])
    trips = np.zeros(n_flows, dtype=np.int64)
    np.add.at(trips, seen // n_people, np.minimum(by_person, cap))
    return trips


def assignment_table(
    od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, pair_flow: npt.NDArray[np.int64]
) -> pd.DataFrame:
    """The pairs of a matrix in their order, each with its flow."""
    pairs, time = od.pairs, {}
    if pairs.time is not None and od.times is not None:
        time["time"] = _categories(pairs.time, od.times.tree.label[od.times.tree.tiles])
    return pd.DataFrame(
        {
            "origin": _categories(pairs.origin, origins.label[origins.tiles]),
            "destination": _categories(pairs.destination, destinations.label[destinations.tiles]),
            **time,
            "trips": od.pairs.trips,
            "flow": pair_flow,
        }
    )
