"""The rows of whole windows spread over all pairs of many areas at once, by products of sparse matrices.

`PublishedProduct.matrix` answers one question with its bounds; here many times of many windows are asked for the same areas, and
estimates alone: what a published shape has in common with the areas is worked out once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.client.publications import PublishedProduct
from odanon.errors import OdanonError
from odanon.reconstruct.areas import checked, ground, zone_shares
from odanon.reconstruct.readings import (
    EVEN,
    PRIOR,
    SIDES,
    of_reading,
    prior_shares,
    resolved,
    spread_column,
    weighted_shares,
)

if TYPE_CHECKING:
    from geopandas import GeoDataFrame, GeoSeries
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
TIMES = ["time_start", "time_end"]
_INSTANT = "datetime64[us, UTC]"
_MOMENT = timedelta(seconds=1)  # how long rows last that are older than ends of bins: they count where they start


class Areas:
    """Areas of one's own by number, and which part of published shapes lies in each; every shape is looked at once."""

    def __init__(self, outlines: "GeoSeries") -> None:
        self._outlines = checked(outlines)
        self.names = self._outlines.index.to_numpy()
        self._found: dict[bytes, tuple[Ints, Floats]] = {}

    @property
    def overlap(self) -> float:
        """Which part of the ground of all areas is more than what they cover together."""
        every, covered = ground(self._outlines.to_numpy()).sum(), ground(np.array([self._outlines.union_all()])).sum()
        return float(1 - covered / every)

    def shares(self, shapes: "GeoDataFrame") -> pd.DataFrame:
        """zone (position in shapes), area (number) and share of the shape's ground inside it."""
        outlines = shapes.geometry.to_wkb().to_numpy()
        self._look_at(shapes, outlines)
        found = [self._found[outline] for outline in outlines]
        area, share = (np.concatenate([kind, *(each[n] for each in found)]) for n, kind in enumerate(_NOTHING))
        zone = np.repeat(np.arange(len(found)), [len(each[0]) for each in found])
        return pd.DataFrame({"zone": zone, "area": area, "share": share})

    def _look_at(self, shapes: "GeoDataFrame", outlines: npt.NDArray[Any]) -> None:
        fresh = np.flatnonzero([outline not in self._found for outline in outlines])
        if not len(fresh):
            return
        met = zone_shares(shapes.iloc[fresh], self._outlines.set_axis(np.arange(len(self.names))))
        edges = np.searchsorted(met["zone"].to_numpy(), np.arange(len(fresh) + 1))
        area, share = met["area"].to_numpy(np.int64), met["share"].to_numpy(np.float64)
        for number, at in enumerate(fresh):
            here = slice(edges[number], edges[number + 1])
            self._found[outlines[at]] = area[here], share[here]


_NOTHING = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Window:
    """The rows of the release of a window, all segments together, read in one way."""

    product: PublishedProduct
    manifest: Mapping[str, Any]
    reading: str
    zones: "GeoDataFrame"
    rows: pd.DataFrame  # time_start, time_end, origin, destination (positions in zones), trips, spread
    areas: Areas = field(repr=False)

    @classmethod
    def of(cls, product: PublishedProduct, manifest: Mapping[str, Any], reading: str, areas: Areas) -> "Window":
        day, how = manifest["window_start"], resolved(reading, manifest)
        flows, zones = product.flows(day), product.zones(day)
        if {*flows["release_id"].unique(), *zones["release_id"].unique()} - {manifest["release_id"]}:
            raise OdanonError(f"{product.name} {day} was replaced meanwhile; do the same again")
        start, end = (pd.to_datetime(flows[name], utc=True).astype(_INSTANT) for name in TIMES)
        number = pd.Index(zones["zone_id"])
        told = {
            "time_start": start,
            "time_end": end.fillna(start + _MOMENT),
            **{side: number.get_indexer(pd.Index(flows[f"{side}_zone"])) for side in SIDES},
            "trips": flows["trips"].astype(np.float64),
            "spread": flows[spread_column(how)].astype(np.float64),
        }
        rows = pd.DataFrame(told).groupby([*TIMES, *SIDES], as_index=False)[["trips", "spread"]].sum()
        return cls(product, manifest, how, zones, rows, areas)

    def between(self, part: Floats) -> Floats:
        """Trips from every area to every other one, if only a part of each row counts."""
        found = np.zeros((len(self.areas.names), len(self.areas.names)))
        volume = self.rows["spread"].to_numpy() * part
        for rows, origins, destinations in self._shares:
            some = rows[part[rows] > 0]
            if len(some):
                found += _product(self.rows.iloc[some], volume[some], origins, destinations)
        return found

    @cached_property
    def _shares(self) -> list[tuple[Ints, "csr_array", "csr_array"]]:
        """Which part of the weight of each zone lies in each area, for what leaves and what enters, and the rows that go by it."""
        every, plain = np.arange(len(self.rows)), self.areas.shares(self.zones)
        if self.reading == EVEN:
            share = self._by_zone(plain)
            return [(every, share, share)]
        named = plain.assign(zone_id=self.zones["zone_id"].to_numpy()[plain["zone"]])
        size = pd.Series(ground(self.zones.geometry.to_numpy()) / 1e6, index=self.zones["zone_id"].to_numpy())
        if self.reading == PRIOR:
            tiles = self.product.tiles(self.manifest["window_start"])
            sides = prior_shares(tiles, size, self.areas.shares(tiles), named)
            return [(every, *(self._by_zone(self._numbered(sides[side])) for side in SIDES))]
        # Each time bin has fitted weights of its own, and is told by its start.
        weights = of_reading(self.product.weights(self.manifest["window_start"]), self.reading)
        weights["time_bin"] = pd.to_datetime(weights["time_bin"], utc=True).astype(_INSTANT)
        told = self._numbered(weighted_shares(weights, size, named))
        found = []
        for bin_, here in told.groupby("time_bin"):
            rows = np.flatnonzero(self.rows["time_start"] == bin_)
            found.append((rows, *(self._by_zone(here[here["side"] == side]) for side in SIDES)))
        return found

    def _numbered(self, shares: pd.DataFrame) -> pd.DataFrame:
        return shares.assign(zone=pd.Index(self.zones["zone_id"]).get_indexer(pd.Index(shares["zone_id"])))

    def _by_zone(self, shares: pd.DataFrame) -> "csr_array":
        from scipy.sparse import csr_array

        at = shares["zone"].to_numpy(), shares["area"].to_numpy()
        return csr_array((shares["share"].to_numpy(), at), (len(self.zones), len(self.areas.names)))


def _product(rows: pd.DataFrame, volume: Floats, origins: "csr_array", destinations: "csr_array") -> Floats:
    from scipy.sparse import csr_array

    at = rows["origin"].to_numpy(), rows["destination"].to_numpy()
    left = (origins.T @ csr_array((volume, at), (origins.shape[0],) * 2)).toarray()
    return np.asarray((destinations.T @ left.T).T)
