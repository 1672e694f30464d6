"""Generated matrices with the traits that matter to an anonymiser: heavy tails, hot spots and distance decay."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.model.hierarchy import Hierarchy

Array = npt.NDArray


@dataclass(frozen=True)
class City:
    """A round city of unit tiles; `centre` and `pull` (chance to attract a trip) are by tile rank."""

    tree: Hierarchy
    centre: Array
    pull: Array

    @classmethod
    def make(cls, n_tiles: int, rng: np.random.Generator) -> "City":
        """Tiles nested 7 to 1 like H3 cells, attraction falling from the centre with a Pareto tail."""
        side = int(np.ceil(np.sqrt(n_tiles * 4 / np.pi))) + 1
        x, y = np.meshgrid(np.arange(side), np.arange(side))
        points = np.column_stack([x.ravel(), y.ravel()])
        order = np.argsort(np.hypot(*(points - (side - 1) / 2).T), kind="stable")[:n_tiles]
        tree = _nested(points[order])
        tile = np.array([int(name[1:]) for name in tree.label[tree.tiles]])
        centre = points[order][tile]
        radius = np.hypot(*(centre - (side - 1) / 2).T)
        pull = np.exp(-3 * radius / radius.max()) * rng.pareto(1.5, n_tiles)
        return cls(tree, centre, pull / pull.sum())

    def anywhere(self, n: int, rng: np.random.Generator) -> Array:
        """Tiles drawn by their pull."""
        return rng.choice(len(self.pull), n, p=self.pull)

    def nearby(self, tiles: Array, rng: np.random.Generator) -> Array:
        """A tile at an exponential distance of each, in any direction; the tile itself beyond the border."""
        side = int(self.centre.max()) + 1
        at = np.full((side, side), -1)
        at[self.centre[:, 0], self.centre[:, 1]] = np.arange(len(self.pull))
        reach, angle = rng.exponential(0.08 * side, len(tiles)), rng.random(len(tiles)) * 2 * np.pi
        step = np.column_stack([np.cos(angle), np.sin(angle)]) * reach[:, None]
        x, y = np.clip(np.round(self.centre[tiles] + step), 0, side - 1).astype(int).T
        return np.where(at[x, y] >= 0, at[x, y], tiles)

    def next_tiles(self, tiles: Array, rng: np.random.Generator) -> Array:
        near = rng.random(len(tiles)) < 0.6
        return np.where(near, self.nearby(tiles, rng), self.anywhere(len(tiles), rng))


def flows(city: City, n_pairs: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Distinct (origin, destination) in random order, with trips of a Pareto tail."""
    n, keys = len(city.pull), np.empty(0, dtype=np.int64)
    while len(keys) < n_pairs:
        origin = city.anywhere(int(1.5 * n_pairs), rng)
        keys = np.unique(np.append(keys, origin * n + city.next_tiles(origin, rng)))
    keys = rng.permutation(keys)[:n_pairs]
    trips = np.minimum(1 + 0.8 * rng.pareto(1.3, n_pairs), 50_000).astype(np.int64)
    return (keys // n).astype(np.int32), (keys % n).astype(np.int32), trips


def person_rows(city: City, n_rows: int, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """(origin, destination, trips, person): people move between a home, a work place and two other places."""
    n_people = n_rows // 5
    home = city.anywhere(n_people, rng)
    places = np.column_stack([home, *(city.next_tiles(home, rng) for _ in range(3))])
    person = rng.integers(0, n_people, n_rows)
    start = np.minimum(rng.geometric(0.5, n_rows) - 1, 3)
    end = (start + rng.integers(1, 4, n_rows)) % 4
    trips = np.minimum(1 + rng.pareto(2.0, n_rows), 60).astype(np.int64)
    return places[person, start].astype(np.int32), places[person, end].astype(np.int32), trips, person


def _nested(points: Array) -> Hierarchy:
    """Join cells by sqrt(7) in width at every level; a cell goes where its first tile lies, so that levels nest."""
    label, parent = [f"t{i}" for i in range(len(points))], [-1] * len(points)
    cell, below, width = np.arange(len(points)), 0, 1.0
    n_cells = len(points)
    while n_cells > 1:
        width *= np.sqrt(7)
        square = np.floor(points / width).astype(int) if n_cells > 7 else np.zeros_like(points)
        _, coarse = np.unique(square, axis=0, return_inverse=True)
        first = np.full(n_cells, len(points))
        np.minimum.at(first, cell, np.arange(len(points)))
        _, up = np.unique(coarse[first], return_inverse=True)
        above = len(label)
        parent[below:above] = (above + up).tolist()
        n_cells = int(up.max()) + 1
        label += [f"n{above + i}" for i in range(n_cells)]
        parent += [-1] * n_cells
        cell, below = up[cell], above
    return Hierarchy.from_parents(label, parent, kind="hexagon-like")
