"""What a reader of larger areas gets: the error of the matrix between regions of about equal traffic, read evenly and fitted."""

from collections.abc import Iterator
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
from odanon.reconstruct.nested import Nested
from odanon.reconstruct.regions import bisected

_REGIONS = (12, 30, 100)
_POINTS = 49  # that stand for the tiles of a large H3 area
_NOTHING = 1e-9  # a share below this is rounding
_READINGS = {"": "with flows spread evenly", "_fitted": "with flows spread as all published numbers together suggest"}
_FIGURES = tuple(
    Figure(
        f"areas_error_{n}{suffix}",
        f"error on {n} areas{suffix.replace('_', ', ')}",
        f"of the matrix between {n} areas of about equal traffic, {spread}, by its trips: 0 is perfect, publishing nothing scores 1",
        public=f"areas_error_{n}{suffix}",
        tells_suppressed="yes",
        symbol=f"{n} areas{suffix.replace('_', ' ')}",
        best="least",
        headline=n == 30 and not suffix,
    )
    for suffix, spread in _READINGS.items()
    for n in _REGIONS
)
_SUMS = tuple(f"areas_error_{n}{suffix}_sum" for n in _REGIONS for suffix in _READINGS)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = Ints | slice


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
        """Sum of |estimate - truth| over all pairs of regions, by V, with every row spread evenly over its tile pairs, or fitted.

        Areas that do not nest, as boxes, and tiles that nobody can place are not measured.
        """
        seen = Volumes(od, release, self.measure)
        figures = dict.fromkeys(_SUMS, float("nan"))
        if od.ground is not None and (layout := seen.layout) is not None:
            places = _Places.of(od, od.ground, layout, seen.pair)
            fitted = layout.fitted(seen.flow) if od.times is None else None
            for n in _REGIONS:
                found = places.errors(n, od, layout, seen, fitted)
                figures |= {f"areas_error_{n}{suffix}_sum": error for suffix, error in found.items()}
        return named({"volume": seen.total, **figures, **_shares(figures, seen.total)}, self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """Errors of all matrices of a window by all of their trips."""
        plain = unnamed(figures, self.measure)
        sums = {name: float(plain[name].sum(skipna=False)) for name in _SUMS}
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

    def errors(
        self, n: int, od: ODMatrix, layout: Layout, seen: Volumes, fitted: tuple[Floats, Floats] | None
    ) -> dict[str, float]:
        """The sum of |estimate - truth| between n regions, bin by bin where there are times, by reading."""
        region = np.split(bisected(self.x, self.y, self.traffic, n), self.first[1:-1])
        tiles = [np.zeros((len(areas.label), n)) for areas in layout.areas]
        for side in (0, 1):
            np.add.at(tiles[side], (self.area[side], region[2 + side]), self.weight[side])
        readings = {"": (tiles, layout.layered(seen.flow))}
        if fitted is not None:
            nested = layout.origins, layout.destinations
            sides = zip(nested, zip(tiles, fitted, strict=True), strict=True)
            by_weight = [_weighed(side, *each) for side, each in sides]
            totals = [side.total(weight) for side, weight in zip(nested, fitted, strict=True)]
            readings["_fitted"] = by_weight, layout.layered(seen.flow, *totals)
        found = dict.fromkeys(readings, 0.0)
        for rows, mine, length in _bins(od, seen):
            truth, pairs = np.zeros((n, n)), od.pairs
            np.add.at(truth, (region[0][pairs.origin[mine]], region[1][pairs.destination[mine]]), seen.pair[mine])
            for suffix, (held, density) in readings.items():
                estimate = _between(layout, rows, density * length, held)
                found[suffix] += float(np.abs(estimate - truth).sum())
        return found


def _bins(od: ODMatrix, seen: Volumes) -> Iterator[tuple[Rows, Rows, float]]:
    """The rows, pairs and length of every bin; all of them where there are no times."""
    if od.times is None:
        yield slice(None), slice(None), 1.0
        return
    for at, rows in enumerate(rows_by_bin(seen.release, len(od.times))):
        yield rows, np.flatnonzero(od.pairs.time == at), float(od.times.weight[at])


def _between(layout: Layout, rows: Rows, density: Floats, held: list[Floats]) -> Floats:
    """What some rows put between regions, from what every area holds of each region."""
    from scipy.sparse import csr_array

    where, shape = (layout.origin[rows], layout.destination[rows]), (len(held[0]), len(held[1]))
    return held[0].T @ (csr_array((density[rows], where), shape=shape) @ held[1])


def _weighed(nested: Nested, tiles: Floats, weight: Floats) -> Floats:
    """The weight of every area in each region, if that of its own part spreads evenly over the tiles of this part.

    Where areas are known by a few of their places, what is left for an own part may be off, or nothing; then it lies as the whole area does.
    """
    own, inner = tiles.copy(), nested.around >= 0
    np.subtract.at(own, nested.around[inner], tiles[inner])
    own = np.maximum(own, 0.0)
    own = np.where(own.sum(axis=1, keepdims=True) > _NOTHING * tiles.sum(axis=1, keepdims=True), own, tiles)
    held = own * (weight / own.sum(axis=1))[:, None]
    sums = np.vstack([np.zeros(held.shape[1]), np.cumsum(held, axis=0)])
    return sums[1:] - sums[nested.first]


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
