"""What a release costs in precision and in volume: G, Gbar and S (ALGORITHMS, Costs; 000 equation 3)."""

import pandas as pd

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.metrics.volumes import Measure, named, volumes
from odanon.plugin import parameter, plugin

_ADDED = ("volume", "published", "G", "flows")
_LARGEST = ("origin_areas", "destination_areas")
_SMALLEST = ("min_trips", "min_persons")


@plugin
class Generalisation:
    """Generalisation error G and its mean Gbar (2 = nothing generalised), suppressed volume S, size of the release."""

    measure: Measure = parameter("trips", "what is summed: trips, or the weights of the population")

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Figures of one matrix.

        G = sum (|o| + |d|) v over published flows and Gbar = G / sum v: the mean number of tiles, origin plus
        destination, that a trip is blurred to.
        """
        seen = volumes(od, release, self.measure)
        flows = release.flows
        people = flows["persons"].dropna()
        figures = {
            "volume": seen.total,
            "published": float(seen.flow.sum()),
            "G": float((seen.tiles * seen.flow).sum()),
            "flows": float(len(flows)),
            "origin_areas": float(len(release.origins.label)),
            "destination_areas": float(len(release.destinations.label)),
            "min_trips": float(flows["trips"].min()) if len(flows) else float("nan"),
            "min_persons": float(people.min()) if len(people) else float("nan"),
        }
        return named(_with_ratios(figures), self.measure)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """The figures of a window from those of its matrices (one row each)."""
        plain = figures.rename(columns=lambda name: name.removesuffix("_population"))
        parts = plain[[*_ADDED]].sum(), plain[[*_LARGEST]].max(), plain[[*_SMALLEST]].min()
        added = {str(name): float(value) for part in parts for name, value in part.items()}
        return named(_with_ratios(added), self.measure)


def _with_ratios(figures: dict[str, float]) -> dict[str, float]:
    published = figures["published"]
    return {
        **figures,
        "S": figures["volume"] - published,
        "S_share": 1 - published / figures["volume"],
        "Gbar": figures["G"] / published if published else float("nan"),
    }
