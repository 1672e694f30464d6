"""The candidate rows of many nested origin nodes, kept in memory when they fit and built anew for every use when not."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.atg import kernels
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.anonymizers.trees.arrays import Candidates
from odanon.anonymizers.trees.problem import Problem

CAPACITY = 32_000_000  # candidates kept in memory (12 bytes each); pages are only used as far as they are filled

Sums = npt.NDArray[np.int64]  # (2, rows): published volume K and cost A of each row's best pruning


class RowSet:
    """Rows of the origin nodes `emit`; inner candidates have |o| + |d| < `limit`."""

    def __init__(
        self,
        problem: Problem,
        emit: npt.NDArray[np.bool_],
        limit: int,
        capacity: int = CAPACITY,
    ) -> None:
        self.problem = problem
        self.limit = limit
        tree = problem.origins
        self._tree = kernels.Tree(
            parent=tree.parent,
            children=np.diff(tree.child_start).astype(np.int32),
            size=tree.n_tiles,
            active=tree_kernels.at_or_below(tree.parent, emit),
            emit=emit & problem.fits,
            start=problem.entry_start,
        )
        n_entries = len(problem.entries.key)
        self._capacity = max(capacity, 2 * n_entries)
        self._stack = np.empty((2, 2 * n_entries + 1), dtype=np.int64)
        self._kept: Candidates | None = None
        self.emitted = np.zeros(len(tree), dtype=np.bool_)  # origin nodes with candidates, known after a pass

    def __iter__(self) -> Iterator[tuple[Candidates, int, int]]:
        """(candidates, first origin node, end of origin nodes), once when all rows fit."""
        n_nodes = len(self._tree.parent)
        if self._kept is not None:
            yield self._kept, 0, n_nodes
            return
        problem, work, scratch = self.problem, self._new_work(), self.problem.scratch()
        out = new_candidates(problem, self._capacity, n_nodes)
        begin = 0
        while begin < n_nodes:
            end = kernels.build(
                problem.entries, problem.shift, self._tree, self.limit, problem.side, problem.test, work, scratch, out
            )
            if end - begin == n_nodes:
                self._kept = out
            self.emitted[begin:end] = out.end[begin:end] > out.first[begin:end]
            yield out, begin, end
            begin = end

    def evaluate(self, lambda_: float, left: Sums, right: Sums) -> Sums:
        """(K, A) of the best pruning of every row; rows where `left` and `right` agree are settled."""
        sums = np.zeros((2, len(self._tree.parent)), dtype=np.int64)
        sizes = self._tree.size, self.problem.side.size
        for rows, begin, end in self:
            kernels.evaluate_rows(rows, begin, end, *sizes, lambda_, left, right, sums, self._stack)
        return sums

    def _new_work(self) -> "kernels.Work":
        problem, n_origins = self.problem, len(self._tree.parent)
        return kernels.Work(
            row=problem.room(),
            spare=problem.room(),
            row_start=np.zeros(n_origins + 2, dtype=np.int64),
            swept=np.zeros(n_origins + 2, dtype=np.bool_),
            cursor=np.zeros(3, dtype=np.int64),
        )


def new_candidates(problem: Problem, capacity: int, n_rows: int) -> Candidates:
    """Empty candidate buffers."""
    return Candidates(
        node=np.empty(capacity, dtype=np.int32),
        volume=np.empty(capacity, dtype=problem.entries.volume.dtype),
        below=np.empty(capacity, dtype=np.int32),
        first=np.zeros(n_rows, dtype=np.int64),
        end=np.zeros(n_rows, dtype=np.int64),
    )


def unsettled(n_rows: int) -> tuple[Sums, Sums]:
    """A left and a right that agree nowhere."""
    return np.full((2, n_rows), -1, dtype=np.int64), np.full((2, n_rows), -2, dtype=np.int64)
