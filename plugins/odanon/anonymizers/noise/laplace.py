"""Laplace noise on every tile pair, the papers' baseline from differential privacy (000 section 4.2 and appendix B)."""

import math
from typing import ClassVar, Literal

import numpy as np

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.noise.noisy import noisy_release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, parameters_of, plugin

_MOST_FLOWS = 50_000_000
_BLOCK = 1 << 22  # cells drawn at a time


@plugin
class Laplace(Anonymizer):
    """BASELINE, NOT A PROTECTION: every tile pair's trips plus Laplace noise, rounded, never below 0.

    The noise hides a single trip, not a person with many, and whoever knows the seed takes it off again. It is here to be
    compared with. k and suppression play no part, volumes are not kept, so the verifier refuses it and it cannot be published.
    """

    verifiable: ClassVar[bool] = False
    why_not: ClassVar[str] = "laplace adds noise to tiles and joins nothing"

    unit: Literal["trips"] = parameter("trips", "single trips are what the noise hides")
    epsilon: float = parameter(1.0, "privacy loss of one trip", gt=0)
    seed: int = parameter(0, "start of the random numbers, so that a comparison repeats", ge=0)

    @property
    def sentence(self) -> str:
        """Why it is no promise."""
        return "a baseline for comparisons, not a protection: noise hides single trips and its seed is known"

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Noise on all pairs of tiles, those without trips included: about a third of them appear at epsilon 1."""

        self.check(od)
        n_origins, n_destinations = origins.n_leaves, destinations.n_leaves
        expected = 0.5 * math.exp(-0.5 * self.epsilon) * n_origins * n_destinations
        if expected > _MOST_FLOWS:
            raise OdanonError(
                f"laplace would make about {expected / 1e6:.0f} million flows out of empty pairs of tiles;"
                " use coarser tiles or a larger epsilon"
            )
        pairs = od.pairs
        cell = pairs.origin.astype(np.int64) * n_destinations + pairs.destination
        rng = np.random.default_rng(self.seed)
        kept: list[np.ndarray] = []
        trips: list[np.ndarray] = []
        for begin in range(0, n_origins * n_destinations, _BLOCK):
            end = min(begin + _BLOCK, n_origins * n_destinations)
            value = rng.laplace(scale=1 / self.epsilon, size=end - begin)
            inside = slice(*np.searchsorted(cell, [begin, end]))
            value[cell[inside] - begin] += pairs.trips[inside]
            rounded = np.rint(value).astype(np.int64)
            positive = np.flatnonzero(rounded > 0)
            kept.append(begin + positive)
            trips.append(rounded[positive])
        cells = np.concatenate(kept)
        return noisy_release(
            od,
            origins,
            destinations,
            (
                origins.tiles[cells // n_destinations].astype(np.int64),
                destinations.tiles[cells % n_destinations].astype(np.int64),
                np.concatenate(trips),
            ),
            origins.tiles[pairs.origin].astype(np.int64) * len(destinations) + destinations.tiles[pairs.destination],
            {"algorithm": "laplace", **parameters_of(self)},
            {},
        )
