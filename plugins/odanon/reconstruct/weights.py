"""The weights that a release is published with, and the `spread` of its rows under them.

Zones that one side of a time bin uses lie inside each other; what lies in no other one is a zone's own part. Its weight says how much
of all that leaves (or enters) the map is likely to be there, `fitted` to the published rows alone (`odanon.reconstruct.fitted`).
Nothing else comes in, so the table tells nothing that rows and zones do not. Weights by tile, for `prior`, are a table of their own
(`odanon.reconstruct.prior`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from odanon.model.hierarchy import Hierarchy
from odanon.model.window import Times
from odanon.reconstruct.even import Places
from odanon.reconstruct.fitted import fitted_weights
from odanon.reconstruct.nested import Floats, Ints, Nested
from odanon.reconstruct.readings import FITTED, PRIOR, SIDES, WEIGHT_COLUMNS


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weights of the zones of a release (WEIGHT_COLUMNS), and by reading the `spread` of each of its rows."""

    table: pd.DataFrame
    spread: Mapping[str, Floats]


def no_weights() -> pd.DataFrame:
    """The table of a release that is read evenly only."""
    kinds = {"time_bin": "datetime64[us, UTC]", "weight": "float64"}
    return pd.DataFrame({name: pd.Series(dtype=kinds.get(name, "str")) for name in WEIGHT_COLUMNS})


def weigh(
    flows: pd.DataFrame,
    zones: pd.DataFrame,
    tree: Hierarchy,
    prior: pd.DataFrame | None = None,
    times: Times | None = None,
) -> Weighted:
    """All weights of public rows; none where an area is no zone of the tree, as a box is not.

    A release in time, whose bins are `times`, has no fitted ones. `flows` has time_start, time_end, origin_zone, destination_zone, kind and trips; `zones` has zone_id and n_tiles, inner zones first, as
    nodes of the tree come. `prior` holds the public weight of whole zones (`readings.zone_weights`).
    """
    if not zones["zone_id"].isin(tree.label).all():
        return Weighted(no_weights(), {})
    places = Places.of(flows, tree, times)
    tables: list[pd.DataFrame] = []
    spread: dict[str, Floats] = {}
    if times is None:
        whole = np.zeros(len(places.first))
        for part in _bins(places, zones, tree):
            leave, enter = part.fitted()
            whole[part.rows] = part.nested[0].total(leave)[part.ends[0]] * part.nested[1].total(enter)[part.ends[1]]
            tables.append(part.table(FITTED, (leave, enter)))
        spread[FITTED] = places.spread(whole)
    told = pd.concat(tables, ignore_index=True) if tables else no_weights()
    if prior is not None:
        ends = (prior.loc[places.cells[f"{side}_zone"].astype("str"), side].to_numpy() for side in SIDES)
        spread[PRIOR] = places.spread(np.multiply(*ends))
    return Weighted(told, spread)


@dataclass(frozen=True, eq=False)
class _Bin:
    """The places of a time bin over the zones of both sides, inner ones first."""

    time_bin: Any
    kind: Any  # of time bins
    rows: Ints  # places
    ids: tuple[pd.Series, pd.Series]
    nested: tuple[Nested, Nested]
    ends: tuple[Ints, Ints]  # zones of each place, by number
    trips: Floats
    around: Ints

    def fitted(self) -> tuple[Floats, Floats]:
        return fitted_weights(*self.nested, *self.ends, self.trips, self.around)

    def table(self, reading: str, weights: tuple[Floats, Floats]) -> pd.DataFrame:
        parts = [
            pd.DataFrame(
                {
                    "time_bin": pd.Series([self.time_bin] * len(ids), dtype=self.kind),
                    "reading": reading,
                    "side": side,
                    "zone_id": ids.to_numpy(),
                    "around": pd.array([None if up < 0 else ids.iloc[up] for up in nested.around], dtype="str"),
                    "weight": weight,
                }
            )
            for side, ids, nested, weight in zip(SIDES, self.ids, self.nested, weights, strict=True)
        ]
        told = pd.concat(parts, ignore_index=True)
        return told.astype({"reading": "str", "side": "str"})


def _bins(places: Places, zones: pd.DataFrame, tree: Hierarchy) -> Iterator[_Bin]:
    names = zones["zone_id"].astype("str")
    node = pd.Index(tree.label).get_indexer(pd.Index(names))
    ends = [pd.Index(names).get_indexer(pd.Index(places.cells[f"{side}_zone"].astype("str"))) for side in SIDES]
    code, bins = pd.factorize(places.cells["time_start"], sort=True)
    total = places.total
    for number, time_bin in enumerate(bins):
        rows = np.flatnonzero(code == number)
        used, at = zip(*(np.unique(end[rows], return_inverse=True) for end in ends), strict=True)
        nested = [_nested(tree, node[zone], zones["n_tiles"].to_numpy()[zone]) for zone in used]
        around = places.around[rows]
        yield _Bin(
            time_bin,
            places.cells["time_start"].dtype,
            rows,
            (names.iloc[used[0]], names.iloc[used[1]]),
            (nested[0], nested[1]),
            (at[0].astype(np.int64), at[1].astype(np.int64)),
            total[rows],
            np.where(around >= 0, np.searchsorted(rows, around), -1),
        )


def _nested(tree: Hierarchy, nodes: Ints, tiles: Ints) -> Nested:
    """Zones, inner ones first, as they lie in each other; whatever else the tree holds makes no difference."""
    order = np.argsort(nodes)
    start, end = (side[nodes[order]].astype(np.int64) for side in (tree.tile_start, tree.tile_end))
    up = Nested.of_runs(start, end, tiles[order]).around
    around = np.full(len(nodes), -1, dtype=np.int64)
    around[order] = np.append(order, -1)[up]
    return Nested.of_parents(around, tiles)
