"""What a reader of larger areas gets: the error of the matrix between regions of about equal traffic."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.geo.h3steps import cells_within
from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, named, rows_by_bin, unnamed
from odanon.model.areas import Areas
from odanon.model.figure import Figure
from odanon.model.geometry import h3_names
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin
from odanon.reconstruct.layout import Layout
from odanon.reconstruct.regions import bisected

_REGIONS = (12, 30, 100)
_POINTS = 49  # that stand for the tiles of a large H3 area
_FIGURES = tuple(
    Figure(
        f"areas_error_{n}",
        f"error on {n} areas",
        f"of the matrix between {n} areas of about equal traffic, by its trips: 0 is perfect, 2 the worst",
        public=f"areas_error_{n}",
        tells_suppressed="yes",
        symbol=f"{n} areas",
        best="least",
        headline=n == 30,
    )
    for n in _REGIONS
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@plugin
class AreasError(Measured):
    """Error of the matrix between 12, 30 and 100 areas of about equal traffic that the release is read on."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    @classmethod
    def applicable(cls, od: ODMatrix, release: Release) -> "list[AreasError]":
        """None where nobody knows where the tiles lie, or where areas do not nest."""
        known = od.ground is not None and Layout.of(release) is not None
        return super().applicable(od, release) if known else []

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Sum of |estimate - truth| over all pairs of regions, by V, with every row spread evenly over its tile pairs.

        Areas that do not nest, as boxes, and tiles that nobody can place are not measured.
        """
        seen = Volumes(od, release, self.measure)
        errors = dict.fromkeys(_REGIONS, float("nan"))
        if od.ground is not None and seen.layout is not None:
            places = _Places.of(od, od.ground, seen.layout, seen.pair)
            errors = {n: places.error(n, od, seen.layout, seen) for n in _REGIONS}
        figures = {f"areas_error_{n}_sum": error for n, error in errors.items()}
        return named({"volume": seen.total, **figures, **_shares(figures, seen.total)}, self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """Errors of all matrices of a window by all of their trips."""
        plain = unnamed(figures, self.measure)
        sums = {f"areas_error_{n}_sum": float(plain[f"areas_error_{n}_sum"].sum(skipna=False)) for n in _REGIONS}
        return named(_shares(sums, float(plain["volume"].sum())), self.measure)


def _shares(sums: dict[str, float], volume: float) -> dict[str, float]:
    return {name.removesuffix("_sum"): value / volume if volume else float("nan") for name, value in sums.items()}


@dataclass(frozen=True, eq=False)
class _Places:
    """Points of the map: tiles of both sides with their traffic, then places in the areas of both sides."""

    x: Floats
    y: Floats
    traffic: Floats
    area: tuple[Ints, Ints]  # whose places they are
    weight: tuple[Floats, Floats]  # tiles that each stands for
    first: Ints  # where each of the four kinds begins, and the end

    @classmethod
    def of(cls, od: ODMatrix, ground: Ground, layout: Layout, volume: Floats) -> "_Places":
        trees, ends = (ground.origins, ground.destinations), (od.pairs.origin, od.pairs.destination)
        found = [_inside(areas, tree) for areas, tree in zip(layout.areas, trees, strict=True)]
        lat = np.concatenate([*(tree.lat for tree in trees), *(lat for _, lat, _ in found)])
        lon = np.concatenate([*(tree.lon for tree in trees), *(lon for _, _, lon in found)])
        traffic = [np.bincount(end, volume, tree.n_leaves) for end, tree in zip(ends, trees, strict=True)]
        none = np.zeros(sum(len(area) for area, *_ in found))
        lengths = [*(tree.n_leaves for tree in trees), *(len(area) for area, *_ in found)]
        weight = [
            (areas.n_tiles / np.bincount(area, minlength=len(areas.label)))[area]
            for areas, (area, *_) in zip(layout.areas, found, strict=True)
        ]
        return cls(
            x=lon * np.cos(np.radians(np.mean(lat))),
            y=lat,
            traffic=np.concatenate([*traffic, none]),
            area=(found[0][0], found[1][0]),
            weight=(weight[0], weight[1]),
            first=np.concatenate([[0], np.cumsum(lengths)]),
        )

    def error(self, n: int, od: ODMatrix, layout: Layout, seen: Volumes) -> float:
        """The sum of |estimate - truth| between n regions, bin by bin where there are times."""
        from scipy.sparse import csr_array

        region = np.split(bisected(self.x, self.y, self.traffic, n), self.first[1:-1])
        sizes = [len(areas.label) for areas in layout.areas]
        tiles = [np.zeros((size, n)) for size in sizes]
        for side in (0, 1):
            np.add.at(tiles[side], (self.area[side], region[2 + side]), self.weight[side])
        density, pairs, error = layout.layered(seen.flow), od.pairs, 0.0
        bins: list[tuple[Ints | slice, Ints | slice, float]] = [(slice(None), slice(None), 1.0)]
        if od.times is not None:
            inside = rows_by_bin(seen.release, len(od.times))
            bins = [
                (rows, np.flatnonzero(pairs.time == at), float(od.times.weight[at])) for at, rows in enumerate(inside)
            ]
        for rows, mine, length in bins:
            where = layout.origin[rows], layout.destination[rows]
            spread = csr_array((density[rows] * length, where), shape=tuple(sizes))
            estimate, truth = tiles[0].T @ (spread @ tiles[1]), np.zeros((n, n))
            np.add.at(truth, (region[0][pairs.origin[mine]], region[1][pairs.destination[mine]]), seen.pair[mine])
            error += float(np.abs(estimate - truth).sum())
        return error


def _inside(areas: Areas, tree: Hierarchy) -> tuple[Ints, Floats, Floats]:
    """(area, latitude, longitude) of places in every area: its tiles, or cells of H3 where the tree holds only visited tiles."""
    assert tree.lat is not None
    assert tree.lon is not None
    if tree.n_tiles[-1] == tree.n_leaves:
        area = np.repeat(np.arange(len(areas.label)), np.diff(areas.start))
        return area, tree.lat[areas.members], tree.lon[areas.members]
    nodes = pd.Index(tree.label).get_indexer(pd.Index(areas.label)).tolist()
    tile = str(tree.label[tree.tiles[0]])
    places = [_cells(h3_names(tree, node), tile) for node in nodes]
    area = np.repeat(np.arange(len(places)), [len(each) for each in places])
    lat, lon = np.concatenate([*places, np.empty((0, 2))]).T
    return area, lat, lon


@lru_cache(maxsize=100_000)
def _cells(labels: tuple[str, ...], tile: str) -> Floats:
    """Where cells lie that make up H3 zones; the same zones come back in every time bin."""
    import h3

    return np.array([h3.cell_to_latlng(cell) for cell in cells_within(labels, tile, _POINTS)])
