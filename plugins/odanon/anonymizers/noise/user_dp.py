"""Differential privacy of whole persons on a fixed zoning, with OpenDP (ALGORITHMS, Baselines)."""

from bisect import bisect_left
from math import inf, nextafter
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.noise.noisy import noisy_release
from odanon.errors import OdanonError
from odanon.extras import needed_by
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameter, parameters_of, plugin

_LARGEST_THRESHOLD = 10**9

Ints = npt.NDArray[np.int64]


@plugin
class UserDp(Anonymizer):
    """Noisy trips between fixed areas: (epsilon, delta)-differential privacy for each person, whatever others know.

    Every person counts in at most `max_flows` flows with at most `contribution_cap` trips each, drawn at random; discrete
    Laplace noise is added and flows below a threshold that delta (and k) set are not shown. Counts of people are not
    published. How much is left out is itself private, so `suppression` is not promised.

    The noise comes from the operating system and has no seed, so a second run gives other numbers and spends epsilon
    again: what repeats byte by byte (PRIVACY rule 7) is the one release that was kept, never a new run. Noisy volumes
    do not add up to the input, so the verifier cannot prove them and the pipeline does not publish them.
    """

    verifiable: ClassVar[bool] = False
    keeps: ClassVar[frozenset[str]] = frozenset({"contribution_cap"})
    why_not: ClassVar[str] = "user-dp publishes fixed areas and cannot look at who is behind a flow"

    unit: Literal["persons", "vehicles"] = parameter("persons", "whose presence is hidden")
    epsilon: float = parameter(1.0, "privacy loss of a person over all matrices of the window", gt=0)
    delta: float = parameter(1e-6, "chance of a larger loss; well below one over the number of persons", gt=0, lt=1)
    contribution_cap: int = parameter(1, "trips of one person that count in a published flow", ge=1)
    max_flows: int = parameter(4, "flows of one person that count in a matrix", ge=1)
    level: int | None = parameter(None, "level of the hierarchy that is published; none: the tiles")
    matrices: int = parameter(1, "matrices (time bins) of the window, which share epsilon and delta", ge=1)

    @property
    def sentence(self) -> str:
        """The promise in words."""
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy for each of the {self.unit}; numbers are noisy"

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Bound the contributions, count, add noise, drop what is below the threshold."""

        self.check(od)
        n = len(destinations)
        o_area, d_area = (_fixed_areas(tree, self.level) for tree in (origins, destinations))
        pair_key = o_area[od.pairs.origin] * n + d_area[od.pairs.destination]
        noise = Noise.calibrated(self)
        noisy = noise.add(*_bounded_counts(od, pair_key, self.max_flows, self.contribution_cap))
        keys = np.array(sorted(noisy), dtype=np.int64)
        return noisy_release(
            od,
            origins,
            destinations,
            (keys // n, keys % n, np.array([noisy[key] for key in keys.tolist()], dtype=np.int64)),
            pair_key,
            {"algorithm": "user-dp", **parameters_of(self)},
            {"noise_scale": noise.scale, "threshold": noise.threshold},
        )

    def anonymize_window(self, ods: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> list[Release]:
        """One release per time bin; each spends its part of epsilon and delta."""
        if len(ods) > self.matrices:
            raise OdanonError(
                f"the window has {len(ods)} matrices and epsilon is shared by {self.matrices}; set matrices: {len(ods)}"
            )
        return [self.anonymize(od, origins, destinations) for od in ods]


class Noise:
    """OpenDP's thresholded discrete Laplace noise for counts by key."""

    def __init__(self, scale: float, threshold: int) -> None:
        self.scale, self.threshold = scale, threshold

    @classmethod
    def calibrated(cls, promise: UserDp) -> "Noise":
        """The least scale and threshold that keep epsilon and delta of one matrix; no count below k is shown."""
        flows, cap = promise.max_flows, promise.contribution_cap
        epsilon, delta = promise.epsilon / promise.matrices, promise.delta / promise.matrices

        def loss(scale: float, threshold: int) -> tuple[float, float]:
            return cls(scale, threshold).measurement().map((flows, flows * cap, cap))

        scale = flows * cap / epsilon
        while loss(scale, _LARGEST_THRESHOLD)[0] > epsilon:
            scale = nextafter(scale, inf)
        thresholds = range(cap, _LARGEST_THRESHOLD)
        threshold = thresholds[bisect_left(thresholds, True, key=lambda t: loss(scale, t)[1] <= delta)]
        return cls(scale, max(threshold, promise.k))

    def measurement(self) -> Any:
        """The mechanism, which knows what it costs."""
        with needed_by("user-dp"):
            import opendp.prelude as dp
        dp.enable_features("contrib")
        counts = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
        distance = dp.l01inf_distance(dp.absolute_distance(T="i64"))
        return dp.m.make_laplace_threshold(counts, distance, scale=self.scale, threshold=self.threshold)

    def add(self, keys: Ints, counts: Ints) -> dict[int, int]:
        """Noisy counts of the keys that reach the threshold."""
        return self.measurement()(dict(zip(keys.tolist(), counts.tolist(), strict=True)))


def _fixed_areas(tree: Hierarchy, level: int | None) -> Ints:
    """The node of every tile at a level; refused where areas would tell which tiles have traffic."""
    nodes = tree.tiles if level is None else tree.cut_at_level(level)
    if tree.coverage != "full" and (tree.size[nodes] > 1).any():
        raise OdanonError(
            f"areas of this {tree.kind} hierarchy are known by the tiles with traffic, which is no fixed zoning;"
            " leave level out to publish the tiles, or use a hierarchy with coverage full"
        )
    return tree.owners(nodes).astype(np.int64)


def _bounded_counts(od: ODMatrix, pair_key: Ints, max_flows: int, cap: int) -> tuple[Ints, Ints]:
    """Trips by key when every person counts for at most `cap` in at most `max_flows` keys.

    Which keys of a person count is drawn independently of everybody else, so that one person more or less changes
    the counts by these bounds and no more.
    """
    assert od.person is not None  # other units are refused without ids
    order = np.lexsort((pair_key[od.row_pair], od.person))
    person, key, trips = od.person[order], pair_key[od.row_pair][order], od.trips[order]
    starts = np.flatnonzero(np.append(True, (np.diff(person) != 0) | (np.diff(key) != 0)))
    person, key, trips = person[starts], key[starts], np.minimum(np.add.reduceat(trips, starts), cap)
    drawn = np.lexsort((np.random.default_rng().random(len(key)), person))
    first = np.flatnonzero(np.append(True, np.diff(person[drawn]) != 0))
    turn = np.arange(len(key)) - np.repeat(first, np.diff(np.append(first, len(key))))
    kept = drawn[turn < max_flows]
    keys, code = np.unique(key[kept], return_inverse=True)
    return keys, np.bincount(code, trips[kept], len(keys)).astype(np.int64)
