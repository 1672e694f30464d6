"""The figures every release carries: every installed metric that its matrix allows."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from odanon.metrics.declared import made_metrics, refused_metrics
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

if TYPE_CHECKING:
    from odanon.protocols import Metric

Bin = TypeVar("Bin")
_log = logging.getLogger("odanon")


def metrics_for(od: ODMatrix, release: Release) -> "list[Metric]":
    """Every metric that the matrix allows: people where they are known, weights where given, metres where placed.

    A metric that measures several things, or not every matrix, says so in its class method `applicable`. One that cannot be
    made without parameters is measured where a product names it.
    """
    refused = refused_metrics()
    for name, why in refused.items():
        _log.warning("the metric %s is left out: %s", name, why)
    made = made_metrics(
        lambda cls: cls.applicable(od, release) if hasattr(cls, "applicable") else [cls()], _log.warning
    )
    return [metric for plugin, metrics in made if plugin.name not in refused for metric in metrics]


def measured_window(
    matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release], metrics: "Sequence[Metric] | None" = None
) -> dict[str, float]:
    """Measure the release of every matrix, note the figures in it, and give those of all together.

    Of metrics that nobody asked for by name, one that fails is left out and named in the log.
    """
    asked = metrics is not None
    if metrics is None:
        largest = max(releases, key=lambda name: len(releases[name].flows))
        metrics = metrics_for(matrices[largest], releases[largest])
    figures: dict[str, float] = {}
    for metric in metrics:
        try:
            table = [metric.evaluate(matrices[name], release) for name, release in releases.items()]
            combined = combined_figures(metric, pd.DataFrame(table))
        except Exception as error:
            if asked:
                raise
            _log.warning("the metric %s is left out: %s", type(metric).__name__, type(error).__name__)
            continue
        for release, told in zip(releases.values(), table, strict=True):
            release.metrics.update(told)
        figures |= {name: value for name, value in combined.items() if name not in figures}
    return figures


def combined_figures(metric: "Metric", table: pd.DataFrame) -> dict[str, float]:
    """The figures of a window that a metric declares, as plain numbers; what else it returns is nobody's figure."""
    declared = {figure.name for figure in metric.figures}
    return {str(name): float(value) for name, value in metric.combine(table).items() if name in declared}
