"""The figures every release carries: every installed metric that its matrix allows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from odanon import registry
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
    for name in registry.names("metrics"):
        cls = registry.find("metrics", name).cls
        found += cls.applicable(od, release) if hasattr(cls, "applicable") else [cls()]
    return found


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
