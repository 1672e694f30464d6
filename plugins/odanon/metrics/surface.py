"""How large the areas are that trips are published for: MAO and MAD (001 section 3)."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, named, unnamed
from odanon.model.areas import Areas
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FIGURES = (
    Figure("MAO", "origin area", "mean area of the origin of a trip in a flow", "km2", symbol="MAO km²"),
    Figure("MAD", "destination area", "mean area of the destination of a trip in a flow", "km2", symbol="MAD km²"),
)


@plugin
class Surface(Measured):
    """Mean area of origins (MAO) and of destinations (MAD) that trips are published for, in km2."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    @classmethod
    def applicable(cls, od: ODMatrix, release: Release) -> "list[Surface]":
        """None where nobody knows how large the tiles are."""
        return super().applicable(od, release) if od.ground is not None and od.ground.measurable else []

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """MAO = sum v |o| a / sum v and MAD = sum v |d| a / sum v over the published flows, rests apart (001 section 3).

        The paper's tiles are squares of one size a; here a is the mean area of the tiles that the area lists.
        """
        if od.ground is None:
            raise OdanonError("nobody knows where the tiles lie, so MAO and MAD cannot be measured; give their zones")
        seen = Volumes(od, release, self.measure)
        origin, destination = od.ground.tile_km2
        figures = {
            "in_flows": float(seen.in_flows.sum()),
            "MAO_sum": float((seen.in_flows * _km2(release, "origin", release.origins, origin)).sum()),
            "MAD_sum": float((seen.in_flows * _km2(release, "destination", release.destinations, destination)).sum()),
        }
        return named(_with_means(figures), self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """Means over all trips in flows of the window."""
        plain = unnamed(figures, self.measure)
        combined = _with_means({name: float(plain[name].sum()) for name in ("in_flows", "MAO_sum", "MAD_sum")})
        return named({name: combined[name] for name in ("MAO", "MAD")}, self.measure)


def _km2(release: Release, side: str, areas: Areas, tile_km2: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The area of one end of every flow."""
    if not len(release.flows):
        return np.empty(0)
    mean = np.add.reduceat(tile_km2[areas.members], areas.start[:-1]) / np.diff(areas.start)
    return (mean * areas.n_tiles)[pd.Index(areas.label).get_indexer(pd.Index(release.flows[side].astype("str")))]


def _with_means(figures: dict[str, float]) -> dict[str, float]:
    in_flows = figures["in_flows"]
    means = {name: figures[f"{name}_sum"] / in_flows if in_flows else float("nan") for name in ("MAO", "MAD")}
    return {**figures, **means}
