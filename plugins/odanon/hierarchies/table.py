"""A hierarchy given as a table of children and their parents."""

from pathlib import Path

from pandas import isna

from odanon.errors import OdanonError
from odanon.model.hierarchy import VIRTUAL_ROOT, Hierarchy
from odanon.model.tiles import ObjectArray, Tiles
from odanon.plugin import parameter, plugin
from odanon.reading.batches import Column
from odanon.reading.table import read_small


@plugin
class TableHierarchy:
    """Your own tree, read from a CSV or Parquet table with one row per child and its parent."""

    path: Path = parameter(..., "CSV or Parquet table; a root has an empty parent, itself as parent, or no row")
    child: str = parameter("child", "column with the child's label; tiles appear here")
    parent: str = parameter("parent", "column with the label of its parent")

    def build(self, tiles: Tiles) -> Hierarchy:
        """The branches that lead to `tiles`; several roots are joined under `all`."""
        child, above = self._edges()
        parent_of = dict(zip(child, above, strict=True))
        if len(parent_of) < len(child):
            raise OdanonError(f"{self.path} gives {len(child) - len(parent_of)} labels a second parent; keep one")
        parents = set(above)
        named = parent_of.keys() | parents
        missing = sum(label not in named for label in tiles.label)
        if missing:
            raise OdanonError(
                f"{missing} of {len(tiles)} tiles are missing from {self.path}; add a row for each of them"
            )
        inner = sum(label in parents for label in tiles.label)
        if inner:
            raise OdanonError(f"{inner} tiles have children in {self.path}; a tile must be a leaf")
        return _tree(_branches(tiles.label, parent_of)).placed(tiles.label, tiles.lat, tiles.lon)

    def _edges(self) -> tuple[list[str], list[str | None]]:
        if not self.path.exists():
            raise OdanonError(f"{self.path} does not exist; give the path of the hierarchy table")
        columns = [Column("child", self.child, "text"), Column("parent", self.parent, "text")]
        rows = read_small(str(self.path), columns).to_pandas().dropna(subset="child").drop_duplicates()
        child, above = rows["child"].astype("str").tolist(), rows["parent"].astype(object).tolist()
        return child, [None if up == label or isna(up) else str(up) for label, up in zip(child, above, strict=True)]


def _branches(tiles: ObjectArray, parent_of: dict[str, str | None]) -> dict[str, str | None]:
    """Every tile and every node above one, with its parent."""
    used: dict[str, str | None] = {}
    for tile in tiles.tolist():
        node: str | None = tile
        while node is not None and node not in used:
            used[node] = parent_of.get(node)
            node = used[node]
    return used


def _tree(parent_of: dict[str, str | None]) -> Hierarchy:
    labels = list(parent_of)
    position = {label: at for at, label in enumerate(labels)}
    parent = [-1 if above is None else position[above] for above in parent_of.values()]
    if parent.count(-1) > 1:
        parent = [len(labels) if up < 0 else up for up in parent] + [-1]
        labels.append(VIRTUAL_ROOT)
    return Hierarchy.from_parents(labels, parent, kind="table")
