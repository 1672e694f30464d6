"""How large the groups are that people hide in: C_DM and C_AVG (002 section 4.3)."""

from typing import ClassVar

import pandas as pd

from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, named, unnamed
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FIGURES = (
    Figure(
        "C_DM",
        "discernibility",
        "sum of squared flows, and suppressed trips times all trips",
        tells_suppressed="yes",
        symbol="C_DM",
        best="least",
    ),
    Figure(  # for weights, its threshold is of all trips, those in no flow included
        "C_AVG", "mean flow over k", "1 means groups of exactly k", tells_suppressed="yes", symbol="C_AVG", best="least"
    ),
)


@plugin
class Classes(Measured):
    """Discernibility C_DM and normalised average class size C_AVG (1 = groups of exactly k)."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """C_DM = sum of v^2 over the flows + V x suppressed volume (002 equation 4.1); C_AVG = (V+ / flows) / k (4.2).

        The published code charges suppression otherwise; this is the equation as it stands. For weights, k is the
        threshold of the population: k_population where it was promised, else k times the mean weight of a trip.
        """
        seen = Volumes(od, release, self.measure)
        figures = {
            "C_DM": float((seen.flow**2).sum()) + seen.total * seen.suppressed,
            "class_volume": seen.published,
            "classes": float(len(seen.flow)),
            "threshold": self._threshold(od, release),
        }
        return named(_with_average(figures), self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """C_DM of the matrices added up, C_AVG over all their flows."""
        plain = unnamed(figures, self.measure)
        sums = {name: float(plain[name].sum()) for name in ("C_DM", "class_volume", "classes")}
        k = (plain["threshold"] * plain["classes"]).sum() / sums["classes"] if sums["classes"] else float("nan")
        combined = _with_average({**sums, "threshold": float(k)})
        return named({name: combined[name] for name in ("C_DM", "C_AVG")}, self.measure)

    def _threshold(self, od: ODMatrix, release: Release) -> float:
        k = float(release.parameters["k"])
        if self.measure != "weight" or od.weight is None:
            return k
        return float(release.parameters.get("k_population") or k * od.weight.sum() / od.volume)


def _with_average(figures: dict[str, float]) -> dict[str, float]:
    classes = figures["classes"]
    average = figures["class_volume"] / classes / figures["threshold"] if classes else float("nan")
    return {**figures, "C_AVG": average}
