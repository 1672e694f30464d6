"""The cells of many points are those that the library gives each of them, on edges of cells and faces too."""

import h3
import numpy as np
import pytest

from odanon.geo import h3cells
from odanon.zoning.h3 import H3Zoning

DISTANCES = (0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3, 1e-2)  # radians, on both sides of what is sure


def unit(degrees: np.ndarray) -> np.ndarray:
    lat, lon = np.radians(degrees).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def degrees(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y, z = vectors.T / np.linalg.norm(vectors, axis=1)
    return np.degrees(np.arcsin(np.clip(z, -1, 1))), np.degrees(np.arctan2(y, x))


def anywhere(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 3))


def on_edges(resolution: int, rng: np.random.Generator) -> np.ndarray:
    """Corners and edges of some cells; the middles, borders and corners of the icosahedron's faces."""
    cells = [h3.latlng_to_cell(lat, lon, resolution) for lat, lon in zip(*degrees(anywhere(100, rng)), strict=True)]
    rings = [unit(np.array(h3.cell_to_boundary(cell))) for cell in cells]
    between = [ring + rng.uniform(0, 1, (len(ring), 1)) * (np.roll(ring, -1, axis=0) - ring) for ring in rings]
    middles = h3cells._faces()[0][:, 0]
    corners = unit(np.array([h3.cell_to_latlng(cell) for cell in h3.get_pentagons(0)]))
    one, other = np.triu_indices(len(middles), 1)
    beside = (middles[one] * middles[other]).sum(axis=1) > 0.7
    border, along = (middles[one] + middles[other])[beside], np.cross(middles[one], middles[other])[beside]
    borders = border / np.linalg.norm(border, axis=1, keepdims=True) + rng.uniform(-1, 1, (len(border), 1)) * along
    return np.concatenate([*rings, *between, middles, corners, borders])


@pytest.mark.parametrize("resolution", [0, 1, 5, 8, 9, pytest.param(12, marks=pytest.mark.thorough), 15])
def test_the_fast_way_gives_the_cells_of_the_library(resolution: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h3cells, "_MANY", 0)
    rng = np.random.default_rng(resolution)
    edges = on_edges(resolution, rng)
    near = [edges / np.linalg.norm(edges, axis=1, keepdims=True) + rng.normal(0, e, edges.shape) for e in DISTANCES]
    lat, lon = degrees(np.concatenate([anywhere(2000, rng), *near]))
    code, cells = h3cells._coded(lat, lon, resolution)
    assert (cells[code] == h3cells._by_the_library(lat, lon, resolution)).all()
    sure = h3cells._keys(lat, lon, resolution) >= 0
    assert sure[:2000].mean() > 0.99
    assert not sure.all()


@pytest.mark.parametrize("many", [0, 10**9], ids=["fast", "by the library"])
def test_points_are_told_their_cells_some_at_a_time(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    lat, lon = 45.75 + rng.normal(0, 0.05, 2000), 4.85 + rng.normal(0, 0.05, 2000)
    monkeypatch.setattr(h3cells, "_MANY", many)
    monkeypatch.setattr(h3cells, "_CHUNK", 300)
    code, names = h3cells.coded_cells(lat, lon, 8)
    assert names[code].tolist() == [h3.latlng_to_cell(*point, 8) for point in zip(lat, lon, strict=True)]
    assert len(set(names)) == len(names) == len(set(code))


def test_a_zoning_asks_the_library_once_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    library = h3cells._by_the_library
    monkeypatch.setattr(h3cells, "_by_the_library", lambda *points: asked.append(len(points[0])) or library(*points))
    rng = np.random.default_rng(2)
    lat, lon = 45.75 + rng.normal(0, 0.05, h3cells._MANY), 4.85 + rng.normal(0, 0.05, h3cells._MANY)
    labels = H3Zoning(resolution=7).assign(lat, lon)
    assert labels[:50].tolist() == [h3.latlng_to_cell(*point, 7) for point in zip(lat[:50], lon[:50], strict=True)]
    assert sum(asked) <= len({*labels}) + 20
