"""A small town whose true trips are known by the half hour, and random releases of it in areas and time, with rests."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache

import geopandas
import numpy as np
import pandas as pd
import shapely
from bundles import bundle
from shapely.geometry import MultiPolygon, box

from odanon.model.hierarchy import Hierarchy
from odanon.model.window import Times
from odanon.reconstruct.areas import ground
from odanon.reconstruct.even import over_ground
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle

SIDE, SIZE, BINS, HALVES = 4, 0.01, 4, 8
_AT = [(step, x, y) for step in (1, 2, 4) for x in range(0, SIDE, step) for y in range(0, SIDE, step)]
_UP = [
    next((n for n, (s, i, j) in enumerate(_AT) if s == 2 * step and 0 <= x - i < s and 0 <= y - j < s), -1)
    for step, x, y in _AT
]
TREE = Hierarchy.from_parents([f"{step}:{x}{y}" for step, x, y in _AT], _UP, kind="table", coverage="full")
LEAVES = [str(name) for name in TREE.label[TREE.tiles]]
SQUARES = [box(int(n[2]) * SIZE, int(n[3]) * SIZE, (int(n[2]) + 1) * SIZE, (int(n[3]) + 1) * SIZE) for n in LEAVES]
GROUND = ground(np.array(SQUARES, dtype=object))
_SPANS = {(0, 4): [(0, 2), (2, 4)], (0, 2): [(0, 1), (1, 2)], (2, 4): [(2, 3), (3, 4)]}  # of bins
Mask = np.ndarray  # by origin tile, destination tile and half hour


@dataclass(frozen=True, eq=False)
class Town:
    """One day: `trips` by origin, destination and half hour, and rows (origin node, destination node, bins, kind, own region)."""

    day: date
    trips: np.ndarray
    rows: list[tuple[int, int, tuple[int, int], str, Mask]]

    @classmethod
    @lru_cache
    def of(cls, seed: int, day: date) -> "Town":
        rng = np.random.default_rng(seed)
        town = cls(day, rng.poisson(rng.pareto(1.5, (16, 16, HALVES))), [])
        town._told(rng, TREE.root, TREE.root, (0, BINS))
        return town

    def product(self, origin: int, destination: int, bins: tuple[int, int]) -> Mask:
        mask = np.zeros(self.trips.shape, dtype=bool)
        ends = [slice(TREE.tile_start[node], TREE.tile_end[node]) for node in (origin, destination)]
        mask[ends[0], ends[1], 2 * bins[0] : 2 * bins[1]] = True
        return mask

    def _told(self, rng: np.random.Generator, a: int, b: int, t: tuple[int, int]) -> Mask:
        """Rows for a product of areas and time; returns what none of them covers."""
        whole = self.product(a, b, t)
        parts = [
            [(x, b, t) for x in np.flatnonzero(TREE.parent == a)],
            [(a, x, t) for x in np.flatnonzero(TREE.parent == b)],
        ]
        parts = [part for part in (*parts, [(a, b, x) for x in _SPANS.get(t, [])]) if part]
        if not parts or (rng.random() < 0.25 and a != TREE.root):
            if rng.random() < 0.3 or not self.trips[whole].any():
                return whole
            self.rows.append((a, b, t, "flow", whole))
            return np.zeros_like(whole)
        left = np.logical_or.reduce([self._told(rng, *part) for part in parts[rng.integers(len(parts))]])
        if self.trips[left].any() and rng.random() < 0.4:
            self.rows.append((a, b, t, "rest", left))
            return np.zeros_like(left)
        return left

    @cached_property
    def bundle(self) -> Bundle:
        """As it is published; every third row by two segments."""
        start = pd.Timestamp(self.day, tz="UTC")
        told = pd.DataFrame(
            [
                (
                    start + timedelta(hours=t[0]),
                    start + timedelta(hours=t[1]),
                    TREE.label[a],
                    TREE.label[b],
                    kind,
                    self.trips[own].sum(),
                )
                for a, b, t, kind, own in self.rows
            ],
            columns=["time_start", "time_end", "origin_zone", "destination_zone", "kind", "trips"],
        )
        split, half = told.iloc[::3], told.iloc[::3]["trips"] // 3
        parts = [split.assign(segment="F", trips=half), split.assign(segment="M", trips=split["trips"] - half)]
        flows = pd.concat([*parts, told.drop(index=split.index).assign(segment="all")], ignore_index=True)
        flows = flows.astype({"time_start": "datetime64[us, UTC]", "time_end": "datetime64[us, UTC]"})
        zones = zones_of(sorted({*flows["origin_zone"], *flows["destination_zone"]}))
        times = Times.of([(start + timedelta(hours=n), start + timedelta(hours=n + 1)) for n in range(BINS)])
        base = bundle(product="told", day=self.day, zones=zones)
        flows = flows.assign(
            product="told",
            window_start=self.day,
            spread=over_ground(flows, zones, TREE, times),
            spread_fitted=np.nan,
            spread_prior=np.nan,
            persons_band="10-19",
            release_id=base.release_id,
        )
        return Bundle("told", self.day, base.release_id, flows[list(FLOW_COLUMNS)], zones, base.report, base.manifest)

    def asked(self, origins: list[int], destinations: list[int], halves: tuple[int, int]) -> Mask:
        mask = np.zeros(self.trips.shape, dtype=bool)
        mask[np.ix_(origins, destinations, range(*halves))] = True
        return mask

    def truth(self, asked: Mask) -> int:
        """The trips inside that some row counts."""
        told = np.logical_or.reduce([own for *_, own in self.rows])
        return int(self.trips[asked & told].sum())

    def counted(self, number: int, segment: str | None) -> float:
        """The trips of a row, or of one segment of it."""
        trips = int(self.trips[self.rows[number][4]].sum())
        parts = {"F": trips // 3, "M": trips - trips // 3} if number % 3 == 0 else {"all": trips}
        return float(trips if segment is None else parts.get(segment, 0))

    def expected(self, asked: Mask, segment: str | None = None) -> tuple[float, float, float]:
        """low, estimate and high, cell by cell: the slow twin of both stores."""
        size = GROUND[:, None, None] * GROUND[None, :, None] * np.ones(HALVES)
        low = estimate = high = 0.0
        for number, (a, b, t, _, own) in enumerate(self.rows):
            trips = self.counted(number, segment)
            low += trips * (not (self.product(a, b, t) & ~asked).any())
            estimate += trips * size[own & asked].sum() / size[own].sum()
            high += trips * (own & asked).any()
        return low, estimate, high

    def hours(self, asked: Mask) -> float:
        """How long rows are that may have trips inside, in the mean of their trips; nan for none."""
        met = [(float(self.trips[own].sum()), t[1] - t[0]) for _, _, t, _, own in self.rows if (own & asked).any()]
        return sum(trips * hours for trips, hours in met) / sum(trips for trips, _ in met) if met else float("nan")

    def followed(self, asked: Mask) -> float:
        """The estimate with flows that follow all that leaves their origin and enters their destination, cell by cell."""
        size, total = GROUND[:, None, None] * GROUND[None, :, None] * np.ones(HALVES), 0.0
        for a, b, _, kind, own in self.rows:
            weight = size.copy()
            if kind == "flow":
                leave = self._cells[TREE.tile_start[a] : TREE.tile_end[a]].sum(axis=(0, 1))
                enter = self._cells[:, TREE.tile_start[b] : TREE.tile_end[b]].sum(axis=(0, 1))
                weight = weight * (leave + enter)
            total += float(self.trips[own].sum()) * weight[own & asked].sum() / weight[own].sum()
        return total

    @cached_property
    def _cells(self) -> np.ndarray:
        """The trips of every cell by the even reading."""
        size, cells = GROUND[:, None, None] * GROUND[None, :, None] * np.ones(HALVES), np.zeros(self.trips.shape)
        for *_, own in self.rows:
            cells[own] += self.trips[own].sum() * size[own] / size[own].sum()
        return cells


def drawn(tiles: list[int]) -> shapely.Geometry:
    """The area that tiles make up."""
    return shapely.union_all([SQUARES[tile] for tile in tiles])


def zones_of(names: list[str]) -> geopandas.GeoDataFrame:
    """In no order that tells which lies in which."""
    node = {str(label): number for number, label in enumerate(TREE.label)}
    inside = [list(range(TREE.tile_start[node[name]], TREE.tile_end[node[name]])) for name in names]
    shapes = [drawn(tiles) for tiles in inside]
    return geopandas.GeoDataFrame(
        {
            "zone_id": pd.array(names, dtype="str"),
            "name": pd.array([None] * len(names), dtype="str"),
            "hierarchy": pd.array(["table"] * len(names), dtype="str"),
            "level": np.array([int(name[0]) for name in names], dtype=np.int16),
            "n_tiles": [len(tiles) for tiles in inside],
            "area_km2": 1.0,
            "tiles": [[LEAVES[tile] for tile in tiles] for tiles in inside],
        },
        geometry=[MultiPolygon([shape]) for shape in shapes],
        crs="EPSG:4326",
    )
