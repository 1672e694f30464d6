"""The product nodes of a matrix that have enough units, built on both cores and good for every multiplier up to a limit.

Areas of `limit` tiles and more are in no product node: below a multiplier they are never published. The others are in blocks (A, B)
of the largest areas below the limit on either side, and each block is a problem by itself (ALGORITHMS, ATG-Lattice).
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.arrays import Products, Row
from odanon.anonymizers.lattice.threads import on_threads
from odanon.anonymizers.trees import kernels as tree_kernels
from odanon.anonymizers.trees.limits import large_enough, trips_below
from odanon.anonymizers.trees.problem import Problem
from odanon.errors import OdanonError

Ints = npt.NDArray[np.int64]

_PARTS = 16
_WHOLE_UP_TO = 20_000  # entries: smaller matrices are one part
_FIRST_ROOM = 1 << 16  # product nodes
_MOST = 30_000_000  # product nodes, 74 bytes each in all: a balanced tree has a few a pair


class TooDeepError(OdanonError):
    """The product nodes do not fit in memory."""

    def __init__(self) -> None:
        super().__init__(
            "the trees are so deep that their products do not fit in memory;"
            " use a hierarchy with fewer levels, larger tiles or atg-joint"
        )


class Tally:
    """Counts the product nodes of all parts together, whichever thread makes them."""

    def __init__(self) -> None:
        self._lock, self._n = Lock(), 0

    def add(self, n: int) -> None:
        """Some more; an error where they do not fit, whatever the order they come in."""
        with self._lock:
            self._n += n
            if self._n > _MOST:
                raise TooDeepError


@dataclass(frozen=True, eq=False)
class Built:
    """Product nodes of a part, the rows of its topmost origins, and the nodes of these rows (first, behind the last)."""

    products: Products
    rows: Row
    start: Ints
    tops: Ints


@dataclass(frozen=True, eq=False)
class Grown:
    """The product nodes of all parts; those of the parts below come first and the last part joins them."""

    products: Products
    bounds: Ints  # where each part starts, and the end
    tops: Ints  # rows (first, behind the last) whose gains the last part takes up


@dataclass(frozen=True, eq=False)
class Origins:
    """What a build asks of every origin."""

    children: Ints  # how many
    sweep: npt.NDArray[np.bool_]  # large enough to be published, with trips enough for a flow
    fits: npt.NDArray[np.bool_]  # within all limits on areas

    @classmethod
    def of(cls, problem: Problem) -> "Origins":
        tree, od = problem.origins, problem.od
        enough = large_enough(tree, od.origin, od, problem.anonymizer)
        enough &= trips_below(tree, od.origin, od.trips) >= problem.test.k
        return cls(np.diff(tree.child_start), enough, problem.fits)

    def part(self, nodes: Ints, children: Ints, rows: Row, start: Ints, swept: Ints) -> "kernels.Part":
        """Some of them, children first, and the rows of those without children among them."""
        return kernels.Part(
            nodes=nodes.astype(np.int32),
            children=children.astype(np.int32),
            sweep=self.sweep[nodes],
            fits=self.fits[nodes],
            rows=rows,
            start=start.astype(np.int64),
            swept=np.ascontiguousarray(swept),
        )


def grow(problem: Problem, origins: Origins, cells: Ints | None, limit: int, tally: Tally) -> Grown:
    """Build; `cells` are those of every tile pair of the problem, where those of product nodes are needed."""
    entries, (roots, groups) = _entries(problem, cells), _groups(problem, limit)

    def build(group: Ints) -> Built:
        return _build(problem, _below(problem, origins, entries, group), _no_products(entries), limit, tally)

    built = on_threads(build, groups)
    sizes = [len(part.products.origin) for part in built]
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tops = np.concatenate([part.tops + first for part, first in zip(built, bounds, strict=False)], axis=1)
    above = _above(problem, origins, roots, built, tops, limit)
    whole = _build(problem, above, _joined([part.products for part in built], bounds), limit, tally, int(bounds[-1]))
    return Grown(whole.products, np.append(bounds, len(whole.products.origin)), tops)


def _entries(problem: Problem, cells: Ints | None) -> Row:
    """The entries of all tiles; the cells of a tile pair count with its first entry."""
    key, volume, weight, origin = problem.entries
    counts = np.empty(0, dtype=np.int32)
    if cells is not None:
        counts = np.zeros(len(key), dtype=np.int32)
        counts[problem.od.pair_start if problem.by_person else slice(None)] = cells
    return Row(key, volume, counts, weight, origin)


def _groups(problem: Problem, limit: int) -> tuple[Ints, list[Ints]]:
    """Origins that are the roots of subtrees with few entries, within the limit, and the same in groups of about equal work.

    The groups depend on the matrix alone, never on the number of threads.
    """
    tree, total = problem.origins, len(problem.entries.key)
    n_entries = problem.entry_start[tree.tile_end] - problem.entry_start[tree.tile_start]
    share = max(total // _PARTS, _WHOLE_UP_TO)
    roots = tree_kernels.topmost(tree.parent, ((n_entries <= share) & (tree.n_tiles < limit)) | (tree.size == 1))
    group = np.cumsum(n_entries[roots]) // (share + 1)
    return roots, np.split(roots, np.flatnonzero(np.diff(group)) + 1)


def _below(problem: Problem, origins: Origins, entries: Row, roots: Ints) -> "kernels.Part":
    """The subtrees of some roots; the rows of tiles are given."""
    tree = problem.origins
    nodes = np.concatenate([np.arange(root - tree.size[root] + 1, root + 1) for root in roots.tolist()])
    start = problem.entry_start[tree.tile_start[roots[0]] : tree.tile_end[roots[-1]] + 1]
    swept = np.zeros((2, len(start) - 1), dtype=np.int64)
    return origins.part(nodes, origins.children[nodes], entries, start, swept)


def _above(
    problem: Problem, origins: Origins, roots: Ints, built: list[Built], tops: Ints, limit: int
) -> "kernels.Part":
    """The nodes above all groups, within the limit; the rows of their roots are given, and already swept."""
    tree = problem.origins
    is_root = np.zeros(len(tree), dtype=np.bool_)
    is_root[roots] = True
    above = ~tree_kernels.at_or_below(tree.parent, is_root) & (tree.n_tiles < limit)
    nodes = np.flatnonzero(above | is_root)
    children = np.where(is_root[nodes], 0, origins.children[nodes])
    rows = Row(*(np.concatenate(columns) for columns in zip(*(part.rows for part in built), strict=True)))
    lengths = np.concatenate([np.diff(part.start) for part in built])
    return origins.part(nodes, children, rows, np.concatenate([[0], np.cumsum(lengths)]), tops)


def _build(
    problem: Problem, part: "kernels.Part", out: Products, limit: int, tally: Tally, n_products: int = 0
) -> Built:
    """Append the product nodes of a part to those in `out`."""
    n_rows, n_entries = len(part.start) - 1, int(part.start[-1] - part.start[0])
    counted = len(part.rows.cells) > 0
    work = kernels.Work(
        row=_room(part.rows, n_entries),
        spare=_room(part.rows, n_entries),
        start=np.zeros(n_rows + 2, dtype=np.int64),
        swept=np.zeros((2, n_rows + 2), dtype=np.int64),
        place=np.empty(len(problem.destinations), dtype=np.int32),
        waiting=np.empty(problem.destinations.n_leaves + 1, dtype=np.int64),
        cursor=np.array([0, 0, 0, n_products], dtype=np.int64),
    )
    scratch = problem.scratch()._replace(spine=np.empty((7, len(problem.destinations)), dtype=np.int64))
    done = False
    while not done:
        done = kernels.build(part, limit, problem.shift, problem.side, problem.test, work, scratch, out)
        tally.add(int(work.cursor[3]) - n_products)
        n_products = int(work.cursor[3])
        _resize(out, n_products if done else 2 * len(out.origin) + 2 * n_entries, counted)
    waiting = int(work.cursor[1])
    end = int(work.start[waiting])
    rows = Row(*(column[:end].copy() for column in work.row))
    return Built(out, rows, work.start[: waiting + 1].copy(), work.swept[:, :waiting].copy())


def _room(like: Row, n: int) -> Row:
    return Row(*(np.empty(n if len(column) else 0, dtype=column.dtype) for column in like))


def _no_products(entries: Row) -> Products:
    ints = [np.empty(_FIRST_ROOM, dtype=np.int32) for _ in range(5)]
    if not len(entries.cells):
        ints[2] = np.empty(0, dtype=np.int32)
    origin, destination, cells, above_origin, above_destination = ints
    volume = np.empty(_FIRST_ROOM, dtype=entries.volume.dtype)
    return Products(origin, destination, volume, cells, above_origin, above_destination)


def _resize(products: Products, n: int, counted: bool) -> None:
    """Change the room in place; pages move without being copied."""
    for column in products:
        if counted or column is not products.cells:
            column.resize(n, refcheck=False)


def _joined(parts: list[Products], bounds: Ints) -> Products:
    """One after the other, with links counted from the start."""
    shifted = [
        part._replace(
            above_origin=np.where(part.above_origin >= 0, part.above_origin + np.int32(first), np.int32(-1)),
            above_destination=np.where(
                part.above_destination >= 0, part.above_destination + np.int32(first), np.int32(-1)
            ),
        )
        for part, first in zip(parts, bounds, strict=False)
    ]
    return Products(*(np.concatenate(columns) for columns in zip(*shifted, strict=True)))
