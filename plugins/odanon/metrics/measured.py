"""What most metrics share: they sum trips or people (participants), or expansion weights (population)."""

from typing import ClassVar, TypeVar

from odanon.metrics.volumes import SUFFIX, Measure, measures
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

M = TypeVar("M", bound="Measured")


@plugin
class Measured:
    """A metric with a measure; figures of people and of the population say so in their names."""

    measure: Measure = parameter("trips", "what is summed: trips, persons, or the weights of the population")

    told: ClassVar[tuple[Figure, ...]] = ()  # its figures, of trips

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of the measure."""
        return tuple(figure.named(SUFFIX[self.measure]) for figure in self.told)

    @classmethod
    def every(cls: type[M]) -> list[M]:
        """One for each measure."""
        return [cls(measure=measure) for measure in SUFFIX]

    @classmethod
    def applicable(cls: type[M], od: ODMatrix, release: Release) -> list[M]:
        """Those whose volumes a matrix and its release tell."""
        return [cls(measure=measure) for measure in measures(od, release)]
