"""Random trees and tiles for the hierarchy tests."""

import numpy as np
from hypothesis import strategies as st

from odanon.model.tiles import Tiles
from odanon.zoning.h3 import H3Zoning


@st.composite
def parent_lists(draw: st.DrawFn, largest: int = 40) -> tuple[list[str], list[int]]:
    """Labels and parent positions of a random tree of any shape, in random order."""
    n = draw(st.integers(1, largest))
    parent = [-1] + [draw(st.integers(max(0, i - draw(st.integers(1, i))), i - 1)) for i in range(1, n)]
    shuffled = draw(st.permutations(range(n)))
    position = {old: new for new, old in enumerate(shuffled)}
    label = [f"n{old}" for old in shuffled]
    return label, [-1 if parent[old] < 0 else position[parent[old]] for old in shuffled]


def ancestors(parent: np.ndarray, node: int) -> list[int]:
    """The node and everything above it, by walking up."""
    found = [node]
    while parent[found[-1]] >= 0:
        found.append(int(parent[found[-1]]))
    return found


def h3_tiles(n: int, seed: int = 0, spread: float = 0.05, resolution: int = 9) -> Tiles:
    """Up to `n` H3 tiles around Paris."""
    rng = np.random.default_rng(seed)
    zoning = H3Zoning(resolution=resolution)
    return zoning.tiles(zoning.assign(rng.normal(48.85, spread, n), rng.normal(2.35, spread, n)))
