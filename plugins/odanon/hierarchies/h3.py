"""The H3 hierarchy: tiles are H3 cells, their ancestors are the coarser cells (ALGORITHMS, Hierarchies)."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from odanon.errors import OdanonError
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy
from odanon.model.tiles import ObjectArray, Tiles
from odanon.plugin import parameter, plugin

_RESOLUTION_BITS = np.uint64(0xF << 52)

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

    def extent(
        self, label: ObjectArray, tile: npt.NDArray[np.int64], visitor: npt.NDArray[np.int64], k: int
    ) -> npt.NDArray[np.bool_]:
        """The part of the map that a tree may stand on without telling where fewer than k visitors were.

        For every label whether it belongs; `tile` and `visitor` number who was where. An automatic root is the finest cell
        that fewer than k visitors ever leave; where no cell is such a one, as with a resolution for a root, the coarsest
        cells with k visitors remain. A root that is given remains whoever is in it.
        """
        import h3

        strangers = sum(not h3.is_valid_cell(cell) for cell in label)
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
        """The tree over `tiles`; a node's level is its H3 resolution.

        Where no single cell lies above all tiles, the coarsest cells hang under a virtual root named `all`.
        """
        import h3

        if tiles.kind != "h3":
            raise OdanonError(f"the h3 hierarchy needs h3 tiles, not {tiles.kind} tiles; choose another hierarchy")
        leaves = np.array([h3.str_to_int(cell) for cell in tiles.label], dtype=np.uint64)
        finest = h3.get_resolution(tiles.label[0])
        by_level, up = _ancestors(leaves, finest, self._top(leaves, finest))
        cells = np.concatenate(by_level)
        level = np.repeat(np.arange(finest, finest - len(by_level), -1), [len(part) for part in by_level])
        label = [h3.int_to_str(cell) for cell in cells.tolist()]
        sizes = None
        if self.coverage == "full":
            sizes = np.concatenate([_full_sizes(part, finest - i, finest) for i, part in enumerate(by_level)])
        if (up < 0).sum() > 1:
            up = np.append(np.where(up < 0, len(cells), up), -1)
            top = len(by_level[-1])
            sizes = None if sizes is None else np.append(sizes, sizes[-top:].sum())
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


def _ancestors(leaves: Cells, finest: int, top: int) -> tuple[list[Cells], npt.NDArray[np.int64]]:
    """Distinct cells of each resolution, finest first, and each cell's parent position (-1 at the top)."""
    by_level, parents = [np.unique(leaves)], []
    offset = 0
    for resolution in range(finest - 1, top - 1, -1):
        offset += len(by_level[-1])
        coarser, position = np.unique(_parent(by_level[-1], resolution), return_inverse=True)
        parents.append(position + offset)
        by_level.append(coarser)
    parents.append(np.full(len(by_level[-1]), -1))
    return by_level, np.concatenate(parents).astype(np.int64)


def _full_sizes(cells: Cells, resolution: int, finest: int) -> npt.NDArray[np.int64]:
    """How many tiles H3 has below each cell; a pentagon has fewer than a hexagon."""
    from h3.api import basic_int

    sizes = np.full(len(cells), 7 ** (finest - resolution), dtype=np.int64)
    pentagons = np.array(list(basic_int.get_pentagons(resolution)), dtype=np.uint64)
    sizes[np.isin(cells, pentagons)] = basic_int.cell_to_children_size(int(pentagons[0]), finest)
    return sizes
