"""What a release keeps: E and D, with its flows spread evenly over their tiles (000 equations 2 and 4), and E of the other readings."""

from typing import ClassVar

import numpy as np
import pandas as pd

from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, named, unnamed
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FIGURES = (
    Figure(
        "E",
        "reconstruction loss",
        "flows spread back over their tiles: 0 is perfect, publishing nothing scores 1",
        public="reconstruction_loss",
        tells_suppressed="yes",
        symbol="E",
        best="least",
        headline=True,
    ),
    Figure(
        "E_fitted",
        "reconstruction loss, fitted",
        "as E, with flows spread as all published numbers together suggest",
        public="reconstruction_loss_fitted",
        tells_suppressed="yes",
        symbol="E fitted",
        best="least",
    ),
    Figure(
        "E_prior",
        "reconstruction loss, by public weights",
        "as E, with flows spread by the public weights of tiles that came with the zoning",
        public="reconstruction_loss_prior",
        tells_suppressed="yes",
        symbol="E prior",
        best="least",
    ),
    Figure(
        "D",
        "distance of the distributions",
        "as E, of shares instead of trips",
        tells_suppressed="yes",
        symbol="D",
        best="least",
    ),
    Figure("absolute_error", "absolute error", "E times all trips", tells_suppressed="yes"),
)


@plugin
class Reconstruction(Measured):
    """Reconstruction loss E and distribution distance D between the spread-out release and the matrix."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """E = (1/V) sum |r - v| (000 equation 2; 002 equation 4.5), D = sum |r/V+ - v/V| (000 equation 4).

        The sums run over all pairs of tiles; r is what a pair gets when every flow spreads evenly over its |o| x |d|
        pairs and every rest over those of its pairs that no finer row holds, and the sum of what several flows give where
        boxes overlap. All r together are V+, so pairs without trips
        add V+ less what the pairs with trips get: only these are looked at, and no dense matrix is ever made.
        """
        seen = Volumes(od, release, self.measure)
        total, published = seen.total, seen.published
        error = absolute_difference(seen.given_back, seen.pair, published)
        others: dict[str, float] = {}
        for name, back in (("fitted", seen.fitted_back), ("prior", seen.prior_back)):
            lost = float("nan") if back is None else absolute_difference(back, seen.pair, published)
            others |= {f"{name}_error": lost, f"E_{name}": lost / total}
        distance = float("nan")
        if published:
            distance = absolute_difference(seen.given_back / published, seen.pair / total, 1.0)
        figures = {"absolute_error": error, "volume": total, "E": error / total, "D": distance}
        return named({**figures, **others}, self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """E of a window from the absolute errors of its matrices; D as their mean, weighted by volume."""
        plain = unnamed(figures, self.measure)
        error, volume = float(plain["absolute_error"].sum()), float(plain["volume"].sum())
        released = plain.dropna(subset="D")
        weights = released["volume"].to_numpy()
        distance = float(np.average(released["D"], weights=weights)) if len(released) else float("nan")
        others = {f"E_{name}": float(plain[f"{name}_error"].sum(skipna=False)) / volume for name in ("fitted", "prior")}
        return named({"absolute_error": error, "E": error / volume, **others, "D": distance}, self.measure)


def absolute_difference(given: np.ndarray, held: np.ndarray, all_given: float) -> float:
    """Sum of |given - held| over all tile pairs, from those that hold something and the sum of all that is given."""
    return float(all_given + (np.abs(given - held) - given).sum())
