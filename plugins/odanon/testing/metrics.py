"""Conformance of metrics."""

import copy
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from odanon.metrics.left_out import uncounted_trips, without
from odanon.model.figure import Figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.protocols import Metric
from odanon.testing.parameters import check_parameters
from odanon.testing.trial.cities import random_city

_CASES = 4
_K = 3
_ROUNDING = 1e-9


def check_metric(plugin: Metric) -> None:
    """All rules for a metric, on generated releases."""
    check_parameters(plugin)
    name = type(plugin).__name__
    said = plugin.figures
    _check_figures(plugin, said, name)
    declared = {figure.name for figure in said}
    assert declared, f"{name} declares no figure; `figures` is what readers see"
    assert len(declared) == len(plugin.figures), f"{name} declares a figure twice"
    for figure in plugin.figures:
        assert figure.label and figure.meaning, f"{name}: figure {figure.name} has no label or no meaning"  # noqa: PT018
    for seed in range(_CASES):
        tree, rows = random_city(seed)
        rows = rows.assign(weight=1.5 * rows["trips"])
        od = ODMatrix.from_frame(rows, tree, tree, weight="weight")
        shuffled = ODMatrix.from_frame(rows.sample(frac=1, random_state=seed), tree, tree, weight="weight")
        for whole in (True, False):
            node = np.full(len(od.pairs.trips), tree.root if whole else -1)
            made = Release.from_nodes(od, tree, tree, node, node, {"k": _K, "unit": "persons"})
            told = _told(plugin, od, made, name)
            assert _equal(told, _told(plugin, shuffled, made, name)), f"{name} depends on the order of the rows"
            window = plugin.combine(pd.DataFrame([told]))
            missing = sorted(declared - window.keys() - told.keys())
            assert not missing, f"{name} declares {', '.join(missing)} and does not tell it"
            both = declared & window.keys() & told.keys()
            one = {key: told[key] for key in both}
            assert _equal({key: window[key] for key in both}, one), (
                f"{name}: the figures of one matrix change in combine()"
            )
        _check_honesty(plugin, od, tree, name)
    _check_windows(plugin, name)
    _check_figures(plugin, said, name)


def _check_figures(plugin: Metric, said: tuple[Figure, ...], name: str) -> None:
    """Readers see what is declared before anything is measured, so it says the same every time."""
    assert plugin.figures == said, f"{name}: `figures` tells otherwise when it is read again"


def _check_honesty(plugin: Metric, od: ODMatrix, tree: Hierarchy, name: str) -> None:
    """A figure that says so does not change when what is in no flow had never been."""
    node = np.where(np.arange(len(od.pairs.trips)) % 3, tree.root, -1)
    made = Release.from_nodes(od, tree, tree, node, node, {"k": _K, "unit": "persons"})
    rest = without(od, made, uncounted_trips(od, made))
    if rest is None:
        return
    one, two = (plugin.combine(pd.DataFrame([_told(plugin, *world, name)])) for world in ((od, made), rest))
    for figure in (figure for figure in plugin.figures if figure.tells_suppressed == "no" and figure.name in one):
        assert np.isclose(one[figure.name], two[figure.name], rtol=_ROUNDING, equal_nan=True), (
            f"{name}: {figure.name} depends on what was suppressed; declare tells_suppressed='yes'"
        )


def _check_windows(plugin: Metric, name: str) -> None:
    """What counts something adds up over two matrices, or is the largest or the least of them; a share is never a plain mean."""
    windows = [(rows, plugin.combine(pd.DataFrame(rows))) for rows in pairwise(_of_cities(plugin, name))]
    for figure in plugin.figures:
        known = [
            (min(told), max(told), window[figure.name])
            for rows, window in windows
            if figure.name in window and np.isfinite(told := [row.get(figure.name, np.nan) for row in rows]).all()
        ]
        apart = [each for each in known if not _close(each[0], each[1])]
        counts = figure.kind in ("count", "size")
        mean = counts and any(least < both < most and not _close(both, least, most) for least, most, both in apart)
        mean |= figure.unit == "share" and bool(apart) and all(_close(both, (a + b) / 2) for a, b, both in apart)
        assert not mean, f"{name}: combine() takes a mean of {figure.name}; sum up what it is made of"
        lost = figure.kind == "fewest" and not all(_close(least, both) for least, _, both in known)
        assert not lost, f"{name}: combine() does not tell the least {figure.name} of the matrices"


def _of_cities(plugin: Metric, name: str) -> Iterator[dict[str, float]]:
    """What a metric tells of several cities of different size, each published as it is."""
    for seed in range(_CASES + 1):
        tree, rows = random_city(seed)
        od = ODMatrix.from_frame(rows.assign(weight=1.5 * rows["trips"]), tree, tree, weight="weight")
        ends = tree.tiles[od.pairs.origin], tree.tiles[od.pairs.destination]
        made = Release.from_nodes(od, tree, tree, *ends, {"k": _K, "unit": "persons"})
        yield _told(plugin, od, made, name)


def _close(value: float, *others: float) -> bool:
    return any(np.isclose(value, other, rtol=_ROUNDING) for other in others)


def _told(plugin: Metric, od: ODMatrix, made: Release, name: str) -> dict[str, float]:
    """What a metric tells of a release, which it must leave as it is, and the matrix with it."""
    seen, given = copy.deepcopy((replace(made, metrics={}), od))
    told = plugin.evaluate(given, seen)
    left = seen.flows.equals(made.flows) and seen.assignment.equals(made.assignment)
    assert left, f"{name} changes the release"
    assert _same(given, od), f"{name} changes the matrix"
    assert _same(given.pairs, od.pairs), f"{name} changes the matrix"
    for key, value in told.items():
        assert isinstance(value, int | float), f"{name}: {key} is no number"
    return told


def _equal(one: dict[str, float], two: dict[str, float]) -> bool:
    return one.keys() == two.keys() and all(
        np.isclose(one[key], two[key], rtol=_ROUNDING, equal_nan=True) for key in one
    )


def _same(one: ODMatrix, two: ODMatrix) -> bool:
    """Whether two matrices have the same rows."""
    columns = [each.name for each in fields(ODMatrix) if each.name not in ("ground", "times")]
    return all(np.array_equal(getattr(one, column), getattr(two, column)) for column in columns)
