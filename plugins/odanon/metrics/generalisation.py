"""What a release costs in precision and in volume: G, Gbar and S (ALGORITHMS, Costs; 000 equation 3)."""

import pandas as pd

from odanon.anonymize.matrix import ODMatrix
from odanon.anonymize.release import Release
from odanon.plugin import plugin

_ADDED = ("volume", "published_trips", "G", "flows")
_LARGEST = ("origin_areas", "destination_areas")
_SMALLEST = ("min_trips", "min_persons")


@plugin
class Generalisation:
    """Generalisation error G and its mean Gbar (2 = nothing generalised), suppressed trips S, size of the release."""

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Figures of one matrix; Gbar is the mean number of tiles, origin plus destination, a trip is blurred to."""
        flows = release.flows
        people = flows["persons"].dropna()
        tiles = flows["origin_tiles"].to_numpy() + flows["destination_tiles"].to_numpy()
        trips = flows["trips"].to_numpy()
        return _with_ratios(
            {
                "volume": float(od.volume),
                "published_trips": float(trips.sum()),
                "G": float((tiles * trips).sum()),
                "flows": float(len(flows)),
                "origin_areas": float(len(release.origins.label)),
                "destination_areas": float(len(release.destinations.label)),
                "min_trips": float(trips.min()) if len(flows) else float("nan"),
                "min_persons": float(people.min()) if len(people) else float("nan"),
            }
        )

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """The figures of a window from those of its matrices (one row each)."""
        parts = figures[[*_ADDED]].sum(), figures[[*_LARGEST]].max(), figures[[*_SMALLEST]].min()
        return _with_ratios({str(name): float(value) for part in parts for name, value in part.items()})


def _with_ratios(figures: dict[str, float]) -> dict[str, float]:
    published = figures["published_trips"]
    return {
        **figures,
        "S": figures["volume"] - published,
        "S_share": 1 - published / figures["volume"],
        "Gbar": figures["G"] / published if published else float("nan"),
    }
