"""The figures every release carries: every installed metric that its matrix allows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from odanon import registry
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

if TYPE_CHECKING:
    from odanon.protocols import Metric

Bin = TypeVar("Bin")


def metrics_for(od: ODMatrix, release: Release) -> "list[Metric]":
    """Every metric that the matrix allows: people where they are known, weights where given, metres where placed.

    A metric that measures several things, or not every matrix, says so in its class method `applicable`.
    """
    found: list[Metric] = []
    for cls in _installed():
        found += cls.applicable(od, release) if hasattr(cls, "applicable") else [cls()]
    return found


def every_figure() -> dict[str, Figure]:
    """What installed metrics can tell, by name.

    A metric that measures several things has a class method `every` that lists all of them.
    """
    metrics = [metric for cls in _installed() for metric in (cls.every() if hasattr(cls, "every") else [cls()])]
    return {figure.name: figure for metric in metrics for figure in metric.figures}


def _installed() -> list[Any]:
    return [registry.find("metrics", name).cls for name in registry.names("metrics")]


def measured_window(
    matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release], metrics: "Sequence[Metric] | None" = None
) -> dict[str, float]:
    """Measure the release of every matrix, note the figures in it, and give those of all together."""
    if metrics is None:
        largest = max(releases, key=lambda name: len(releases[name].flows))
        metrics = metrics_for(matrices[largest], releases[largest])
    figures: dict[str, float] = {}
    for metric in metrics:
        table = [metric.evaluate(matrices[name], release) for name, release in releases.items()]
        for release, told in zip(releases.values(), table, strict=True):
            release.metrics.update(told)
        figures |= metric.combine(pd.DataFrame(table))
    return figures
