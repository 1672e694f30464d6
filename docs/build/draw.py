"""The pictures of the documentation, drawn from real small examples: `python docs/build/draw.py FOLDER` writes them."""

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd

import odanon
from odanon.api import Hierarchy
from odanon.registry import create

SIDE, K, PEOPLE = 8, 10, 4000  # tiles along a side of the town
PANEL, GAP, TOP = 320, 40, 64  # pixels
INK, FAINT, ACCENT = "#1b2a3a", "#c3ccd6", "#b5341f"
Cell = tuple[int, int, int]  # size in tiles, column and row in squares of that size


def town() -> pd.DataFrame:
    """Trips to a centre and back: who, from and to which tile."""
    random = np.random.default_rng(5)
    homes = random.normal(3.5, 2.2, (PEOPLE, 2)).clip(0, SIDE - 1).round().astype(int)
    works = random.normal((5, 2.5), 0.9, (PEOPLE, 2)).clip(0, SIDE - 1).round().astype(int)
    there = pd.DataFrame({"person": range(PEOPLE), "origin": _names(homes), "destination": _names(works)})
    back = there.rename(columns={"origin": "destination", "destination": "origin"})
    return pd.concat([there, back], ignore_index=True)


def _names(tiles: np.ndarray) -> list[str]:
    return [f"1/{x}/{y}" for x, y in tiles]


def tree() -> Hierarchy:
    """Squares cut into four: the town, its quarters, blocks, tiles."""
    cells = [(size, x, y) for size in (8, 4, 2, 1) for x, y in product(range(SIDE // size), repeat=2)]
    number = {cell: at for at, cell in enumerate(cells)}
    parent = [-1 if size == SIDE else number[2 * size, x // 2, y // 2] for size, x, y in cells]
    return Hierarchy.from_parents(["/".join(map(str, cell)) for cell in cells], np.array(parent), kind="square")


def release_picture() -> str:
    """Three panels: trips from one tile, the areas that may be joined, and what is published of the same trips."""
    trips = town()
    release = odanon.anonymize(trips, tree(), k=K)
    flows = release.flows[(release.flows.kind == "flow") & (release.flows.origin_tiles == 1)]
    origin = str(flows.groupby("origin").size().idxmax())
    shown = flows[flows.origin == origin].sort_values("destination_tiles", ascending=False)
    there = trips[trips.origin == origin].groupby("destination").size()
    captions = (
        ("1. Trips from one tile", f"to {len(there)} others; in red, by fewer than {K} people"),
        ("2. Areas that may be joined", "a tree: the town, 4 quarters, 16 blocks, 64 tiles"),
        (
            "3. What is published of them",
            f"{len(shown)} rows of {shown.persons.min()} people or more; the rest from larger areas",
        ),
    )
    published = dict(zip(shown.destination, shown.trips, strict=True))
    return _svg(captions, (_panel(origin, there.to_dict()), _tree_panel(), _panel(origin, published)))


def _panel(origin: str, trips: dict[str, int]) -> Iterator[str]:
    """Trips from a tile to areas, the finest on top."""
    most = max(trips.values())
    for label, number in trips.items():
        yield _square(_cell(label), _shade(number / most), INK, 1.2)
    yield from _grid(1, 0.4)
    yield _square(_cell(origin), "none", ACCENT, 3)
    for label, number in trips.items():
        x, y = _middle(_cell(label))
        yield _text(x, y + 5, str(number), 14, "middle", "bold", INK if number >= K else ACCENT)


def _tree_panel() -> Iterator[str]:
    for size, width in ((1, 0.5), (2, 1.5), (4, 3), (8, 4.5)):
        yield from _grid(size, width)


def day_picture() -> str:
    """Three panels of one simulated person's day: what the phone sent, where it stayed, the trips between."""
    start = datetime(2026, 3, 2, tzinfo=UTC)
    city = create("source", "simulated", {"people": 60, "seed": 7, "radius_km": 3, "outlier_share": 0})
    points = pd.concat(city.batches(start, start + timedelta(days=1), timedelta(0))).sort_values(["person", "time"])
    found = create("staypoints", "dwell", {}).detect(points.assign(person=points.person.factorize()[0]))
    person = found.groupby("person").size().idxmax()
    mine, stays = points[points.person.factorize()[0] == person], found[found.person == person]
    place = _Map(mine)
    seen = [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="1.6" fill="{INK}" opacity="0.5"/>' for x, y in place(mine)]
    seen = list(dict.fromkeys(seen))
    ends = place(stays)
    rings = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{ACCENT}" opacity="0.6"/>' for x, y in ends]
    tiles = [(1, int(x * SIDE / PANEL), int(y * SIDE / PANEL)) for x, y in ends]
    arrows = [_arrow(_middle(a), _middle(b)) for a, b in pairwise(tiles)]
    squares = [_square(tile, _shade(0.3)) for tile in dict.fromkeys(tiles)]
    captions = (
        ("1. Points", f"{len(mine)} fixes of one simulated person in a day"),
        ("2. Stay points", f"{len(stays)} stays of ten minutes or more"),
        ("3. Trips between tiles", f"{len(arrows)} trips; of a place only its tile is kept"),
    )
    return _svg(captions, (iter(seen), iter([*seen, *rings]), iter([*squares, *_grid(1, 0.6), *arrows])))


class _Map:
    """Places of a day, drawn into a panel with north at the top."""

    def __init__(self, points: pd.DataFrame) -> None:
        self.west, self.north = points.lon.min(), points.lat.max()
        across = (points.lon.max() - self.west) * np.cos(np.radians(self.north))
        self.scale = (PANEL - 40) / max(across, self.north - points.lat.min())

    def __call__(self, points: pd.DataFrame) -> list[tuple[float, float]]:
        x = (points.lon - self.west) * np.cos(np.radians(self.north)) * self.scale + 20
        return list(zip(x, (self.north - points.lat) * self.scale + 20, strict=True))


def _cell(label: str) -> Cell:
    size, x, y = map(int, label.split("/"))
    return size, x, y


def _middle(cell: Cell) -> tuple[float, float]:
    size, x, y = cell
    return (x + 0.5) * size * PANEL / SIDE, (y + 0.5) * size * PANEL / SIDE


def _square(cell: Cell, fill: str, stroke: str = "none", width: float = 0) -> str:
    size, x, y = cell
    length = size * PANEL / SIDE
    place = f'x="{x * length:g}" y="{y * length:g}" width="{length:g}" height="{length:g}"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>'


def _grid(size: int, width: float) -> Iterator[str]:
    """Squares of a size, as lines."""
    steps = np.arange(0, SIDE + 1, size) * PANEL / SIDE
    path = "".join(f"M{at:g} 0V{PANEL}M0 {at:g}H{PANEL}" for at in steps)
    yield f'<path d="{path}" stroke="{INK if width > 0.6 else FAINT}" stroke-width="{width}" fill="none"/>'


def _shade(share: float) -> str:
    """From nearly white to blue."""
    light, dark = (238, 244, 250), (74, 134, 190)
    return "#" + "".join(f"{round(a + (b - a) * share**0.6):02x}" for a, b in zip(light, dark, strict=True))


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve that bends to the right, so that the way back is another one."""
    (ax, ay), (bx, by) = start, end
    x, y = (ax + bx) / 2 - (by - ay) * 0.15, (ay + by) / 2 + (bx - ax) * 0.15
    path = f"M{ax:.1f} {ay:.1f}Q{x:.1f} {y:.1f} {bx:.1f} {by:.1f}"
    return f'<path d="{path}" fill="none" stroke="{ACCENT}" stroke-width="1.6" marker-end="url(#head)"/>'


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", weight: str = "normal", colour: str = INK
) -> str:
    look = f'font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{text}</text>'


def _svg(captions: Iterable[tuple[str, str]], panels: Iterable[Iterator[str]]) -> str:
    """Panels beside each other with a title and a sentence above each."""
    parts = []
    for at, ((title, said), panel) in enumerate(zip(captions, panels, strict=True)):
        drawn = "\n".join([_text(0, -36, title, 17, weight="bold"), _text(0, -14, said, 11), *panel])
        parts.append(f'<g transform="translate({GAP // 2 + at * (PANEL + GAP)} {TOP})">\n{drawn}\n</g>')
    width, height = len(parts) * (PANEL + GAP), TOP + PANEL + GAP // 2
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"'
    head = f'<marker id="head" {size}><path d="M0 0L8 4L0 8z" fill="{ACCENT}"/></marker>'
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    return (
        f'{frame}\n<defs>{head}</defs>\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


PICTURES = {"release.svg": release_picture, "day.svg": day_picture}

if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (Path(sys.argv[1]) / name).write_text(drawn())
