"""The H3 hierarchy: tiles are H3 cells, their ancestors are the coarser cells (ALGORITHMS, Hierarchies).

With fine steps there are two more levels between a cell and its seven children (ALGORITHMS, Hierarchies).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from odanon.errors import OdanonError
from odanon.geo.h3cells import is_cell
from odanon.geo.h3steps import HALVES, PAIRS, step_name
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy
from odanon.model.tiles import ObjectArray, Tiles
from odanon.plugin import parameter, plugin

_RESOLUTION_BITS = np.uint64(0xF << 52)
# The number of a group of children is that of their parent with one more digit (which in the parent itself is 7).
_GROUPS = dict(enumerate((*PAIRS, *HALVES)))
_GROUP_OF_CHILD = np.array([0, 0, 1, 1, 2, 4, 2], dtype=np.uint64)  # child 5 has no partner but its half
_HALF_OF_PAIR = np.array([3, 3, 4], dtype=np.uint64)

Cells = npt.NDArray[np.uint64]
Root = Annotated[int, Field(ge=0, le=15)] | Annotated[str, Field(pattern="^(auto|8[0-9a-f]{14})$")]


@plugin
class H3Hierarchy:
    """Parents of H3 tiles, level by level, up to a root cell."""

    root: Root = parameter(
        "auto",
        "'auto' (the finest cell above all tiles), the resolution of the coarsest cells, or the id of the root cell",
    )
    coverage: Literal["full", "observed"] = parameter(
        "full", "sizes count all H3 cells inside an area (full) or only tiles with traffic (observed)"
    )
    steps: Literal["standard", "fine"] = parameter(
        "standard", "fine: two steps more between a cell and its seven children, halves (4 and 3) and pairs of them"
    )

    def extent(
        self, label: ObjectArray, tile: npt.NDArray[np.int64], visitor: npt.NDArray[np.int64], k: int
    ) -> npt.NDArray[np.bool_]:
        """The part of the map that a tree may stand on without telling where fewer than k visitors were.

        For every label whether it belongs; `tile` and `visitor` number who was where. An automatic root is the finest cell
        that fewer than k visitors ever leave; where no cell is such a one, as with a resolution for a root, the coarsest
        cells with k visitors remain. A root that is given remains whoever is in it.
        """
        import h3

        strangers = sum(not is_cell(cell) for cell in label)
        if strangers:
            raise OdanonError(
                f"{strangers} of {len(label)} tiles are no H3 cells; use the zoning or hierarchy they belong to"
            )
        cells = np.array([h3.str_to_int(cell) for cell in label], dtype=np.uint64)
        finest = h3.get_resolution(label[0])
        if len(pd.unique(visitor)) < k:
            return np.ones(len(label), dtype=np.bool_)  # nothing can be published of them, and who anonymises says so
        if self.root == "auto":
            for resolution in range(finest, -1, -1):
                code, inside = _busiest(_parent(cells, resolution), tile, visitor)
                if len(pd.unique(visitor[code[tile] != inside])) < k:
                    return code == inside
        top = self._top(cells[:0], finest)
        if isinstance(self.root, str) and self.root != "auto":
            return _parent(cells, top) == h3.str_to_int(self.root)
        code, people = _people(_parent(cells, top), tile, visitor)
        return people[code] >= k

    def build(self, tiles: Tiles) -> Hierarchy:
        """The tree over `tiles`; a node's level is its H3 resolution, with fine steps three times that (halves 1 more, pairs 2).

        Where no single cell lies above all tiles, the coarsest cells hang under a virtual root named `all`.
        """
        import h3

        if tiles.kind != "h3":
            raise OdanonError(f"the h3 hierarchy needs h3 tiles, not {tiles.kind} tiles; choose another hierarchy")
        leaves = np.array([h3.str_to_int(cell) for cell in tiles.label], dtype=np.uint64)
        finest = h3.get_resolution(tiles.label[0])
        levels = _levels(np.unique(leaves), finest, self._top(leaves, finest), fine=self.steps == "fine")
        up = _positions(levels)
        label = [name for each in levels for name in each.labels()]
        level = np.repeat([each.level for each in levels], [len(each.key) for each in levels])
        sizes = np.concatenate([each.full_sizes(finest) for each in levels]) if self.coverage == "full" else None
        if (up < 0).sum() > 1:
            up = np.append(np.where(up < 0, len(label), up), -1)
            sizes = None if sizes is None else np.append(sizes, sizes[up[:-1] == len(label)].sum())
            level = np.append(level, level[-1] - 1)
            label.append(VIRTUAL_ROOT)
        tree = Hierarchy.from_parents(label, up, kind="h3", n_tiles=sizes, level=level, coverage=self.coverage)
        return tree.placed(tiles.label, tiles.lat, tiles.lon)

    def _top(self, leaves: Cells, finest: int) -> int:
        """The resolution of the coarsest cells in the tree."""
        import h3

        if self.root == "auto":
            common = (r for r in range(finest, 0, -1) if len(np.unique(_parent(leaves, r))) == 1)
            return next(common, 0)
        if isinstance(self.root, int):
            top = self.root
        else:
            if not h3.is_valid_cell(self.root):
                raise OdanonError(f"hierarchy root {self.root} is not an H3 cell; give a valid cell id or 'auto'")
            top = h3.get_resolution(self.root)
        if top > finest:
            raise OdanonError(
                f"hierarchy root has resolution {top}, finer than the tiles' {finest}; choose a coarser root"
            )
        if isinstance(self.root, str):
            outside = int((_parent(leaves, top) != h3.str_to_int(self.root)).sum())
            if outside:
                raise OdanonError(
                    f"{outside} of {len(leaves)} tiles lie outside the hierarchy root {self.root};"
                    " choose a coarser root or 'auto'"
                )
        return top


def _people(
    cells: Cells, tile: npt.NDArray[np.int64], visitor: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A number for every cell and how many visitors were in it, by number; `tile` are positions in `cells`."""
    code, names = pd.factorize(cells)
    width = int(visitor.max(initial=0)) + 1
    distinct = pd.unique(code[tile] * width + visitor)
    return code, np.bincount(distinct // width, minlength=len(names))


def _busiest(
    cells: Cells, tile: npt.NDArray[np.int64], visitor: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], int]:
    """A number for every cell, and that of the cell with most visitors (of several the one with the smallest id)."""
    code, people = _people(cells, tile, visitor)
    names = pd.unique(cells)
    most = np.flatnonzero(people == people.max())
    return code, int(most[np.argmin(names[most])])


def _parent(cells: Cells, resolution: int) -> Cells:
    """Ancestors by index arithmetic: set the resolution, fill the finer digits with ones."""
    unused_digits = np.uint64((1 << 3 * (15 - resolution)) - 1)
    return (cells & ~_RESOLUTION_BITS) | np.uint64(resolution << 52) | unused_digits


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one step: cells of a resolution, or groups of the children of such cells."""

    level: int
    resolution: int
    key: Cells
    parent: Cells  # keys; none at the top
    grouped: bool = False

    def labels(self) -> list[str]:
        """The zone ids."""
        import h3

        names = [h3.int_to_str(cell) for cell in _parent(self.key, self.resolution).tolist()]
        if not self.grouped:
            return names
        groups = _digit(self.key, self.resolution + 1).tolist()
        return [step_name(name, _GROUPS[group]) for name, group in zip(names, groups, strict=True)]

    def full_sizes(self, finest: int) -> npt.NDArray[np.int64]:
        """How many tiles H3 has below each node; a pentagon has no child 1, and its child 0 is a pentagon."""
        if not self.grouped:
            return _full_sizes(self.key, self.resolution, finest)
        lengths = np.array([len(_GROUPS[group]) for group in range(len(_GROUPS))])
        sizes = lengths[_digit(self.key, self.resolution + 1)] * 7 ** (finest - self.resolution - 1)
        cells = _parent(self.key, self.resolution)
        missing = 7 ** (finest - self.resolution) - _full_sizes(cells, self.resolution, finest)
        around_centre = np.isin(_digit(self.key, self.resolution + 1), [g for g, c in _GROUPS.items() if "0" in c])
        return sizes - np.where(around_centre, missing, 0)


def _levels(leaves: Cells, finest: int, top: int, *, fine: bool) -> list[_Level]:
    """The nodes above distinct leaves, finest first."""
    scale = 3 if fine else 1
    levels, cells = [], leaves
    for resolution in range(finest - 1, top - 1, -1):
        coarser = _parent(cells, resolution)
        if not fine:
            levels.append(_Level(resolution + 1, resolution + 1, cells, coarser))
        else:
            group = _GROUP_OF_CHILD[_digit(cells, resolution + 1)]
            above = _with_digit(coarser, resolution + 1, group)
            pairs = np.unique(above[group < len(PAIRS)])
            half = _with_digit(pairs, resolution + 1, _HALF_OF_PAIR[_digit(pairs, resolution + 1)])
            halves = np.unique(np.concatenate([above[group >= len(PAIRS)], half]))
            levels += [
                _Level(scale * (resolution + 1), resolution + 1, cells, above),
                _Level(scale * resolution + 2, resolution, pairs, half, grouped=True),
                _Level(scale * resolution + 1, resolution, halves, _parent(halves, resolution), grouped=True),
            ]
        cells = np.unique(coarser)
    return [*levels, _Level(scale * top, top, cells, cells[:0])]


def _positions(levels: list[_Level]) -> npt.NDArray[np.int64]:
    """Where the parent of every node stands among all of them, -1 at the top."""
    keys, parents = (np.concatenate([getattr(each, name) for each in levels]) for name in ("key", "parent"))
    order = np.argsort(keys)
    up = order[np.searchsorted(keys, parents, sorter=order)]
    return np.append(up, np.full(len(keys) - len(up), -1))


def _digit(keys: Cells, resolution: int) -> npt.NDArray[np.int64]:
    """The digit of that resolution: which child it is."""
    return (keys >> np.uint64(3 * (15 - resolution)) & np.uint64(7)).astype(np.int64)


def _with_digit(keys: Cells, resolution: int, digit: Cells) -> Cells:
    place = np.uint64(3 * (15 - resolution))
    return (keys & ~(np.uint64(7) << place)) | (digit << place)


def _full_sizes(cells: Cells, resolution: int, finest: int) -> npt.NDArray[np.int64]:
    """How many tiles H3 has below each cell; a pentagon has fewer than a hexagon."""
    from h3.api import basic_int

    sizes = np.full(len(cells), 7 ** (finest - resolution), dtype=np.int64)
    pentagons = np.array(list(basic_int.get_pentagons(resolution)), dtype=np.uint64)
    sizes[np.isin(cells, pentagons)] = basic_int.cell_to_children_size(int(pentagons[0]), finest)
    return sizes
