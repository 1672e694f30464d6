"""How large the groups are that people hide in: C_DM and C_AVG (002 section 4.3)."""

import pandas as pd

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.metrics.volumes import Measure, named, volumes
from odanon.plugin import parameter, plugin


@plugin
class Classes:
    """Discernibility C_DM and normalised average class size C_AVG (1 = groups of exactly k)."""

    measure: Measure = parameter("trips", "what is summed: trips, or the weights of the population")

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """C_DM = sum of squared flow volumes + total volume x suppressed volume; C_AVG = (V+ / flows) / k."""
        seen = volumes(od, release, self.measure)
        figures = {
            "C_DM": float((seen.flow**2).sum()) + seen.total * seen.suppressed,
            "published": float(seen.flow.sum()),
            "flows": float(len(seen.flow)),
            "k": float(release.parameters["k"]),
        }
        return named(_with_average(figures), self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """C_DM of the matrices added up, C_AVG over all their flows."""
        plain = figures.rename(columns=lambda name: name.removesuffix("_population"))
        sums = {name: float(plain[name].sum()) for name in ("C_DM", "published", "flows")}
        combined = _with_average({**sums, "k": float(plain["k"].iloc[0])})
        return named({name: combined[name] for name in ("C_DM", "C_AVG")}, self.measure)


def _with_average(figures: dict[str, float]) -> dict[str, float]:
    classes = figures["flows"]
    average = figures["published"] / classes / figures["k"] if classes else float("nan")
    return {**figures, "C_AVG": average}
