"""How far trips are moved: GDM (002 section 4.3, equation 4.3)."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, named, unnamed
from odanon.model.areas import Areas
from odanon.model.figure import Figure
from odanon.model.ground import centres
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_FIGURES = (
    Figure(
        "GDM",
        "metres moved",
        "mean distance of a trip's end to the centre it is published at",
        "m",
        symbol="GDM m",
        best="least",
    ),
    Figure("GDM_median", "metres moved, median", "of the same distances", "m"),
    Figure("GDM_sd", "metres moved, sd", "standard deviation of the same distances", "m"),
)


@plugin
class Distance(Measured):
    """GDM: metres from each end of a published trip to the centre that it is published at: mean, median, sd."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    @classmethod
    def applicable(cls, od: ODMatrix, release: Release) -> "list[Distance]":
        """None where nobody knows where the tiles lie."""
        return super().applicable(od, release) if od.ground is not None else []

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """d_j = geodesic distance of end j (origin, destination) to the centre of its area (002 equation 4.3).

        Ends are known to their tile, so that a trip published between its own two tiles moves nothing; with raw
        coordinates, as in the paper, the way to the middle of the tile would come on top. GDM, GDM_median and GDM_sd
        are over both ends of all published trips; people count once for each of their tile pairs, weights as often as
        they say.
        """
        if od.ground is None:
            raise OdanonError("nobody knows where the tiles lie, so GDM cannot be measured; give their zones")
        flow = release.assignment["flow"].to_numpy()
        kept = np.flatnonzero(flow >= 0)
        volume = Volumes(od, release, self.measure).pair[kept]
        sides = (
            ("origin", release.origins, od.ground.origins, od.pairs.origin),
            ("destination", release.destinations, od.ground.destinations, od.pairs.destination),
        )
        metres = np.concatenate(
            [
                _moved(areas, tree, tile[kept], _area_of_flows(release, side, areas)[flow[kept]])
                for side, areas, tree, tile in sides
            ]
        )
        weights = np.concatenate([volume, volume])
        sums = {
            "GDM_ends": float(weights.sum()),
            "GDM_sum": float((weights * metres).sum()),
            "GDM_squares": float((weights * metres**2).sum()),
            "GDM_median": _median(metres, weights),
        }
        return named(_with_mean(sums), self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """Mean and sd over all trips of the window; the median is the matrices' median, weighted by their trips."""
        plain = unnamed(figures, self.measure)
        sums = {name: float(plain[name].sum()) for name in ("GDM_ends", "GDM_sum", "GDM_squares")}
        released = plain[plain["GDM_ends"] > 0]
        middle = _median(released["GDM_median"].to_numpy(), released["GDM_ends"].to_numpy())
        combined = _with_mean({**sums, "GDM_median": middle})
        return named({name: combined[name] for name in ("GDM", "GDM_median", "GDM_sd")}, self.measure)


def _area_of_flows(release: Release, side: str, areas: Areas) -> npt.NDArray[np.int64]:
    return pd.Index(areas.label).get_indexer(pd.Index(release.flows[side].astype("str")))


def _moved(areas: Areas, tree: Hierarchy, tile: npt.NDArray, area: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Metres from each tile's centroid to the centre of its area; every combination is measured once."""
    from pyproj import Geod

    if not len(tile):
        return np.empty(0)
    assert tree.lat is not None
    assert tree.lon is not None
    lat, lon = centres(tree, areas.label, areas.level, areas.start, areas.members)
    code, pairs = pd.factorize(area * np.int64(tree.n_leaves) + tile)
    at, ranks = np.divmod(pairs, tree.n_leaves)
    _, _, metres = Geod(ellps="WGS84").inv(tree.lon[ranks], tree.lat[ranks], lon[at], lat[at])
    return np.asarray(metres)[code]


def _median(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """The smallest value that half of the weight does not exceed."""
    if not len(values):
        return float("nan")
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def _with_mean(sums: dict[str, float]) -> dict[str, float]:
    ends = sums["GDM_ends"]
    mean = sums["GDM_sum"] / ends if ends else float("nan")
    spread = max(0.0, sums["GDM_squares"] / ends - mean**2) ** 0.5 if ends else float("nan")
    return {**sums, "GDM": mean, "GDM_sd": spread}
