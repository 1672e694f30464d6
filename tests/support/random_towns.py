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
from odanon.model.window import Times

ALGORITHMS = (
    *("atg-joint", "atg-lattice", "atg-dual", "atg-homogeneous", "atg-soft"),
    *("oigh", "odkanon", "datafly", "suppression"),
)
SPLITS = ("whole", "whole", "sexes", "thirds")
_HOURS = timedelta(hours=8)
THIRDS = Times.of([(MONDAY + third * _HOURS, MONDAY + (third + 1) * _HOURS) for third in range(3)])


def random_town(seed: int, *, in_time: bool = False) -> list[list[PublishedMatrix]]:
    """The releases of a town, by release; k, algorithm, hierarchy and the parts they come in differ.

    With `in_time`, one is told in intervals of as few thirds of the day as each of its rows needs, by one lattice.
    """
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
    if in_time:
        promise = {"k": k, "suppression": float(rng.choice([0, 0.1, 0.3])), "rests": bool(rng.random() < 0.5)}
        made = [_published("timed", rows, trees[0], "atg-lattice", promise, MONDAY, MONDAY + DAY, TOTAL, THIRDS)]
        releases.insert(int(rng.integers(len(releases) + 1)), [matrix for matrix in made if matrix is not None])
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
        return [
            (rows[rows["time"] == start], start, end, TOTAL)
            for start, end in zip(THIRDS.start, THIRDS.end, strict=True)
        ]
    return [(rows, MONDAY, MONDAY + DAY, TOTAL)]


def _published(
    name, rows, tree, algorithm, promise, start, end, segment, times: Times | None = None
) -> PublishedMatrix | None:
    told = rows.assign(bin=((rows["time"] - MONDAY) // _HOURS).astype("int64"))
    od = ODMatrix.from_frame(told, tree, tree, time=times and "bin", times=times)
    try:
        made = registry.create("anonymize", algorithm, promise).anonymize(od, tree, tree)
    except OdanonError:
        return None
    sides = area_tiles(made.origins, tree), area_tiles(made.destinations, tree)
    intervals = None if times is None else _intervals(area_tiles(made.times, times.tree), times)
    content = Content(made.flows, *sides, rows, times=intervals)
    bins = () if times is None else tuple(((first, last),) for first, last in zip(times.start, times.end, strict=True))
    return PublishedMatrix(name, name, "phones", start, end, promise["k"], "persons", lambda: content, segment, bins)


def _intervals(intervals: pd.DataFrame, times: Times) -> pd.DataFrame:
    """The intervals with the starts of their bins, as rows tell them."""
    start = dict(zip(times.tree.label[times.tree.tiles], map(pd.Timestamp, times.start), strict=True))
    return intervals.assign(tile=intervals["tile"].map(start).astype("datetime64[us, UTC]"))
