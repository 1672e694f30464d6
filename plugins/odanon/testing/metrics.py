"""Conformance of metrics."""

from dataclasses import replace

import numpy as np
import pandas as pd

from odanon.metrics.left_out import uncounted_trips, without
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.protocols import Metric
from odanon.testing.parameters import check_parameters
from odanon.testing.trial.cities import random_city

_CASES = 4
_K = 3


def check_metric(plugin: Metric) -> None:
    """All rules for a metric, on generated releases."""
    check_parameters(plugin)
    name = type(plugin).__name__
    declared = {figure.name for figure in plugin.figures}
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


def _check_honesty(plugin: Metric, od: ODMatrix, tree: Hierarchy, name: str) -> None:
    """A figure that says so does not change when what is in no flow had never been."""
    node = np.where(np.arange(len(od.pairs.trips)) % 3, tree.root, -1)
    made = Release.from_nodes(od, tree, tree, node, node, {"k": _K, "unit": "persons"})
    rest = without(od, made, uncounted_trips(od, made))
    if rest is None:
        return
    one, two = (plugin.combine(pd.DataFrame([_told(plugin, *world, name)])) for world in ((od, made), rest))
    for figure in (figure for figure in plugin.figures if figure.tells_suppressed == "no" and figure.name in one):
        assert np.isclose(one[figure.name], two[figure.name], rtol=1e-9, equal_nan=True), (
            f"{name}: {figure.name} depends on what was suppressed; declare tells_suppressed='yes'"
        )


def _told(plugin: Metric, od: ODMatrix, made: Release, name: str) -> dict[str, float]:
    """What a metric tells of a release, which it must leave as it is."""
    seen = replace(made, flows=made.flows.copy(), assignment=made.assignment.copy(), metrics={})
    told = plugin.evaluate(od, seen)
    assert seen.flows.equals(made.flows), f"{name} changes the release"
    for key, value in told.items():
        assert isinstance(value, int | float), f"{name}: {key} is no number"
    return told


def _equal(one: dict[str, float], two: dict[str, float]) -> bool:
    return one.keys() == two.keys() and all(np.isclose(one[key], two[key], rtol=1e-9, equal_nan=True) for key in one)
