"""Generated cities that suites try plugins on."""

import numpy as np
import pandas as pd

from odanon.model.hierarchy import Hierarchy


def random_city(seed: int) -> tuple[Hierarchy, pd.DataFrame]:
    """A small uneven tree and person-level rows on its tiles (origin, destination, person, trips)."""
    rng = np.random.default_rng(seed)
    n_inner = int(rng.integers(1, 6))
    parent = [-1] + [int(rng.integers(0, node)) for node in range(1, n_inner)]
    n_tiles = int(rng.integers(1, 10))
    parent += [int(rng.integers(0, n_inner)) for _ in range(n_tiles)]
    childless = [node for node in range(n_inner) if node not in parent]
    parent += childless  # every inner node gets at least one tile
    labels = [f"n{node}" for node in range(len(parent))]
    tree = _placed(Hierarchy.from_parents(labels, parent, kind="random"), seed)
    tiles = tree.label[tree.tiles]
    n = int(rng.integers(30, 200))
    rows = pd.DataFrame(
        {
            "origin": tiles[rng.integers(0, len(tiles), n)],
            "destination": tiles[rng.integers(0, len(tiles), n)],
            "person": rng.integers(0, 25, n),
            "trips": rng.integers(1, 4, n),
        }
    )
    return tree, _summed(rows)


def city_of_two_trees(seed: int) -> tuple[Hierarchy, Hierarchy, pd.DataFrame]:
    """A random city whose destinations lie on another tree, of other tiles and another size."""
    origins, rows = random_city(seed)
    destinations, others = next(
        city for city in map(random_city, range(seed + 1, seed + 1000)) if len(city[0]) != len(origins)
    )
    n = len(rows)
    return origins, destinations, _summed(rows.assign(destination=np.resize(others["destination"].to_numpy(), n)))


def pair_of_tiles() -> Hierarchy:
    """Two tiles and what joins them."""
    return _placed(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair"), 0)


def _summed(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby(["origin", "destination", "person"], as_index=False)["trips"].sum()


def _placed(tree: Hierarchy, seed: int) -> Hierarchy:
    """The tree with its tiles on a coarse grid, some of them in one place."""
    lat, lon = np.random.default_rng([seed, 1]).integers(0, 6, (2, tree.n_leaves)) / 100
    return tree.placed(tree.label[tree.tiles], 45 + lat, 5 + lon)
