"""A generated release in the published schema: H3 areas of mixed levels that nest and overlap; and a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from browser import FRAMES, find_browser, probed

from odanon.metrics.declared import every_figure

LYON = (45.76, 4.84)
TILE, ROOT = 9, 6
K = 10
Release = tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]


@pytest.fixture(scope="session")
def browser() -> str:
    """A real browser; the tests fail, never skip, when there is none."""
    return find_browser()


@pytest.fixture
def probe(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Opens a page, runs a script in it and returns the JSON that the script leaves in an element with id `probe`."""

    def open_page(page: str, script: str, address: str = "", wait_ms: int = 4000) -> dict[str, Any]:
        folder: Path = tmp_path_factory.mktemp("browser")
        file = folder / "report.html"
        page = page.replace("<head>", f"<head><script>{FRAMES}</script>", 1)
        file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        return probed(browser, f"{file.as_uri()}#{address}", folder / "profile", wait_ms)

    return open_page


@pytest.fixture(scope="session")
def make_release() -> Callable[..., Release]:
    return generate_release


@pytest.fixture(scope="session")
def small_release() -> Release:
    return generate_release(trips=8_000, bins=4, radius=25)


def generate_release(trips: int, bins: int = 24, radius: int = 60, seed: int = 7) -> Release:
    """A day of trips in a city with one large and a few smaller centres, generalised bin by bin.

    Origins split while nearly all of their trips stay above the threshold; then, within each origin, so do
    its destinations. People are not simulated: a trip stands for a person.
    """
    random = np.random.default_rng(seed)
    tiles = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(*LYON, TILE), radius)))
    place = np.array([h3.cell_to_latlng(tile) for tile in tiles])
    x, y = (place[:, 1] - LYON[1]) * 77.6, (place[:, 0] - LYON[0]) * 111.3
    homes = _pull(x, y, [(0, 0, 4.0, 1), (3, 0.5, 2.5, 0.8), (-4, 4, 2.5, 0.4), (2, -6, 3, 0.5)], random)
    works = _pull(x, y, [(0.5, 0.5, 1.2, 1), (1.8, 0, 0.8, 1), (-1, -3.5, 1, 0.5), (5, -3, 1.5, 0.5)], random)

    day = np.array([1, 1, 1, 1, 2, 5, 12, 28, 32, 17, 13, 15, 19, 17, 14, 15, 21, 30, 29, 20, 12, 8, 5, 2.0])
    hours = np.linspace(0, 23, bins).round().astype(int)
    rows = []
    for hour, n in zip(hours, random.multinomial(trips, day[hours] / day[hours].sum()), strict=True):
        outward = 0.85 if hour < 12 else 0.25  # to work in the morning, home in the evening
        start = np.where(random.random(n) < outward, 0, 1)
        ends = [random.choice(len(tiles), n, p=p) for p in (homes, works)]
        near = random.random(n) < 0.35
        o = np.where(start == 0, ends[0], ends[1])
        d = np.where(near, _nearby(o, x, y, random), np.where(start == 0, ends[1], ends[0]))
        stamp = pd.Timestamp("2026-03-10", tz="Europe/Paris") + pd.Timedelta(hours=int(hour))
        rows += [(stamp.tz_convert("UTC"), *flow) for flow in _generalise(tiles[o], tiles[d])]
    flows = pd.DataFrame(rows, columns=["time_start", "origin_zone", "destination_zone", "trips"])
    flows.insert(1, "time_end", flows["time_start"] + pd.Timedelta(hours=1))
    flows["persons_band"] = pd.cut(
        flows["trips"], [0, 9, 19, 49, 99, np.inf], labels=["<10", "10-19", "20-49", "50-99", "100+"]
    ).astype(str)
    flows["kind"], flows["spread"] = "flow", flows["trips"].astype(float)
    flows = flows.assign(product="lyon", window_start=pd.Timestamp("2026-03-10").date(), segment="all", release_id="r1")
    zones = _zones(pd.unique(pd.concat([flows["origin_zone"], flows["destination_zone"]])))
    return flows, zones, _record(flows, zones, trips)


def _pull(x: np.ndarray, y: np.ndarray, centres: list, random: np.random.Generator) -> np.ndarray:
    weight = sum(w * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * s**2)) for cx, cy, s, w in centres)
    weight = weight * random.gamma(1.2, 1, len(x))
    return weight / weight.sum()


def _nearby(o: np.ndarray, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    from scipy.spatial import cKDTree

    shift = random.normal(0, 0.9, (len(o), 2))
    return cKDTree(np.c_[x, y]).query(np.c_[x[o], y[o]] + shift)[1]


def _generalise(o: np.ndarray, d: np.ndarray) -> list[tuple[str, str, int]]:
    flows = []
    for origin, rows in _split(o, floor=12 * K):
        flows += [(origin, destination, len(part)) for destination, part in _split(d[rows], floor=K)]
    return flows


def _split(tile: np.ndarray, floor: int, level: int = ROOT, rows: np.ndarray | None = None) -> list:
    """Cells of several levels, each with at least `floor` rows; at most a tenth of a cell is lost by splitting it."""
    rows = np.arange(len(tile)) if rows is None else rows
    parent = np.array([h3.cell_to_parent(t, level) for t in tile[rows]])
    found = []
    for cell in np.unique(parent):
        inside = rows[parent == cell]
        if len(inside) < floor:
            continue
        finer = _split(tile, floor, level + 1, inside) if level < TILE else []
        kept = sum(len(part) for _, part in finer)
        found += finer if kept >= 0.9 * len(inside) else [(cell, inside)]
    return found


def _zones(ids: np.ndarray) -> pd.DataFrame:
    level = [h3.get_resolution(cell) for cell in ids]
    rings = [[(lng, lat) for lat, lng in h3.cell_to_boundary(cell)] for cell in ids]
    return pd.DataFrame(
        {
            "zone_id": ids,
            "hierarchy": "h3",
            "level": level,
            "n_tiles": [7 ** (TILE - r) for r in level],
            "area_km2": [h3.cell_area(cell, unit="km^2") for cell in ids],
            "geometry": [shapely.MultiPolygon([shapely.Polygon(ring)]) for ring in rings],
        }
    )


def _record(flows: pd.DataFrame, zones: pd.DataFrame, trips: int) -> dict[str, Any]:
    tiles = zones.set_index("zone_id")["n_tiles"]
    size = tiles[flows["origin_zone"]].to_numpy() + tiles[flows["destination_zone"]].to_numpy()
    kept = int(flows["trips"].sum())
    return {
        "release_id": "r1",
        "product": "lyon",
        "title": "Hourly trips in greater Lyon",
        "owner": "mobility-team",
        "window_start": "2026-03-10",
        "timezone": "Europe/Paris",
        "licence": "CC-BY-4.0",
        "parameters": {"algorithm": "atg-joint", "k": K, "unit": "persons", "suppression": 0.1},
        "metrics": {
            "flows": len(flows),
            "origin_areas": int(flows.groupby("time_start")["origin_zone"].nunique().max()),
            "destination_areas": int(flows.groupby("time_start")["destination_zone"].nunique().max()),
            "trips_published": kept,
            "suppressed_share": round(1 - kept / trips, 3),
            "gbar": round(float((size * flows["trips"]).sum() / kept), 1),
            "reconstruction_loss": 0.62,
            "persons_min_band": "10-19",
        },
        "figures": {figure.public: figure.declaration for figure in every_figure().values() if figure.public},
        "verifier": "passed",
        "auditor": "passed",
        "versions": {"odanon": "0.1.0", "python": "3.11"},
        "input_counts": {
            "points": trips * 40,
            "people": trips // 3,
            "staypoints": trips * 2,
            "trips": trips,
            "od_pairs": trips // 2,
        },
    }
