"""The figures every release carries: every installed metric that its matrix allows."""

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from odanon import registry
from odanon.errors import OdanonError, pass_on
from odanon.metrics.declared import is_ours, names_to_tell, refused_metrics
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.offered import OURS

if TYPE_CHECKING:
    from odanon.protocols import Metric

Bin = TypeVar("Bin")
_log = logging.getLogger("odanon")


def metrics_for(od: ODMatrix, release: Release) -> "list[Metric]":
    """Every metric that the matrix allows: people where they are known, weights where given, metres where placed.

    A metric that measures several things, or not every matrix, says so in its class method `applicable`. One that cannot be
    made without parameters is measured where a product names it.
    """
    refused, found = refused_metrics(), []
    for name in registry.names("metrics"):
        try:
            why = refused.get(name)
            found += [] if why else _applicable(registry.find("metrics", name), od, release)
        except BaseException as error:
            pass_on(error)
            why = type(error).__name__
        if why:
            _log.warning("the metric %s is left out: %s", name, why)
    return found


def _applicable(plugin: registry.Plugin, od: ODMatrix, release: Release) -> "list[Metric]":
    cls: Any = plugin.cls
    if not hasattr(cls, "applicable"):
        return [cls()]
    seen = (od, release) if plugin.distribution == OURS else copy.deepcopy((od, release))
    return list(cls.applicable(*seen))


def measured_window(
    matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release], metrics: "Sequence[Metric] | None" = None
) -> dict[str, float]:
    """Measure the release of every matrix, note the figures in it, and give those of all together.

    Of metrics that nobody asked for by name, one that fails is left out and named in the log; another one is named in the
    error.
    """
    asked = metrics is not None
    if metrics is None:
        largest = max(releases, key=lambda name: len(releases[name].flows))
        metrics = metrics_for(matrices[largest], releases[largest])
    figures: dict[str, float] = {}
    for metric in metrics:
        try:
            combined, table = told_by(metric, matrices, releases)
        except BaseException as error:
            pass_on(error)
            if asked and (is_ours(metric) or isinstance(error, OdanonError)):
                raise
            if asked:
                name = registry.name_of("metrics", type(metric))
                raise OdanonError(
                    f"the metric {name} failed with {type(error).__name__}; leave it out, and report it to its author"
                ) from error
            _log.warning("the metric %s is left out: %s", type(metric).__name__, type(error).__name__)
            continue
        for release, told in zip(releases.values(), table, strict=True):
            known = {} if is_ours(metric) else dict(release.metrics)
            release.metrics.update({**told, **known})
        figures |= {name: value for name, value in combined.items() if name not in figures}
    return figures


def told_by(
    metric: "Metric", matrices: Mapping[Bin, ODMatrix], releases: Mapping[Bin, Release]
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """What a metric tells of a window, and of each of its matrices.

    A metric of another package measures copies, and tells the figures that it declared beforehand and that are not ours;
    what else it returns is nobody's figure. Ours tell of a matrix what they are computed from as well.
    """
    ours, names = is_ours(metric), names_to_tell(metric)
    pairs = [(matrices[name], release) for name, release in releases.items()]
    table = [metric.evaluate(*pair) for pair in (pairs if ours else copy.deepcopy(pairs))]
    combined = _plain(metric.combine(pd.DataFrame(table)), names)
    return combined, table if ours else [_plain(told, names) for told in table]


def _plain(told: Mapping[str, float], names: list[str]) -> dict[str, float]:
    return {name: float(told[name]) for name in names if name in told}
