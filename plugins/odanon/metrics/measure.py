"""The figures every release carries: every installed metric that its matrix allows."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from odanon import registry
from odanon.model.figure import Figure
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
    return _made(lambda cls: cls.applicable(od, release) if hasattr(cls, "applicable") else [cls()])


def every_figure() -> dict[str, Figure]:
    """What installed metrics can tell, by name; of two figures with one name the first metric's counts.

    A metric that measures several things has a class method `every` that lists all of them.
    """
    figures: dict[str, Figure] = {}
    for metric in _made(lambda cls: cls.every() if hasattr(cls, "every") else [cls()]):
        for figure in metric.figures:
            figures.setdefault(figure.name, figure)
    return figures


def _made(make: Callable[[Any], "list[Metric]"]) -> "list[Metric]":
    """The metrics that every installed class makes; a class that fails is passed over and named in the log."""
    found: list[Metric] = []
    for name in registry.names("metrics"):
        try:
            found += make(registry.find("metrics", name).cls)
        except Exception as error:
            _log.warning("the metric %s is left out: %s", name, type(error).__name__)
    return found


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
            combined = numbers(metric.combine(pd.DataFrame(table)))
        except Exception as error:
            if asked:
                raise
            _log.warning("the metric %s is left out: %s", type(metric).__name__, type(error).__name__)
            continue
        for release, told in zip(releases.values(), table, strict=True):
            release.metrics.update(told)
        figures |= {name: value for name, value in combined.items() if name not in figures}
    return figures


def numbers(figures: Mapping[str, Any]) -> dict[str, float]:
    """Figures as plain numbers, whatever arrays they come from."""
    return {str(name): float(value) for name, value in figures.items()}
