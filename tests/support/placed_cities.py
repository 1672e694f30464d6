"""Small cities whose tiles have places, and the promise counted with sets: for methods that work on coordinates."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.places.points import PointProblem
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

STEP = 0.01  # degrees between tiles


def grid_tree(x: Any, y: Any) -> Hierarchy:
    """A root and tiles on a grid of degrees near the equator, named t0, t1, ... (ten at most, so ranks are numbers)."""
    n = len(x)
    label = [f"t{i}" for i in range(n)]
    tree = Hierarchy.from_parents([*label, "all"], [n] * n + [-1], kind="test")
    return tree.placed(np.array(label, dtype=object), STEP * np.asarray(y, float), STEP * np.asarray(x, float))


@dataclass(frozen=True)
class City:
    """A matrix and the whole-number coordinates of its tiles."""

    od: ODMatrix
    x: np.ndarray
    y: np.ndarray

    @property
    def tree(self) -> Hierarchy:
        return grid_tree(self.x, self.y)

    @property
    def points(self) -> np.ndarray:
        """(4, pairs) as the kernels take them, with exact ties."""
        pairs = self.od.pairs
        ends = pairs.origin, pairs.destination
        return np.stack([axis[end] for end in ends for axis in (self.x, self.y)]).astype(np.int64)

    def problem(self, promise: Anonymizer) -> PointProblem:
        return PointProblem(self.od, self.tree, self.tree, promise)


def city(rows: list[tuple[int, int, int, int]], x: Any, y: Any) -> City:
    """From (origin, destination, trips, person) and the places of the tiles."""
    o, d, trips, person = np.array(rows).T
    weight = (1 + person % 5) / 4
    return City(ODMatrix.from_arrays(o, d, trips, person, weight), np.array(x), np.array(y))


@st.composite
def cities(draw: st.DrawFn, max_rows: int = 50) -> City:
    """Few people with several trips each between up to ten tiles, some of them in one place."""
    n = draw(st.integers(1, 10))
    place = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    tile = st.integers(0, n - 1)
    row = st.tuples(tile, tile, st.integers(1, 5), st.integers(0, 11))
    return city(draw(st.lists(row, min_size=1, max_size=max_rows)), draw(place), draw(place))


def promises(cls: type, **fixed: Any) -> st.SearchStrategy:
    """Promises of a plugin with every unit and at most one extra limit that it honours."""
    extra = st.sampled_from(
        [
            {"unit": "trips"},
            {"unit": "persons"},
            {"unit": "vehicles"},
            {"unit": "population", "k_population": 2.75},
            {"unit": "persons", "min_tiles": 2},
            {"unit": "trips", "min_tiles": 2},
            {"unit": "persons", "max_dominance": 0.4},
            {"unit": "population", "k_population": 2.75, "max_dominance": 0.4},
            {"unit": "persons", "max_dominance": 0.4, "contribution_cap": 2},
            {"unit": "persons", "contribution_cap": 1},
        ]
    )
    return st.builds(
        lambda k, suppression, extra: cls(k=k, suppression=suppression, **extra, **fixed),
        st.integers(2, 6),
        st.sampled_from([0.0, 0.1, 0.3]),
        extra,
    )


def allowed(od: ODMatrix, pairs: list[int], promise: Anonymizer) -> bool:
    """Whether the flow made of some tile pairs keeps the promise."""
    rows = np.isin(od.row_pair, pairs)
    by_person: Counter[int] = Counter()
    for person, trips in zip(od.person[rows].tolist(), od.trips[rows].tolist(), strict=True):
        by_person[person] += trips
    units = sum(by_person.values()) if promise.unit == "trips" else len(by_person)
    tiles = min(len(set(end[pairs].tolist())) for end in (od.pairs.origin, od.pairs.destination))
    if units < promise.k or tiles < promise.min_tiles:
        return False
    if promise.k_population is not None and od.weight[rows].sum() < promise.k_population:
        return False
    if promise.max_dominance is None:
        return True
    counted = [min(trips, promise.contribution_cap or trips) for trips in by_person.values()]
    weighed: Counter[int] = Counter()
    if promise.unit == "population":
        for person, weight in zip(od.person[rows].tolist(), od.weight[rows].tolist(), strict=True):
            weighed[person] += weight
    return all(max(all_, default=0) <= promise.max_dominance * sum(all_) for all_ in (counted, weighed.values()))
