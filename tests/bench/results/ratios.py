"""Box plots of ratios over ATG-Lattice, matrix by matrix, as 000 Figure 12 draws them over ATG-Dual."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import real
import standins

from odanon import registry
from odanon.compare.plan import Case
from odanon.errors import OdanonError
from odanon.hierarchies.over import tree_over
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

OTHERS = ("atg-joint", "atg-dual", "atg-soft", "oigh", "glove", "mondrian")
FIGURES = {"Gbar": "Ḡ", "E": "E", "D": "D", "cpu_s": "CPU time"}
_LATTICE = Case("atg-lattice", 10, "trips", 0.1, {"rests": False})
_DRAWS, _DAYS = 6, 12
_LEAST_TRIPS = 500  # of a taxi day or a month of rides
_FLOOR_S = 0.001  # CPU time below it is noise
_MOST = 30  # ratios beyond are drawn at the edge

Matrix = tuple[ODMatrix, Hierarchy, str]


def matrices(folder: Path) -> dict[str, Callable[[], Iterator[Matrix]]]:
    """Matrices of every set with the unit that k counts."""
    found: dict[str, Callable[[], Iterator[Matrix]]] = {
        name: lambda name=name: _drawn(folder, name) for name in ("nyc", "civ", "senegal_crop")
    }
    if real.DATA.is_dir():
        found |= {"taxi days": lambda: _taxi_days(folder), "bike months": _bike_months}
    return found


def _drawn(folder: Path, name: str) -> Iterator[Matrix]:
    for draw in range(_DRAWS):
        loaded = standins.matrix(folder, name, draw).load()
        yield loaded.matrices[None], loaded.tree, "trips"


def _taxi_days(folder: Path) -> Iterator[Matrix]:
    tree = real.taxi_week(folder).load().tree
    for _, day in list(real.taxi_trips().groupby("day"))[:_DAYS]:
        if len(day) >= _LEAST_TRIPS:
            yield _on(tree, day), tree, "trips"


def _bike_months() -> Iterator[Matrix]:
    rides = real.bike_ends()
    zoning = registry.create("zoning", "h3", {"resolution": 9})
    ends = {
        side: zoning.assign(rides[f"{side[0]}_lat"].to_numpy(), rides[f"{side[0]}_lon"].to_numpy())
        for side in ("origin", "destination")
    }
    builder = registry.create("hierarchy", "h3", {"steps": "fine"})
    for _, month in rides.assign(**ends).groupby("month"):
        if len(month) >= _LEAST_TRIPS:
            visited = np.unique(np.concatenate([month["origin"], month["destination"]]))
            _, tree = tree_over(zoning, builder, visited)
            yield _on(tree, month, "person"), tree, "persons"


def _on(tree: Hierarchy, rows: pd.DataFrame, person: str | None = None) -> ODMatrix:
    return ODMatrix.from_frame(rows, tree, tree, trips=None, person=person)


def measured(folder: Path) -> pd.DataFrame:
    """Set, method and the ratio of every figure to the lattice's on the same matrix."""
    rows = []
    for name, make in matrices(folder).items():
        kept = folder / f"ratios_{name.replace(' ', '_')}.json"
        if not kept.exists():
            found = [row for matrix in make() for row in _ratios(*matrix)]
            kept.write_text(json.dumps(found))
            print(f"ratios: {name} done", flush=True)
        rows += [{"set": name, **row} for row in json.loads(kept.read_text())]
    return pd.DataFrame(rows)


def _ratios(od: ODMatrix, tree: Hierarchy, unit: str) -> Iterator[dict[str, float | str]]:
    lattice = _figures(_LATTICE.algorithm, od, tree, unit)
    for name in OTHERS:
        try:
            other = _figures(name, od, tree, unit)
        except OdanonError:
            continue
        yield {"method": name, **{figure: other[figure] / lattice[figure] for figure in FIGURES}}


def _figures(name: str, od: ODMatrix, tree: Hierarchy, unit: str) -> dict[str, float]:
    more = _LATTICE.parameters if name == _LATTICE.algorithm else {}
    anonymizer, _ = Case(name, 10, unit, 0.1, more).create()
    anonymizer.anonymize(od, tree, tree)  # loads the kernels
    started = time.process_time()
    release = anonymizer.anonymize(od, tree, tree)
    spent = time.process_time() - started
    figures = Generalisation().evaluate(od, release) | Reconstruction().evaluate(od, release)
    return {**figures, "cpu_s": max(spent, _FLOOR_S)}


_WIDE, _HIGH, _LEFT, _TOP = 190, 92, 74, 40


def drawn(found: pd.DataFrame) -> str:
    """A panel a method and figure, a box a set, on logarithmic axes; the line at 1 is ATG-Lattice."""
    sets = list(dict.fromkeys(found["set"]))
    parts = []
    for column, (figure, title) in enumerate(FIGURES.items()):
        x = _LEFT + column * _WIDE
        parts.append(f'<text x="{x + _WIDE / 2 - 8:.0f}" y="20" text-anchor="middle">{title}</text>')
        ratio = found[figure].clip(1 / _MOST, _MOST)
        low, high = _range(ratio.to_numpy())
        for row, method in enumerate(OTHERS):
            y = _TOP + row * _HIGH
            values = [ratio[(found["set"] == name) & (found["method"] == method)] for name in sets]
            parts.append(_panel(x, y, low, high, [each.to_numpy() for each in values]))
            if column == 0:
                parts.append(f'<text x="4" y="{y + 40}">{method}</text>')
    width, height = _LEFT + len(FIGURES) * _WIDE + 8, _TOP + len(OTHERS) * _HIGH + 26
    legend = f"boxes from left to right: {', '.join(sets)}; the line is 1, as good as ATG-Lattice"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}<text x="4" y="{height - 8}">{legend}</text></svg>\n'
    )


def _range(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Powers of two that hold the values and 1."""
    logs, step = np.log10(np.append(values, 1.0)), np.log10(2)
    return float(np.floor(logs.min() / step) * step), float(np.ceil(logs.max() / step) * step)


def _panel(x: float, y: float, low: float, high: float, boxes: list[npt.NDArray[np.float64]]) -> str:
    inside = _HIGH - 14

    def at(log: float) -> str:
        return f"{y + inside * (high - log) / (high - low):.1f}"

    right = x + _WIDE - 24
    parts = [f'<rect x="{x}" y="{y}" width="{_WIDE - 24}" height="{inside}" fill="none" stroke="#bbb"/>']
    parts.append(f'<path d="M{x} {at(0)}H{right}" stroke="#c33" stroke-dasharray="3"/>')
    parts += [
        f'<text x="{x - 3}" y="{at(log)}" dy="3" font-size="8" text-anchor="end">{10**log:.3g}</text>'
        for log in sorted({low, 0.0, high})
    ]
    for place, values in enumerate(boxes):
        if len(values):
            middle = x + (place + 0.5) * (_WIDE - 24) / len(boxes)
            least, q1, median, q3, most = (at(q) for q in np.quantile(np.log10(values), (0, 0.25, 0.5, 0.75, 1)))
            tall = max(float(q1) - float(q3), 0.5)
            parts.append(
                f'<path d="M{middle:.1f} {least}V{q1}M{middle:.1f} {q3}V{most}" stroke="#345"/>'
                f'<rect x="{middle - 8:.1f}" y="{q3}" width="16" height="{tall:.1f}" fill="#cde" stroke="#345"/>'
                f'<path d="M{middle - 8:.1f} {median}h16" stroke="#123" stroke-width="2"/>'
            )
    return "".join(parts)
