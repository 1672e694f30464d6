"""How many people and trips are behind the flows, and how full the matrix is (000 Table 2)."""

import numpy as np
import pandas as pd

from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)  # classes of the histograms start at these multiples of k, the last one is open

_FIGURES = (
    Figure("density", "density", "flows over pairs of areas that are in use", kind="ratio"),
    Figure(
        "density_before",
        "density before",
        "tile pairs with trips over pairs of tiles that are in use",
        kind="ratio",
        tells_suppressed="yes",
    ),
    *(
        Figure(f"{column}_x{step}", f"flows of {column} from {step}k", "a class of the histogram", kind="size")
        for column in ("persons", "trips")
        for step in STEPS
    ),
)


@plugin
class Sizes:
    """Histograms of people u and of trips v behind the flows, in doubling multiples of k, and densities."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return _FIGURES

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Numbers of flows: `persons_x4` counts those with 4k <= u < 8k, `persons_x0` those below k; alike for trips.

        Rests are rows like flows. density = rows / (origins x destinations) of the release; density_before = tile pairs with trips over (tiles
        that emit x tiles that receive), where 000 Table 2 divides by all tiles squared.
        """
        flows, pairs = release.flows, od.pairs
        edges = np.append(np.array(STEPS, dtype=np.float64) * release.parameters["k"], np.inf)
        figures: dict[str, float] = {}
        for column in ("persons", "trips"):
            known = flows[column].dropna().to_numpy(np.float64)
            counts = np.histogram(known, edges)[0] if len(known) == len(flows) else np.full(len(STEPS), np.nan)
            figures |= {f"{column}_x{step}": float(count) for step, count in zip(STEPS, counts, strict=True)}
        figures |= {
            "flows": float(len(flows)),
            "area_pairs": float(flows["origin"].nunique() * flows["destination"].nunique()),
            "pairs": float(len(pairs.trips)),
            "tile_pairs": float(len(np.unique(pairs.origin)) * len(np.unique(pairs.destination))),
        }
        return _with_densities(figures)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """Histograms and numbers of the matrices added up."""
        counted = [f"{column}_x{step}" for column in ("persons", "trips") for step in STEPS]
        sums = figures[[*counted, "flows", "area_pairs", "pairs", "tile_pairs"]].sum(min_count=1)
        combined = _with_densities({str(name): float(value) for name, value in sums.items()})
        return {name: combined[name] for name in (*counted, "density", "density_before")}


def _with_densities(figures: dict[str, float]) -> dict[str, float]:
    return {
        **figures,
        "density": figures["flows"] / figures["area_pairs"] if figures["area_pairs"] else float("nan"),
        "density_before": figures["pairs"] / figures["tile_pairs"],
    }
