"""Random releases over two trees whose rows nest, as numbered areas and as the cells of a dense matrix."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from odanon.model.hierarchy import Hierarchy
from odanon.reconstruct.nested import Nested
from odanon.reconstruct.rests import rest_around

Row = tuple[int, int, bool]


def random_tree(rng: np.random.Generator, n_tiles: int) -> Hierarchy:
    """Tiles joined at random until one node is left."""
    label, parent, tops = [f"t{n}" for n in range(n_tiles)], [-1] * n_tiles, list(range(n_tiles))
    while len(tops) > 1:
        joined = rng.choice(tops, int(rng.integers(2, min(3, len(tops)) + 1)), replace=False).tolist()
        for node in joined:
            parent[node] = len(label)
        tops = [*(node for node in tops if node not in joined), len(label)]
        label.append(f"n{len(label)}")
        parent.append(-1)
    return Hierarchy.from_parents(label, parent, kind="table")


def tree_of_a_reader(zones: pd.DataFrame) -> Hierarchy:
    """What whoever has the zones knows of how they lie in each other: their tiles, under names and in an order of one's own."""
    tiles = {name: frozenset(members) for name, members in zip(zones["zone_id"], zones["tiles"], strict=True)}
    everything = frozenset().union(*tiles.values())
    nodes = {**{f"tile {one}": frozenset([one]) for one in sorted(everything)}, **tiles, "all": everything}
    label = sorted(nodes, key=lambda name: (name == "all", name[::-1]))
    sizes = {name: (len(nodes[name]), name in tiles, name == "all") for name in label}
    parent = []
    for name in label:
        around = [up for up in label if sizes[up] > sizes[name] and nodes[name] <= nodes[up]]
        parent.append(label.index(min(around, key=sizes.__getitem__)) if around else -1)
    return Hierarchy.from_parents(label, parent, kind="table")


def random_rows(rng: np.random.Generator, origins: Hierarchy, destinations: Hierarchy) -> list[Row]:
    """(origin node, destination node, rest) of a random way to cut the product of two trees, each pair of nodes once."""
    rows: list[Row] = []

    def cut(a: int, b: int) -> bool:
        """Whether part of (a, b) is counted in no row."""
        children = [
            tree.children[tree.child_start[n] : tree.child_start[n + 1]]
            for tree, n in ((origins, a), (destinations, b))
        ]
        sides = [side for side in (0, 1) if len(children[side]) > 1]
        if not sides or rng.random() < 0.25:
            published = rng.random() < 0.6
            rows.extend([(a, b, False)] if published else [])
            return not published
        side = sides[rng.integers(len(sides))]
        left = [cut(c, b) if side == 0 else cut(a, c) for c in children[side].tolist()]
        if any(left) and rng.random() < 0.5:
            rows.append((a, b, True))
            return False
        return any(left)

    cut(origins.root, destinations.root)
    return rows


class Case:
    """A random release, as numbered areas and as the cells of a dense matrix."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.trees = [random_tree(rng, int(rng.integers(2, 8))) for _ in range(2)]
        rows = random_rows(rng, *self.trees)
        self.rest = np.array([rest for *_, rest in rows], dtype=bool)
        self.nodes = [np.unique([row[side] for row in rows]).astype(np.int64) for side in (0, 1)]
        self.ends = [np.searchsorted(self.nodes[s], [row[s] for row in rows]) for s in (0, 1)]
        self.trips = rng.integers(1, 50, len(rows)).astype(float)
        self.sides = [
            Nested.of_runs(tree.tile_start[n], tree.tile_end[n], tree.n_tiles[n])
            for tree, n in zip(self.trees, self.nodes, strict=True)
        ]
        runs = [
            (tree.tile_start[n[e]].astype(np.int64), tree.tile_end[n[e]].astype(np.int64))
            for tree, n, e in zip(self.trees, self.nodes, self.ends, strict=True)
        ]
        self.around = rest_around(runs[0], runs[1], self.rest)
        self.owner = np.full([tree.n_leaves for tree in self.trees], -1)
        sizes = [tree.n_tiles[n[e]] for tree, n, e in zip(self.trees, self.nodes, self.ends, strict=True)]
        for row in np.argsort(-(sizes[0] * sizes[1]), kind="stable").tolist():
            self.owner[self.run(0, row), self.run(1, row)] = row

    def run(self, side: int, row: int) -> slice:
        tree, node = self.trees[side], self.nodes[side][self.ends[side][row]]
        return slice(tree.tile_start[node], tree.tile_end[node])

    def own_of_tile(self, side: int) -> np.ndarray:
        """The innermost area around every tile, -1 for none."""
        tree, nodes = self.trees[side], self.nodes[side]
        own = np.full(tree.n_leaves, -1)
        for area in range(len(nodes))[::-1]:
            own[tree.tile_start[nodes[area]] : tree.tile_end[nodes[area]]] = area
        return own

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """The trips of every cell, in proportion to the weights of the cells of its row."""
        covered = self.owner >= 0
        sums = np.bincount(self.owner[covered], weights[covered], len(self.trips))
        cells = np.zeros(self.owner.shape)
        cells[covered] = (self.trips / sums)[self.owner[covered]] * weights[covered]
        return cells


def cases() -> st.SearchStrategy[Case]:
    return (
        st.integers(0, 10_000)
        .map(Case)
        .filter(
            lambda case: (
                len(case.trips) and (np.bincount(case.owner[case.owner >= 0], minlength=len(case.trips)) > 0).all()
            )
        )
    )
