"""What a release costs in precision and in volume: G, Gbar and S (ALGORITHMS, Costs; 000 equation 3)."""

from typing import ClassVar

import pandas as pd

from odanon.metrics.measured import Measured
from odanon.metrics.volumes import Volumes, flow_weights, named, unnamed
from odanon.model.figure import Figure
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import plugin

_ADDED = ("volume", "published", "coarse", "S", "G")
_LARGEST = ("origin_areas", "destination_areas")
_COUNTED = ("trips", "persons", "weight")

_FIGURES = (
    Figure(
        "Gbar",
        "tiles per trip",
        "mean size of origin plus destination of a trip in a flow; 2 means nothing was enlarged",
        unit="tiles",
        public="gbar",
        symbol="Ḡ",
        best="least",
        headline=True,
    ),
    Figure(
        "S_share",
        "of trips left out",
        "too few people went that way, even between large areas",
        unit="share",
        public="suppressed_share",
        tells_suppressed="yes",
        symbol="S",
        best="least",
        headline=True,
    ),
    Figure(
        "coarse_share",
        "of trips told coarsely",
        "in rests, whose areas hold finer rows that do not count them; of all that is published",
        unit="share",
        public="coarse_share",
        symbol="coarse",
        headline=True,
    ),
    Figure("G", "generalisation error", "tiles of origin plus destination, added up over trips in flows"),
    Figure("coarse", "trips told coarsely", "the volume in rests", kind="count"),
    Figure("S", "trips left out", "the volume in no flow and no rest", kind="count", tells_suppressed="yes"),
    Figure("volume", "trips", "the volume of the matrix", kind="count", tells_suppressed="yes"),
    Figure("published", "trips published", "the volume of all flows and rests", kind="count"),
)
# The same whatever is summed.
_SHAPE = (
    Figure(
        "flows",
        "flows",
        "rows: origin, destination and time bin, rests included",
        kind="size",
        public="flows",
        headline=True,
    ),
    Figure(
        "origin_areas",
        "origin areas",
        "areas that trips leave, in the time bin that has most",
        kind="size",
        public="origin_areas",
    ),
    Figure(
        "destination_areas",
        "destination areas",
        "areas that trips go to, in the time bin that has most",
        kind="size",
        public="destination_areas",
    ),
    Figure("min_trips", "trips, at the fewest", "of the smallest flow", kind="count"),
    Figure("min_persons", "people, at the fewest", "behind the smallest flow", kind="fewest"),
    Figure("min_weight", "weight, at the least", "behind the smallest flow", kind="count"),
)


@plugin
class Generalisation(Measured):
    """Generalisation error G and its mean Gbar (2 = nothing generalised), suppressed volume S, size of the release."""

    told: ClassVar[tuple[Figure, ...]] = _FIGURES

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Those of the measure, and the shape of the release, which is the same whatever is summed."""
        return (*super().figures, *_SHAPE)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Figures of one matrix.

        G = sum (|o| + |d|) v over published flows (000 problem G) and Gbar = G / sum v (000 equation 3; 002 equation 4.4):
        the mean number of tiles, origin plus destination, that a trip is blurred to. S = V - V+, the volume left out.
        Origins x destinations are the areas that flows name; min_trips, min_persons and (where given) min_weight the
        smallest v, u and weight of a flow. The trips of a rest are published, in V+, but not in G or Gbar: what they tell is
        coarse_share, the part of V+ in rests.
        """
        seen = Volumes(od, release, self.measure)
        flows = release.flows
        counted = flows.assign(weight=flow_weights(od, release)) if "weight" in flows else flows
        volumes = {
            "volume": seen.total,
            "published": seen.published,
            "coarse": seen.coarse,
            "S": seen.left_out,
            "G": float((seen.tiles * seen.in_flows).sum()),
        }
        return {
            **named(_with_ratios(volumes), self.measure),
            "flows": float(len(flows)),
            "origin_areas": float(flows["origin"].nunique()),
            "destination_areas": float(flows["destination"].nunique()),
            **{f"min_{column}": _least(counted[column]) for column in _COUNTED if column in counted},
        }

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """The figures of a window from those of its matrices (one row each)."""
        plain = unnamed(figures, self.measure)
        volumes = {name: float(plain[name].sum()) for name in _ADDED}
        return {
            **named(_with_ratios(volumes), self.measure),
            "flows": float(figures["flows"].sum()),
            **{name: float(figures[name].max()) for name in _LARGEST},
            **{name: float(figures[name].min()) for name in figures if str(name).removeprefix("min_") in _COUNTED},
        }


def _least(counts: pd.Series) -> float:
    known = counts.dropna()
    return float(known.min()) if len(known) else float("nan")


def _with_ratios(figures: dict[str, float]) -> dict[str, float]:
    published, in_flows = figures["published"], figures["published"] - figures["coarse"]
    return {
        **figures,
        "S_share": figures["S"] / figures["volume"],
        "coarse_share": figures["coarse"] / published if published else 0.0,
        "Gbar": figures["G"] / in_flows if in_flows else float("nan"),
    }
