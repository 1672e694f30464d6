"""The figures every release carries."""

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.metrics.classes import Classes
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.reconstruction import Reconstruction

METRICS = (Generalisation(measure="trips"), Reconstruction(measure="trips"), Classes(measure="trips"))


def measured(od: ODMatrix, release: Release) -> Release:
    """The release with Gbar, S, E, D, C_DM and C_AVG among its metrics."""
    for metric in METRICS:
        release.metrics.update(metric.evaluate(od, release))
    return release
