"""t-closeness as a measured check: how far the destinations of an origin area are from everybody's."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release

_MAX_CELLS = 50_000_000  # origins x tiles; beyond that evenly spaced origins are measured
MOST_MOVED = 16  # origins whose earth mover's distance is solved, evenly spaced: 5 ms each
_BINS = 8  # a side: the earth mover works on the means of 8 x 8 groups of tiles
_KM_PER_DEGREE = 111.2

Floats = npt.NDArray[np.float64]


def closeness(
    release: Release, destinations: Hierarchy, origins: pd.Index, most_moved: int = MOST_MOVED
) -> pd.DataFrame:
    """By origin area: total variation and, where centroids are known, earth mover's distance in km.

    A flow's trips are spread evenly over the visited tiles of its destination. Origins that are not
    measured are NaN.
    """
    code = origins.get_indexer(pd.Index(release.flows["origin"].astype("str")))
    trips = release.flows["trips"].to_numpy(np.float64)
    by_flow = _Spread(release)
    everybody = by_flow.over_tiles(np.arange(len(trips)), trips, destinations.n_leaves)
    some = _evenly(len(origins), max(1, _MAX_CELLS // destinations.n_leaves))
    moved = set(_evenly(len(origins), most_moved).tolist())
    ground = _Ground.of(destinations)
    variation, earth_mover = np.full(len(origins), np.nan), np.full(len(origins), np.nan)
    for number in some.tolist():
        mine = np.flatnonzero(code == number)
        theirs = by_flow.over_tiles(mine, trips[mine], destinations.n_leaves)
        variation[number] = 0.5 * np.abs(theirs - everybody).sum()
        if ground is not None and number in moved:
            earth_mover[number] = ground.earth_mover(theirs, everybody)
    figures = {"total_variation": variation, **({} if ground is None else {"earth_mover_km": earth_mover})}
    return pd.DataFrame(figures, index=origins)


def _evenly(n: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


class _Spread:
    """Spreads the trips of flows over the tiles of their destination areas."""

    def __init__(self, release: Release) -> None:
        areas = release.destinations
        number = pd.Index(areas.label.astype(str)).get_indexer(pd.Index(release.flows["destination"].astype("str")))
        self.first, self.length = areas.start[number], np.diff(areas.start)[number]
        self.members = areas.members

    def over_tiles(self, flows: npt.NDArray[np.int64], trips: Floats, n_tiles: int) -> Floats:
        """The distribution of the flows' trips over tiles; it adds up to 1."""
        length = self.length[flows]
        step = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        tile = self.members[np.repeat(self.first[flows], length) + step]
        return np.bincount(tile, np.repeat(trips / length, length), n_tiles) / trips.sum()


class _Ground:
    """Groups of neighbouring tiles and the distances between their means."""

    def __init__(self, group: npt.NDArray[np.int64], distance: Floats) -> None:
        self.group, self.distance = group, distance

    @classmethod
    def of(cls, tree: Hierarchy) -> "_Ground | None":
        """Groups by rank of latitude, then of longitude; None where nobody knows the centroids."""
        if tree.lat is None or tree.lon is None:
            return None
        row = _equal_parts(tree.lat)
        column = np.zeros_like(row)
        for number in np.unique(row):
            column[row == number] = _equal_parts(tree.lon[row == number])
        _, group = np.unique(row * _BINS + column, return_inverse=True)
        size = np.bincount(group)
        y = np.bincount(group, tree.lat) / size * _KM_PER_DEGREE
        x = np.bincount(group, tree.lon) / size * _KM_PER_DEGREE * np.cos(np.radians(tree.lat.mean()))
        return cls(group, np.hypot(x[:, None] - x, y[:, None] - y))

    def earth_mover(self, one: Floats, two: Floats) -> float:
        """The least mean distance in km that turns one distribution into the other."""
        from scipy.optimize import linprog

        n = len(self.distance)
        surplus = np.bincount(self.group, one - two, n)
        give, take = np.flatnonzero(surplus > 1e-12), np.flatnonzero(surplus < -1e-12)
        if not len(give) or not len(take):
            return 0.0
        cost = self.distance[np.ix_(give, take)].ravel()
        sides = np.kron(np.eye(len(give)), np.ones(len(take))), np.kron(np.ones(len(give)), np.eye(len(take)))
        sent = surplus[give]
        wanted = -surplus[take] * (sent.sum() / -surplus[take].sum())  # equal sums in spite of rounding
        found = linprog(cost, A_eq=np.vstack(sides), b_eq=np.concatenate([sent, wanted]), method="highs")
        return float(found.fun)


def _equal_parts(values: Floats) -> npt.NDArray[np.int64]:
    """The part of each value when the sorted values are cut into `_BINS` equally long runs."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return rank * _BINS // len(values)
