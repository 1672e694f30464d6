"""What a metric sums: trips or people (participants), or expansion weights (population).

Participants are measured in trips, as the papers do, or in people: then a tile pair holds the different people who
travelled between its tiles, and a flow the union of them. The population is measured by weights.
"""

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.metrics import kernels
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.reconstruct.layout import Layout
from odanon.reconstruct.rests import Regions, is_rest_row

Measure = Literal["trips", "persons", "weight"]

SUFFIX: dict[Measure, str] = {"trips": "", "persons": "_persons", "weight": "_population"}


class Volumes:
    """Volumes of every input pair and of every flow of a release."""

    def __init__(self, od: ODMatrix, release: Release, measure: Measure) -> None:
        self.release, self.measure = release, measure
        self.origin, self.destination, self.ground = od.pairs.origin, od.pairs.destination, od.ground
        self.time, self.times = od.pairs.time, od.times
        self.pair = _pair_volumes(od, measure)
        self.flow = _flow_volumes(od, release, measure)
        self.pair_flow = release.assignment["flow"].to_numpy()

    @property
    def total(self) -> float:
        """V."""
        return float(self.pair.sum())

    @property
    def published(self) -> float:
        """V+."""
        return float(self.flow.sum())

    @property
    def suppressed(self) -> float:
        """Volume of the pairs in no flow."""
        return float(self.pair[self.pair_flow < 0].sum())

    @property
    def left_out(self) -> float:
        """S: V - V+, which noise may make negative; people do not add up, so theirs are those in no flow."""
        return self.suppressed if self.measure == "persons" else self.total - self.published

    @property
    def tiles(self) -> npt.NDArray[np.int64]:
        """|o| + |d| of every flow or rest."""
        flows = self.release.flows
        return flows["origin_tiles"].to_numpy(np.int64) + flows["destination_tiles"].to_numpy(np.int64)

    @cached_property
    def in_flows(self) -> npt.NDArray[np.float64]:
        """Volume of every flow, none of a rest.

        How large areas are is told of flows: one rest at the top of the map would outweigh all of them, and says as much as its share.
        """
        return np.where(is_rest_row(self.release.flows), 0.0, self.flow)

    @property
    def coarse(self) -> float:
        """Volume that only rests tell."""
        return float((self.flow - self.in_flows).sum())

    @cached_property
    def layout(self) -> Layout | None:
        """The rows over nested areas; None for boxes."""
        return Layout.of(self.release)

    @cached_property
    def given_back(self) -> npt.NDArray[np.float64]:
        """What every input pair gets when rows spread evenly over the tile pairs that they count (000 section 4.3).

        A flow counts all |o| x |d| of its areas, a rest those that no finer row holds.
        """
        return self._spread(Regions.of(self.release).layered(self.flow))

    @property
    def fitted_back(self) -> npt.NDArray[np.float64] | None:
        """The same with rows spread as all published numbers together suggest; None for areas that do not nest, and for intervals."""
        layout = self.layout
        if layout is None or self.times is not None:
            return None
        leave, enter = layout.fitted(self.flow)
        density = self._spread(layout.layered(self.flow, layout.origins.total(leave), layout.destinations.total(enter)))
        by_tile = [
            layout.by_tile(side, weight, end)
            for side, weight, end in zip((0, 1), (leave, enter), (self.origin, self.destination), strict=True)
        ]
        return density * by_tile[0] * by_tile[1]

    @property
    def prior_back(self) -> npt.NDArray[np.float64] | None:
        """The same with rows spread by public weights of tiles; None without them, or for areas that do not nest."""
        layout, ground = self.layout, self.ground
        if layout is None or ground is None or ground.prior is None:
            return None
        trees, ends = (ground.origins, ground.destinations), (self.origin, self.destination)
        whole = [
            weight[pd.Index(tree.label).get_indexer(pd.Index(areas.label))]
            for weight, tree, areas in zip(ground.prior, trees, layout.areas, strict=True)
        ]
        by_tile = [weight[tree.tiles][end] for weight, tree, end in zip(ground.prior, trees, ends, strict=True)]
        return self._spread(layout.layered(self.flow, whole[0], whole[1])) * by_tile[0] * by_tile[1]

    def _spread(self, share: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sum of the shares of all rows around each pair; a bin has as much of them as it is long."""
        release = self.release
        origin, destination = (
            pd.Index(areas.label).get_indexer(pd.Index(release.flows[side].astype("str")))
            for side, areas in (("origin", release.origins), ("destination", release.destinations))
        )
        sides = [
            _areas_of_tiles(areas.start, areas.members, int(ends.max(initial=-1)) + 1)
            for areas, ends in ((release.origins, self.origin), (release.destinations, self.destination))
        ]

        def given(rows: npt.NDArray[np.int64], pairs: npt.NDArray[np.int64] | slice) -> npt.NDArray[np.float64]:
            order = rows[np.argsort(origin[rows], kind="stable")]
            flow_start = np.searchsorted(origin[order], np.arange(len(release.origins.label) + 1))
            return kernels.spread_over_pairs(
                self.origin[pairs], self.destination[pairs], *sides[0], flow_start, destination[order], share[order],
                *sides[1], len(release.destinations.label),
            )  # fmt: skip

        if self.times is None or self.time is None:
            return given(np.arange(len(share)), slice(None))
        back = np.zeros(len(self.origin))
        for number, rows in enumerate(rows_by_bin(release, len(self.times))):
            pairs = np.flatnonzero(self.time == number)
            back[pairs] = given(rows, pairs) * self.times.weight[number]
        return back


def rows_by_bin(release: Release, n_bins: int) -> list[npt.NDArray[np.int64]]:
    """The rows whose interval holds each bin."""
    assert release.times is not None
    intervals = release.times
    number = pd.Index(intervals.label).get_indexer(pd.Index(release.flows["time"].astype("str")))
    holds = np.zeros((len(intervals.label), n_bins), dtype=np.bool_)
    holds[np.repeat(np.arange(len(intervals.label)), np.diff(intervals.start)), intervals.members] = True
    return [np.flatnonzero(holds[number, at]) for at in range(n_bins)]


def measures(od: ODMatrix, release: Release) -> list[Measure]:
    """The measures that a matrix and its release allow."""
    known: list[Measure] = ["trips"]
    if od.person is not None and release.flows["persons"].notna().all():
        known.append("persons")
    if od.weight is not None and "weight" in release.flows:
        known.append("weight")
    return known


def flow_weights(od: ODMatrix, release: Release) -> npt.NDArray[np.float64]:
    """The true weight of every flow: a release tells it rounded, and metrics measure what areas cost, not rounding."""
    flow, weight = release.assignment["flow"].to_numpy(np.int64), _pair_volumes(od, "weight")
    return np.bincount(flow[flow >= 0], weight[flow >= 0], len(release.flows)).astype(np.float64)


def named(figures: dict[str, float], measure: Measure) -> dict[str, float]:
    """Figures of people and of the population say so in their names, so that all views fit in one table."""
    return {f"{name}{SUFFIX[measure]}": value for name, value in figures.items()}


def unnamed(figures: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The columns of a measure under their plain names."""
    suffix = SUFFIX[measure]
    own = [name for name in figures.columns if name.endswith(suffix)]
    return figures[own].rename(columns=lambda name: name.removesuffix(suffix))


def _pair_volumes(od: ODMatrix, measure: Measure) -> npt.NDArray[np.float64]:
    if measure == "weight":
        if od.pairs.weight is None:
            raise OdanonError("the matrix has no weights; measure trips, or give a weight column")
        return od.pairs.weight
    if measure == "persons":
        if od.person is None:
            raise OdanonError("the matrix has no person ids; measure trips, or give a person column")
        return np.bincount(od.row_pair, minlength=len(od.pairs.trips)).astype(np.float64)
    return od.pairs.trips.astype(np.float64)


def _flow_volumes(od: ODMatrix, release: Release, measure: Measure) -> npt.NDArray[np.float64]:
    if measure not in release.flows or release.flows[measure].isna().any():
        raise OdanonError(f"the release does not tell the {measure} of its flows; measure trips")
    return flow_weights(od, release) if measure == "weight" else release.flows[measure].to_numpy(np.float64)


def _areas_of_tiles(
    start: npt.NDArray[np.int64], members: npt.NDArray[np.int32], least: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(start, area): the areas around every tile rank."""
    order = np.argsort(members, kind="stable")
    area = np.repeat(np.arange(len(start) - 1), np.diff(start))[order]
    n_tiles = max(least, int(members.max(initial=-1)) + 1)
    return np.searchsorted(members[order], np.arange(n_tiles + 1)), area
