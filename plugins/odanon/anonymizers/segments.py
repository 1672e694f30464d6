"""Joint release of segments: sex, age or occupation side by side, so that no difference shows anybody (PRIVACY rule 6).

A flow is split only where every segment keeps the promise or is empty; the other flows stay whole. Each flow appears
split or whole and never as both, so that nothing can be subtracted from anything.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.trees.groups import publishable
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import TOTAL, Release, estimates


def split_by_segment(
    whole: Release,
    matrices: Mapping[str, ODMatrix],
    promise: Promise,
    origins: Hierarchy,
    destinations: Hierarchy,
) -> dict[str, Release]:
    """A release for each segment and, under `all`, the flows that stay whole.

    `whole` is a release of everybody, `matrices` the same people by segment, such as `sex=F` and `sex=M`.
    """
    if TOTAL in matrices:
        raise OdanonError(f"a segment is called {TOTAL!r}, which stands for everybody; give it another name")
    numbers = {name: _pair_flow(whole, od, origins, destinations) for name, od in matrices.items()}
    n_flows = len(whole.flows)
    split = np.ones(n_flows, dtype=bool)
    for name, od in matrices.items():
        shown = numbers[name] >= 0
        empty = np.bincount(numbers[name][shown], minlength=n_flows) == 0
        split &= empty | publishable(od, numbers[name], n_flows, promise)
    made = {name: _part(whole, od, numbers[name], split, promise) for name, od in matrices.items()}
    return {**made, TOTAL: _only(whole, ~split)}


def _pair_flow(whole: Release, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> npt.NDArray[np.int64]:
    """The flow of the whole release that every tile pair of a segment counts in, -1 = suppressed."""
    told = whole.assignment
    width = destinations.n_leaves
    key = origins.ranks(told["origin"]).astype(np.int64) * width + destinations.ranks(told["destination"])
    at = pd.Index(key).get_indexer(od.pairs.origin.astype(np.int64) * width + od.pairs.destination)
    if (at < 0).any():
        raise OdanonError("a segment has tile pairs that the whole matrix lacks; split the rows that were released")
    return told["flow"].to_numpy(np.int64)[at]


def _part(
    whole: Release, od: ODMatrix, number: npt.NDArray[np.int64], split: npt.NDArray[np.bool_], promise: Promise
) -> Release:
    """The segment's share of the flows that are split."""
    pairs = od.pairs
    flow = np.where(np.append(split, False)[number], number, -1)  # the last for pairs without a flow
    present, code = np.unique(flow[flow >= 0], return_inverse=True)
    pair_flow = np.full(len(flow), -1, dtype=np.int64)
    pair_flow[flow >= 0] = code
    flows = whole.flows.iloc[present].reset_index(drop=True)
    counts = _counts(od, pair_flow, len(present), promise.contribution_cap)
    labels = {
        "origin": whole.assignment["origin"].cat.categories,
        "destination": whole.assignment["destination"].cat.categories,
    }
    assignment = pd.DataFrame(
        {
            "origin": pd.Categorical.from_codes(pairs.origin, labels["origin"]),
            "destination": pd.Categorical.from_codes(pairs.destination, labels["destination"]),
            "trips": pairs.trips,
            "flow": pair_flow,
        }
    )
    return replace(whole, flows=flows.assign(**counts), assignment=assignment, metrics={})


def _counts(
    od: ODMatrix, pair_flow: npt.NDArray[np.int64], n_flows: int, cap: int | None
) -> dict[str, npt.NDArray | pd.arrays.IntegerArray]:
    """Trips, people and weight of every flow."""
    row_flow = pair_flow[od.row_pair] if od.person is not None else pair_flow
    inside = row_flow >= 0
    counts: dict[str, npt.NDArray | pd.arrays.IntegerArray] = {}
    if od.weight is not None:
        counts["weight"] = estimates(od, pair_flow, n_flows)
    if od.person is None:
        return {**counts, "trips": np.bincount(row_flow[inside], od.trips[inside], n_flows).astype(np.int64)}
    n_people = int(od.person.max(initial=0)) + 1
    code, seen = pd.factorize(row_flow[inside] * n_people + od.person[inside])
    mine = np.bincount(code, od.trips[inside], len(seen))
    owner = seen // n_people
    persons = np.bincount(owner, minlength=n_flows)
    return {
        **counts,
        "trips": np.bincount(owner, np.minimum(mine, cap or np.inf), n_flows).astype(np.int64),
        "persons": pd.arrays.IntegerArray(persons, np.zeros(n_flows, dtype=np.bool_)),
    }


def _only(whole: Release, kept: npt.NDArray[np.bool_]) -> Release:
    """The release with some of its flows; the others count as suppressed."""
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return replace(
        whole,
        flows=whole.flows[kept].reset_index(drop=True),
        assignment=whole.assignment.assign(flow=number[whole.assignment["flow"].to_numpy(np.int64)]),
        metrics={},
    )
