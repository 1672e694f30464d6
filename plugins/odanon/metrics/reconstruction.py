"""What a release keeps: E and D, with its flows spread evenly over their tiles (000 equations 2 and 4)."""

import numpy as np
import pandas as pd

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.metrics.volumes import Measure, Volumes, named, volumes
from odanon.plugin import parameter, plugin


@plugin
class Reconstruction:
    """Reconstruction loss E and distribution distance D between the spread-out release and the matrix."""

    measure: Measure = parameter("trips", "what is summed: trips, or the weights of the population")

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """E = (1/V) sum |r - v| and D = sum |r/V+ - v/V| over all tile pairs, r being the spread-out release.

        A flow spreads evenly over |o| x |d| pairs. Its unobserved pairs all hold the same amount, so their part of
        the sum is a product and no dense matrix is ever made. Pairs of overlapping cells count per cell.
        """
        seen = volumes(od, release, self.measure)
        error = _absolute_difference(seen, 1.0, 1.0)
        published = float(seen.flow.sum())
        distance = _absolute_difference(seen, 1 / published, 1 / seen.total) if published else float("nan")
        figures = {"absolute_error": error, "volume": seen.total, "E": error / seen.total, "D": distance}
        return named(figures, self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """E of a window from the absolute errors of its matrices; D as their mean, weighted by volume."""
        plain = figures.rename(columns=lambda name: name.removesuffix("_population"))
        error, volume = float(plain["absolute_error"].sum()), float(plain["volume"].sum())
        released = plain.dropna(subset="D")
        weights = released["volume"].to_numpy()
        distance = float(np.average(released["D"], weights=weights)) if len(released) else float("nan")
        return named({"absolute_error": error, "E": error / volume, "D": distance}, self.measure)


def _absolute_difference(seen: Volumes, release_scale: float, matrix_scale: float) -> float:
    """Sum of |release_scale * r - matrix_scale * v| over all tile pairs."""
    kept = seen.pair_flow >= 0
    share = release_scale * seen.flow / seen.cells
    on_observed = np.abs(share[seen.pair_flow[kept]] - matrix_scale * seen.pair[kept]).sum()
    on_empty = ((seen.cells - seen.pairs_in_flow) * share).sum()
    return float(on_observed + on_empty + matrix_scale * seen.suppressed)
