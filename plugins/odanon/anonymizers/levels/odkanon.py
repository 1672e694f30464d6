"""ODkAnon: greedy merging of small neighbouring areas on two trees after a pre-filter (002 chapter 3; 004 section 3).

The published algorithm looks at the whole matrix before every merge. It need not: the total of a sibling group is the
volume below its parent, which never changes, and a parent comes after its children both by total and by node id, so
each side merges its nodes in plain order of (total, id); the choice of the side reads the two numbers of areas only.
The sequence of merges is thus known beforehand, cells only ever join, and bisection finds the first step at which every
cell reaches k.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.trees import kernels
from odanon.anonymizers.trees.cells import Cells
from odanon.anonymizers.trees.groups import publishable
from odanon.anonymizers.trees.limits import large_enough, lift, trips_below
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.steps import cut_at
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

_TOLERANCE_PERCENT = 3  # deviation of origins/destinations from its first value that is not corrected
_NEVER = np.iinfo(np.int64).max


@plugin
class OdkAnon(Anonymizer):
    """Merges the smallest sibling areas, origins and destinations in turn, until every flow reaches k.

    One partition of origins and one of destinations. The pre-filter's budget counts rows of the matrix, as
    published; then `suppression` bounds their share and not that of the trips, unless `budget_counts` is trips.
    Filtered pairs stay suppressed, inside the areas of published flows too. `min_tiles` and `k_areas` are where merging
    starts, `max_tiles` where it stops; `max_dominance` is refused, since joining flows may break it, and so is
    `report_small`, since nothing but filtered pairs is left out.
    """

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS - {"max_dominance", "report_small"}
    why_not: ClassVar[str] = (
        "odkanon joins flows until they reach k, whoever dominates them, and leaves out what it filtered before"
    )
    leaves_out: ClassVar[bool] = True

    levels: int = parameter(3, "levels above the tiles at which the pre-filter asks whether a pair reaches k", ge=0)
    budget_counts: Literal["rows", "trips"] = parameter(
        "rows", "what the pre-filter may remove a share of: rows (tile pairs, as published) or trips"
    )

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Filter, merge until all flows left reach k, publish every cell of what is left."""

        problem = Problem.checked(od, origins, destinations, self)
        hopeless, removed = prefilter(od, origins, destinations, self)
        left = without_pairs(od, removed)
        sides = [
            Side.grow(tree, trips_below(tree, tile, left.trips), large_enough(tree, of_all, od, self), self.max_tiles)
            for tree, tile, of_all in (
                (origins, left.origin, od.origin),
                (destinations, left.destination, od.destination),
            )
        ]
        merged = merges_by_step(*(side.n_areas for side in sides))
        remaining = Problem(left, origins, destinations, self)

        def cells(step: int) -> Cells:
            return Cells(remaining, *(side.areas(n) for side, n in zip(sides, merged[step], strict=True)))

        step = bisect_left(range(len(merged)), True, key=lambda step: cells(step).left_out(0) == 0)
        if step == len(merged):
            raise OdanonError(
                "odkanon did not reach k with everything merged that may be merged;"
                " lower k or suppression, raise max_tiles, or use a longer window"
            )
        figures = {
            "merges": step,
            "hopeless_pairs": int(hopeless.sum()),
            "filtered_pairs": int(removed.sum()),
            "pairs_beyond_budget": int((hopeless & ~removed).sum()),
        }
        found = cells(step).solution(figures)
        nodes = np.full((2, len(removed)), -1, dtype=np.int64)
        nodes[:, ~removed] = found.pair_origin, found.pair_destination
        whole = replace(found, problem=problem, pair_origin=nodes[0], pair_destination=nodes[1])
        return whole.release("odkanon")


def prefilter(
    od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, promise: OdkAnon
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Pairs that do not reach k even `levels` above the tiles, and those of them that the budget removes (Algorithm 1).

    Pairs that are one group at a level are one group at all coarser levels, so the coarsest decides alone.
    """
    pairs = od.pairs
    up = [_ancestors(tree, promise.levels) for tree in (origins, destinations)]
    key = up[0][pairs.origin].astype(np.int64) * len(destinations) + up[1][pairs.destination]
    group, groups = pd.factorize(key)
    hopeless = ~publishable(od, group, len(groups), promise)[group]
    smallest = np.flatnonzero(hopeless)
    smallest = smallest[np.argsort(pairs.trips[smallest], kind="stable")]
    if promise.budget_counts == "rows":
        n = int(Fraction(str(promise.suppression)) * len(pairs.trips))
    else:
        n = int(np.searchsorted(np.cumsum(pairs.trips[smallest]), promise.budget(od.volume), side="right"))
    removed = np.zeros(len(hopeless), dtype=np.bool_)
    removed[smallest[:n]] = True
    return hopeless, removed


def without_pairs(od: ODMatrix, removed: npt.NDArray[np.bool_]) -> ODMatrix:
    """The matrix without some of its pairs."""
    keep = ~removed[od.row_pair]
    return ODMatrix(
        origin=od.origin[keep],
        destination=od.destination[keep],
        trips=od.trips[keep],
        person=None if od.person is None else od.person[keep],
        weight=None if od.weight is None else od.weight[keep],
    )


@dataclass(frozen=True, eq=False)
class Side:
    """One tree over the tiles that are left, up to their finest common ancestor (Algorithm 2), and its merges in order."""

    tree: Hierarchy
    steps: npt.NDArray[np.int64]  # the merge that makes each node an area: 0 for the first areas, _NEVER outside
    n_areas: list[int]  # areas after every number of merges

    @classmethod
    def grow(
        cls, tree: Hierarchy, total: npt.NDArray[np.int64], enough: npt.NDArray[np.bool_], max_tiles: int | None
    ) -> "Side":
        """`total` is the volume of every node, those without any are not in the tree; areas are `enough` at once."""

        first = np.zeros(len(tree), dtype=np.bool_)
        first[lift(tree, enough)[tree.tiles[total[tree.tiles] > 0]]] = True
        areas = kernels.topmost(tree.parent, first)
        inner = (total > 0) & ~kernels.at_or_below(tree.parent, first)
        inner &= tree.is_ancestor(_common_ancestor(tree, areas), np.arange(len(tree)))
        inner &= tree.n_tiles <= (max_tiles or _NEVER)
        nodes = np.flatnonzero(inner)
        order = nodes[np.argsort(total[nodes], kind="stable")]
        steps = np.full(len(tree), _NEVER)
        steps[areas] = 0
        steps[order] = np.arange(1, len(order) + 1)
        members = np.concatenate([areas, nodes])
        joined = np.bincount(tree.parent[members[members != tree.root]], minlength=len(tree))[order]
        return cls(tree, steps, (len(areas) - np.cumsum(np.append(0, joined - 1))).tolist())

    def areas(self, merges: int) -> npt.NDArray[np.int64]:
        """The areas after a number of merges."""
        return cut_at(self.tree, self.steps, merges)


def merges_by_step(origins: list[int], destinations: list[int]) -> list[tuple[int, int]]:
    """Merges of each side done after every step (Algorithm 3), given the number of areas after each of its merges.

    The side that has grown more than 3 % out of proportion is merged, else the two alternate, origins first; a side that
    is all merged leaves its turns to the other.
    """
    o, d = 0, 0
    done = [(0, 0)]
    while o + d < len(origins) + len(destinations) - 2:
        surplus = origins[o] * destinations[0] - origins[0] * destinations[d]  # of the ratio, without division
        if 100 * abs(surplus) > _TOLERANCE_PERCENT * origins[0] * destinations[d]:
            by_origin = surplus > 0
        else:
            by_origin = (o + d) % 2 == 0
        if (by_origin and o < len(origins) - 1) or d == len(destinations) - 1:
            o += 1
        else:
            d += 1
        done.append((o, d))
    return done


def _ancestors(tree: Hierarchy, levels: int) -> npt.NDArray[np.int32]:
    """The ancestor of every tile so many levels up, at most the root."""
    up = tree.tiles
    for _ in range(levels):
        up = np.where(up == tree.root, up, tree.parent[up])
    return up


def _common_ancestor(tree: Hierarchy, areas: npt.NDArray[np.int64]) -> int:
    if len(areas) == 1:
        return int(areas[0])
    return int(tree.next_lca[tree.tile_start[areas[0]] : tree.tile_end[areas[-1]] - 1].max())
