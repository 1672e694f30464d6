"""Generated matrices with the traits that matter to an anonymiser: heavy tails, hot spots and distance decay."""

import numpy as np
import pandas as pd

from odanon.anonymize.matrix import ODMatrix
from odanon.hierarchy.tree import Hierarchy


def hexagon_like_tree(n_tiles: int, rng: np.random.Generator) -> tuple[Hierarchy, np.ndarray]:
    """Tiles of a round city on a square lattice, nested 7 to 1 like H3; returns the tree and tile centres by rank."""
    side = int(np.ceil(np.sqrt(n_tiles * 4 / np.pi)))
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    points = np.column_stack([x.ravel(), y.ravel()]).astype(float)
    distance = np.hypot(*(points - (side - 1) / 2).T)
    points = points[np.argsort(distance, kind="stable")[:n_tiles]]
    label = [f"t{i:07d}" for i in range(n_tiles)]
    parent: list[int] = [-1] * n_tiles
    group, centres, factor = np.arange(n_tiles), points, 1.0
    while len(centres) > 1:
        factor *= np.sqrt(7)
        cells = np.floor(points / factor).astype(int) if len(centres) > 7 else np.zeros_like(points, dtype=int)
        _, new = np.unique(cells, axis=0, return_inverse=True)
        # a cell of the finer level belongs to the coarser cell of its first tile, so that levels nest
        first = np.full(len(centres), n_tiles)
        np.minimum.at(first, group, np.arange(n_tiles))
        _, above = np.unique(new[first], return_inverse=True)
        offset = len(label) - len(centres)
        base = len(label)
        for node, up in enumerate(above.tolist()):
            parent[offset + node] = base + up
        n_above = int(above.max()) + 1
        label += [f"n{base + i:07d}" for i in range(n_above)]
        parent += [-1] * n_above
        group = above[group]
        centres = np.zeros((n_above, 2))
    tree = Hierarchy.from_parents(label, parent, kind="hexagon-like")
    rank_to_tile = np.array([int(name[1:]) for name in tree.label[tree.tiles]])
    return tree, points[rank_to_tile]


def flows(n_pairs: int, centres: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Distinct tile pairs in random order: attraction x distance decay, volumes with a Pareto tail."""
    n = len(centres)
    radius = np.hypot(*(centres - centres.mean(axis=0)).T)
    centre_pull = np.exp(-radius / (0.35 * radius.max() + 1e-9))
    attraction = centre_pull * rng.pareto(1.5, n)
    attraction /= attraction.sum()
    grid = {}
    side = int(centres.max()) + 1
    lookup = np.full((side, side), -1)
    lookup[centres[:, 0].astype(int), centres[:, 1].astype(int)] = np.arange(n)
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < n_pairs:
        m = int(1.5 * n_pairs)
        origin = rng.choice(n, m, p=attraction)
        near = rng.random(m) < 0.6
        reach = rng.exponential(0.08 * side, m)
        angle = rng.random(m) * 2 * np.pi
        target = centres[origin] + np.column_stack([np.cos(angle), np.sin(angle)]) * reach[:, None]
        target = np.clip(np.round(target), 0, side - 1).astype(int)
        destination = np.where(near, lookup[target[:, 0], target[:, 1]], rng.choice(n, m, p=attraction))
        good = destination >= 0
        keys = np.unique(np.concatenate([keys, origin[good].astype(np.int64) * n + destination[good]]))
    keys = rng.permutation(keys)[:n_pairs]
    trips = np.minimum(1 + rng.pareto(1.3, n_pairs) * 0.8, 50_000).astype(np.int64)
    del grid
    return pd.DataFrame(
        {"origin": (keys // n).astype(np.int32), "destination": (keys % n).astype(np.int32), "trips": trips}
    )
