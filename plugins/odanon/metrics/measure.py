"""The figures every release carries."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from odanon.metrics.classes import Classes
from odanon.metrics.distance import Distance
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.reconstruction import Reconstruction
from odanon.metrics.sizes import Sizes
from odanon.metrics.surface import Surface
from odanon.metrics.volumes import measures
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release


def metrics_for(od: ODMatrix, release: Release) -> list[Any]:
    """Every metric that the matrix allows: people where they are known, weights where given, metres where placed."""
    found: list[Any] = [Sizes()]
    for measure in measures(od, release):
        found += [Generalisation(measure=measure), Reconstruction(measure=measure), Classes(measure=measure)]
        if od.ground is not None:
            found.append(Distance(measure=measure))
            found += [Surface(measure=measure)] if od.ground.measurable else []
    return found


def measured(od: ODMatrix, release: Release) -> Release:
    """The release with Gbar, S, E, D, C_DM, C_AVG, GDM, MAO and MAD among its metrics."""
    for metric in metrics_for(od, release):
        release.metrics.update(metric.evaluate(od, release))
    return release


def measured_window(matrices: Mapping[Any, ODMatrix], releases: Mapping[Any, Release]) -> dict[str, float]:
    """Measure the release of every matrix and give the figures of all together."""
    table = pd.DataFrame([measured(matrices[name], release).metrics for name, release in releases.items()])
    largest = max(releases, key=lambda name: len(releases[name].flows))
    metrics = metrics_for(matrices[largest], releases[largest])
    return {name: value for metric in metrics for name, value in metric.combine(table).items()}
