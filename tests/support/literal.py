"""Algorithms 1-3 of ODkAnon step by step, with dictionaries and a fresh look at everything before every merge."""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from enumeration import Instance, allowed

from odanon.anonymizers.levels.odkanon import OdkAnon
from odanon.model.hierarchy import Hierarchy

Pair = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """What happened: pairs found hopeless and removed, merges as (side, parent), areas left, whether all reach k."""

    hopeless: set[Pair]
    removed: set[Pair]
    merges: list[tuple[str, int]]
    origins: set[int]
    destinations: set[int]
    reached: bool


def run(instance: Instance, promise: OdkAnon) -> Outcome:
    hopeless, removed = suppress(instance, promise)
    od = instance.od
    kept = np.array([pair not in removed for pair in pairs_of_rows(instance)])
    trees = {
        "origins": Tree(instance.origins, od.origin[kept], od.trips[kept], promise),
        "destinations": Tree(instance.destinations, od.destination[kept], od.trips[kept], promise),
    }
    first = Fraction(len(trees["origins"].areas), len(trees["destinations"].areas))
    merges: list[tuple[str, int]] = []
    while not (reached := all_cells_allowed(instance, kept, trees, promise)):
        deviation = Fraction(len(trees["origins"].areas), len(trees["destinations"].areas)) / first - 1
        if deviation > Fraction(3, 100):
            axis = "origins"
        elif deviation < -Fraction(3, 100):
            axis = "destinations"
        else:
            axis = "origins" if len(merges) % 2 == 0 else "destinations"
        best = trees[axis].best_group()
        if best is None:
            axis = "destinations" if axis == "origins" else "origins"
            best = trees[axis].best_group()
        if best is None:
            break
        trees[axis].merge(best)
        merges.append((axis, best))
    return Outcome(hopeless, removed, merges, trees["origins"].areas, trees["destinations"].areas, reached)


def pairs_of_rows(instance: Instance) -> list[Pair]:
    return list(zip(instance.od.origin.tolist(), instance.od.destination.tolist(), strict=True))


def suppress(instance: Instance, promise: OdkAnon) -> tuple[set[Pair], set[Pair]]:
    """Algorithm 1."""
    rows, od = pairs_of_rows(instance), instance.od
    count: dict[Pair, int] = defaultdict(int)
    for pair, trips in zip(rows, od.trips.tolist(), strict=True):
        count[pair] += trips
    valid = set()
    for level in range(promise.levels + 1):
        groups = defaultdict(list)
        for row, (o, d) in enumerate(rows):
            key = climb(instance.origins, o, level), climb(instance.destinations, d, level)
            groups[key].append(row)
        for members in groups.values():
            if allowed(od, np.array(members), promise):
                valid |= {rows[row] for row in members}
    hopeless = set(rows) - valid
    removed: set[Pair] = set()
    for pair in sorted(hopeless, key=lambda pair: (count[pair], pair)):
        if promise.budget_counts == "rows":
            spent, limit = len(removed) + 1, Fraction(str(promise.suppression)) * len(count)
        else:
            spent = sum(count[other] for other in removed) + count[pair]
            limit = Fraction(str(promise.suppression)) * od.volume
        if spent > limit:
            break
        removed.add(pair)
    return hopeless, removed


def climb(tree: Hierarchy, tile: int, levels: int) -> int:
    node = int(tree.tiles[tile])
    for _ in range(levels):
        node = int(tree.parent[node]) if tree.parent[node] >= 0 else node
    return node


def path_up(tree: Hierarchy, node: int) -> list[int]:
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


class Tree:
    """Algorithm 2: the nodes above the tiles that are left, up to the first one above all of them.

    With `min_tiles` the first areas are the lowest large enough nodes; with `max_tiles` larger nodes are not in it.
    """

    def __init__(self, tree: Hierarchy, tiles: np.ndarray, trips: np.ndarray, promise: OdkAnon) -> None:
        paths = [
            [node for node in path_up(tree, int(tree.tiles[tile])) if tree.n_tiles[node] >= promise.min_tiles]
            for tile in sorted(set(tiles.tolist()))
        ]
        starts = {path[0] for path in paths}
        self.areas = {a for a in starts if not starts & set(path_up(tree, a)[1:])}
        ways = [path_up(tree, area) for area in sorted(self.areas)]
        top = next(node for node in ways[0] if all(node in way for way in ways))
        self.children: dict[int, set[int]] = defaultdict(set)
        for way in ways:
            inside = way[: way.index(top) + 1]
            for child, parent in pairwise(inside):
                if promise.max_tiles is None or tree.n_tiles[parent] <= promise.max_tiles:
                    self.children[parent].add(child)
        self.count: dict[int, int] = defaultdict(int)
        for tile, n in zip(tiles.tolist(), trips.tolist(), strict=True):
            for node in path_up(tree, int(tree.tiles[tile])):
                self.count[node] += n
        self.tree = tree

    def best_group(self) -> int | None:
        """The parent of the siblings to merge: all in the matrix, smallest total, then smallest id."""
        groups = [
            (sum(self.count[child] for child in children), parent)
            for parent, children in self.children.items()
            if children <= self.areas
        ]
        return min(groups)[1] if groups else None

    def merge(self, parent: int) -> None:
        self.areas = self.areas - self.children[parent] | {parent}

    def area_of(self, tile: int) -> int:
        return next(node for node in path_up(self.tree, int(self.tree.tiles[tile])) if node in self.areas)


def all_cells_allowed(instance: Instance, kept: np.ndarray, trees: dict[str, Tree], promise: OdkAnon) -> bool:
    cells = defaultdict(list)
    for row in np.flatnonzero(kept).tolist():
        o, d = int(instance.od.origin[row]), int(instance.od.destination[row])
        cells[trees["origins"].area_of(o), trees["destinations"].area_of(d)].append(row)
    sizes = [
        int(tree.tree.n_tiles[area]) <= (promise.max_tiles or 10**9) for tree in trees.values() for area in tree.areas
    ]
    return all(sizes) and all(allowed(instance.od, np.array(rows), promise) for rows in cells.values())
