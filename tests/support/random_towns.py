"""Small random towns, each published two or three times in different ways, as an auditor meets them."""

from datetime import timedelta

import numpy as np
import pandas as pd
from privacy_city import DAY, MONDAY

from odanon import registry
from odanon.errors import OdanonError
from odanon.gate.audit.published import TOTAL, Content, PublishedMatrix
from odanon.gate.release import area_tiles
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

ALGORITHMS = (
    *("atg-joint", "atg-lattice", "atg-dual", "atg-homogeneous", "atg-soft"),
    *("oigh", "odkanon", "datafly", "suppression"),
)
SPLITS = ("whole", "whole", "sexes", "thirds")
_HOURS = timedelta(hours=8)


def random_town(seed: int) -> list[list[PublishedMatrix]]:
    """The releases of a town, by release; k, algorithm, hierarchy and the parts they come in differ."""
    rng = np.random.default_rng(seed)
    n_tiles = int(rng.integers(3, 17))
    trees = [_tree(n_tiles, rng) for _ in range(2)]
    rows = _rows(n_tiles, rng)
    k = int(rng.choice([2, 3, 5, 10]))
    releases = []
    for number in range(int(rng.choice([2, 2, 3]))):
        promise = {"k": int(k * rng.choice([1, 1, 2])), "suppression": float(rng.choice([0, 0.1, 0.3]))}
        algorithm, tree = str(rng.choice(ALGORITHMS)), trees[int(rng.random() < 0.3)]
        if algorithm == "suppression":
            promise["suppression"] = 0.95
        split = str(rng.choice(SPLITS))
        made = [
            _published(f"r{number}", part, tree, algorithm, promise, start, end, segment)
            for part, start, end, segment in _parts(rows, split)
        ]
        releases.append([matrix for matrix in made if matrix is not None])
    return releases


def _tree(n_tiles: int, rng: np.random.Generator) -> Hierarchy:
    """Tiles joined at random, two to four at a time."""
    label = [f"t{tile}" for tile in range(n_tiles)]
    above = dict.fromkeys(label, "")
    waiting = list(rng.permutation(label))
    while len(waiting) > 1:
        joined, waiting = waiting[: (size := int(rng.integers(2, 5)))], waiting[size:]
        name = f"a{len(label)}"
        label.append(name)
        above[name] = ""
        above.update(dict.fromkeys(map(str, joined), name))
        waiting.append(name)
    order = label[::-1]
    return Hierarchy.from_parents(
        order, [order.index(above[name]) if above[name] else -1 for name in order], kind="random"
    )


def _rows(n_tiles: int, rng: np.random.Generator) -> pd.DataFrame:
    """Trips of people who mostly keep to a few tiles; some pairs of tiles are crowded and most hold a handful."""
    n = int(rng.integers(30, 600))
    n_people = int(n * rng.choice([0.3, 0.7, 1.5, 5]))
    pull = rng.pareto(rng.choice([0.7, 1.5, 5]), n_tiles) + 0.1
    tiles = rng.choice(n_tiles, (2, n), p=pull / pull.sum())
    person = rng.integers(0, n_people, n)
    sex = np.where(rng.random(n_people) < rng.choice([0.5, 0.05]), "F", "M")
    table = pd.DataFrame(
        {
            "time": pd.Timestamp(MONDAY).as_unit("us") + pd.to_timedelta(8 * rng.integers(0, 3, n), unit="h"),
            "origin": [f"t{tile}" for tile in tiles[0]],
            "destination": [f"t{tile}" for tile in tiles[1]],
            "person": person,
            "sex": sex[person],
        }
    )
    keys = list(table)
    return table.groupby(keys, as_index=False).size().rename(columns={"size": "trips"})


def _parts(rows: pd.DataFrame, split: str) -> list[tuple]:
    if split == "sexes":
        return [(rows[rows["sex"] == sex], MONDAY, MONDAY + DAY, f"sex={sex}") for sex in "FM"]
    if split == "thirds":
        starts = [MONDAY + third * _HOURS for third in range(3)]
        return [(rows[rows["time"] == start], start, start + _HOURS, TOTAL) for start in starts]
    return [(rows, MONDAY, MONDAY + DAY, TOTAL)]


def _published(name, rows, tree, algorithm, promise, start, end, segment) -> PublishedMatrix | None:
    od = ODMatrix.from_frame(rows, tree, tree)
    try:
        made = registry.create("anonymize", algorithm, promise).anonymize(od, tree, tree)
    except OdanonError:
        return None
    content = Content(made.flows, area_tiles(made.origins, tree), area_tiles(made.destinations, tree), rows)
    return PublishedMatrix(name, name, "phones", start, end, promise["k"], "persons", lambda: content, segment)
