"""A town of squares whose releases hold rests, and the same releases as dense tables of cells."""

from datetime import date, timedelta
from functools import lru_cache

import numpy as np
import pandas as pd
import shapely
from bundles import bundle
from pooled import Pooled
from shapely.geometry import box

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.model.tiles import Tiles
from odanon.model.zones import release_zones
from odanon.reconstruct.areas import ground
from odanon.reconstruct.even import over_ground
from odanon.reconstruct.prior import TileWeights
from odanon.reconstruct.readings import READINGS, spread_column, zone_weights
from odanon.reconstruct.weights import weigh
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle

SIDE, SIZE, K = 8, 0.01, 6  # squares along a side, degrees of a square, people behind a row
_LEVELS = (1, 2, 4, 8)  # squares along the side of an area
_AT = [(step, x, y) for step in _LEVELS for x in range(0, SIDE, step) for y in range(0, SIDE, step)]
_ABOVE = {(step, x, y): (2 * step, x // (2 * step) * 2 * step, y // (2 * step) * 2 * step) for step, x, y in _AT}
_LABEL = [f"{step}:{x}{y}" for step, x, y in _AT]
_PARENT = [_AT.index(_ABOVE[at]) if _ABOVE[at] in _AT else -1 for at in _AT]
TREE = Hierarchy.from_parents(_LABEL, _PARENT, kind="table", coverage="full")
SQUARE = {f"1:{x}{y}": (x * SIZE, y * SIZE, (x + 1) * SIZE, (y + 1) * SIZE) for x in range(SIDE) for y in range(SIDE)}
TILES = Tiles(
    np.array(sorted(SQUARE), object),
    np.array([(SQUARE[name][1] + SQUARE[name][3]) / 2 for name in sorted(SQUARE)]),
    np.array([(SQUARE[name][0] + SQUARE[name][2]) / 2 for name in sorted(SQUARE)]),
    "table",
    draw=lambda: np.array([shapely.multipolygons([box(*SQUARE[name])]) for name in sorted(SQUARE)], dtype=object),
)
_GIVEN = [np.random.default_rng(side).pareto(1.0, 64) * (np.arange(64) % 5 > 0) for side in (0, 1)]
PRIOR = TileWeights(
    *(pd.Series(given, TREE.label[TREE.tiles], name="people") for given in _GIVEN)
)  # every fifth has none


@lru_cache
def rested(seed: int, bins: int = 2) -> tuple[Release, ...]:
    """A release of each time bin: busy squares, thin ones, and rests of what is too thin."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(bins):
        n = int(rng.integers(400, 1200))
        pull = rng.pareto(1.0, TREE.n_leaves) + 0.1
        origin, destination = rng.choice(TREE.n_leaves, (2, n), p=pull / pull.sum())
        od = ODMatrix.from_arrays(origin, destination, rng.integers(1, 4, n), rng.integers(0, n, n))
        made.append(Pooled(k=K).anonymize(od, TREE, TREE))
    return tuple(made)


def rested_bundle(
    day: date, seed: int, product: str = "rested", *, split: bool = False, reading: str = "even"
) -> Bundle:
    """The releases of a seed as one day of hourly bins; if split, every other row is told by two segments."""
    start = pd.Timestamp(day, tz="UTC")
    parts = []
    for hour, made in enumerate(rested(seed)):
        flows = made.flows.astype({"origin": "str", "destination": "str", "kind": "str"})
        flows = flows.assign(
            segment="all", time_start=start + timedelta(hours=hour), time_end=start + timedelta(hours=hour + 1)
        )
        if split:
            few, many = flows.iloc[::2], flows.iloc[::2]["trips"] // 3
            parts += [few.assign(segment="F", trips=many), few.assign(segment="M", trips=few["trips"] - many)]
            flows = flows.iloc[1::2]
        parts.append(flows)
    told = pd.concat(parts, ignore_index=True)
    told = told.astype(dict.fromkeys(("time_start", "time_end"), "datetime64[us, UTC]"))
    zones = release_zones(rested(seed), TREE, TILES)
    base = bundle(trips=seed, product=product, day=day, zones=zones)
    flows = told.rename(columns={"origin": "origin_zone", "destination": "destination_zone"}).assign(
        product=product, window_start=day, persons_band="6-11", release_id=base.release_id
    )
    tiles = PRIOR.drawn(zones, TREE, TILES)
    size = pd.Series(ground(zones.geometry.to_numpy()) / 1e6, zones["zone_id"])
    weighted = weigh(flows, zones, TREE, zone_weights(tiles, size))
    flows["spread"] = over_ground(flows, zones, TREE)
    for name in READINGS[2:]:
        flows[spread_column(name)] = weighted.spread[name]
    manifest = {**base.manifest, "reading": reading, "readings": [*READINGS[1:]]}
    manifest["weights"] = {"columns": PRIOR.names, "sha256": "0" * 64}
    told = flows[list(FLOW_COLUMNS)]
    return Bundle(product, day, base.release_id, told, zones, base.report, manifest, weighted.table, tiles)


def dense(made: Release, weights: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
    """Trips of every pair of tiles: each row's spread over the cells that no smaller row holds, evenly or by weights of tiles."""
    volume = made.flows["trips"].to_numpy(float)
    measure = np.ones((TREE.n_leaves, TREE.n_leaves)) if weights is None else np.outer(*weights)
    node = {label: number for number, label in enumerate(TREE.label)}
    owner = np.full((TREE.n_leaves, TREE.n_leaves), -1)
    ends = list(zip(made.flows["origin"], made.flows["destination"], strict=True))
    size = [TREE.n_tiles[node[o]] * TREE.n_tiles[node[d]] for o, d in ends]
    for number in np.argsort([-s for s in size], kind="stable"):
        o, d = (node[end] for end in ends[number])
        owner[TREE.tile_start[o] : TREE.tile_end[o], TREE.tile_start[d] : TREE.tile_end[d]] = number
    density = np.array([volume[n] / measure[owner == n].sum() for n in range(len(ends))])
    return np.append(density, 0.0)[owner] * measure


def between(cells: np.ndarray, origin: tuple[float, ...], destination: tuple[float, ...]) -> float:
    """Trips of dense cells from one rectangle (west, south, east, north) to another."""
    shares = [
        np.array([_share(SQUARE[name], area) for name in TREE.label[TREE.tiles]]) for area in (origin, destination)
    ]
    return float(shares[0] @ cells @ shares[1])


def _share(square: tuple[float, ...], area: tuple[float, ...]) -> float:
    across = max(0.0, min(square[2], area[2]) - max(square[0], area[0])) / SIZE
    along = max(0.0, min(square[3], area[3]) - max(square[1], area[1])) / SIZE
    return across * along
