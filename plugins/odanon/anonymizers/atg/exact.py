"""The joint problem solved exactly, without a multiplier, for matrices small enough (kernels.knapsack).

A Lagrangian solution is the best one for the trips it suppresses, but where few flows are published (an hour, a village)
these can be far fewer than allowed. Trying every way to spend the budget costs about volume times budget.
"""

from typing import Any

import numpy as np

from odanon.anonymizers.atg import kernels
from odanon.anonymizers.atg.forest import Forest
from odanon.anonymizers.atg.rows import RowSet
from odanon.anonymizers.trees.arrays import Candidates
from odanon.anonymizers.trees.cells import joins_keep_promise
from odanon.anonymizers.trees.problem import Problem
from odanon.anonymizers.trees.solution import Solution

_LARGEST_WORK = 50_000_000  # volume times budget
_LARGEST_EFFORT = 500_000_000  # table entries looked at: deep trees have many small tables
_POOL = 16_000_000  # numbers in each pool; pages are only used as far as they are filled


def is_small(problem: Problem) -> bool:
    """Whether trying every split of the budget is cheap (and nothing publishable is lost by joining)."""
    return joins_keep_promise(problem) and problem.volume * (problem.volume - problem.least) <= _LARGEST_WORK


def solve_exactly(problem: Problem, all_rows: RowSet, figures: dict[str, Any]) -> Solution | None:
    """The release with the least Gbar within the budget; None if it takes too much room or time after all.

    `all_rows` are the rows of every origin node, with candidates of any size.
    """
    tree = problem.origins
    rows, _, end = next(iter(all_rows))
    if end < len(tree):  # not all rows fit in memory at once
        return None
    n = int(rows.end[-1])
    rows = Candidates(rows.node[:n], rows.volume[:n], rows.below[:n], rows.first, rows.end)
    running = np.concatenate([[0], np.cumsum(problem.emitted)])
    emitted = running[tree.tile_end] - running[tree.tile_start]
    sizes, budget = (tree.n_tiles, problem.destinations.n_tiles), problem.volume - problem.least
    tables = _new_tables(n, len(tree))
    if not kernels.tabulate(rows, np.diff(tree.child_start), emitted, *sizes, budget, tables):
        return None
    cost = tables.cost[: tables.stack[1, 0]]
    possible = np.flatnonzero(cost < kernels.NEVER)
    if len(possible) == 0:
        return None
    trips = possible[np.argmin(cost[possible] / (problem.volume - possible))]
    start, published = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    kernels.subtree_start(rows, start, np.empty((2, n + 1), dtype=np.int64))
    areas = kernels.trace(rows, tree.child_start, tree.children, emitted, trips, tables, start, published)
    of_areas = Candidates(rows.node, rows.volume, rows.below, rows.first[areas], rows.end[areas])
    return Forest(problem, areas, of_areas).solution(published, figures)


def _new_tables(n_candidates: int, n_nodes: int) -> "kernels.Tables":
    n_items = n_candidates + n_nodes
    return kernels.Tables(
        cost=np.empty(_POOL, dtype=np.int64),
        stack=np.zeros((3, n_items + 1), dtype=np.int64),
        share=np.empty(_POOL, dtype=np.int32),
        share_at=np.empty(n_items, dtype=np.int64),
        share_length=np.empty(n_items, dtype=np.int64),
        split_from=np.empty(n_candidates, dtype=np.int64),
        effort=np.array([_LARGEST_EFFORT], dtype=np.int64),
        row_at=np.empty(n_nodes, dtype=np.int64),
        row_length=np.empty(n_nodes, dtype=np.int64),
    )
