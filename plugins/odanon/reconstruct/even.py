"""The spread of published rows, as one number a row: what to multiply with the shares of its two zones.

A flow spreads evenly over the ground of its zones, a rest over what no finer row covers. Both are sums over rows of `spread` x
(share of the origin zone) x (share of the destination zone): a row that lies inside a rest carries its own trips less those that
the rest would put there. Without rests, `spread` is the number of trips. It follows from published numbers alone, and
adds up over rows, time bins and days as trips do. Other readings measure zones by weights instead of ground.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release
from odanon.model.window import Times
from odanon.reconstruct.areas import ground
from odanon.reconstruct.rests import Regions, is_rest_row, rest_around

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_PLACE = ["time_start", "time_end", "origin_zone", "destination_zone"]


def over_tiles(release: Release) -> Floats:
    """`spread` of the rows of a release, evenly over pairs of tiles and their time."""
    regions = Regions.of(release)
    return regions.layered(release.flows["trips"].to_numpy(np.float64)) * regions.whole


def over_ground(flows: pd.DataFrame, zones: pd.DataFrame, tree: Hierarchy, times: Times | None = None) -> Floats:
    """`spread` of public rows, evenly over the ground of their zones and their time.

    `flows` has time_start, time_end, origin_zone, destination_zone, kind and trips; `zones` zone_id and geometry. `times` are the
    bins of a release in time.
    """
    places = Places.of(flows, tree, times)
    if (places.around < 0).all():
        return places.trips
    size = pd.Series(ground(np.asarray(zones["geometry"])), index=zones["zone_id"].to_numpy())
    ends = (size.loc[places.cells[side]].to_numpy() for side in ("origin_zone", "destination_zone"))
    return places.spread(np.multiply(*ends))


@dataclass(frozen=True, eq=False)
class Places:
    """Public rows by place: two zones during some time.

    Rows of several segments may stand for one place: what a rest leaves to finer rows it leaves to all segments of them.
    """

    of_row: Ints
    first: Ints  # row of each place
    cells: pd.DataFrame  # those rows
    trips: Floats  # of every row
    around: Ints  # the rest directly around each place, -1 for none
    length: Floats  # of its time; 1 where rows are of one bin

    @classmethod
    def of(cls, flows: pd.DataFrame, tree: Hierarchy, times: Times | None = None) -> "Places":
        of_row = flows.groupby(_PLACE, sort=False, observed=True).ngroup().to_numpy()
        first = np.unique(of_row, return_index=True)[1]
        cells = flows.iloc[first].reset_index(drop=True)
        length = np.ones(len(cells)) if times is None else times.length(cells["time_start"], cells["time_end"])
        return cls(of_row, first, cells, flows["trips"].to_numpy(np.float64), _around(cells, tree), length)

    @property
    def total(self) -> Floats:
        """Trips of each place."""
        return np.bincount(self.of_row, self.trips, len(self.first)).astype(np.float64)

    def spread(self, whole: Floats) -> Floats:
        """`spread` of every row, if `whole` measures the product of the two zones of each place."""
        if (self.around < 0).all():
            return self.trips
        whole = whole * self.length
        total, regions = self.total, Regions.measured(self.around, whole)
        # A row of a segment carries its part of what the place itself spreads; the first one what the rest around it does not.
        own = regions.density(total) * whole
        part = np.divide(self.trips, total[self.of_row], out=np.zeros(len(self.trips)), where=total[self.of_row] > 0)
        spread = own[self.of_row] * part
        spread[self.first] += regions.layered(total) * whole - own
        return spread


def _around(cells: pd.DataFrame, tree: Hierarchy) -> Ints:
    """The rest directly around every place, whose zones are nodes of a tree."""
    return around_by(cells, pd.DataFrame({"start": tree.tile_start, "end": tree.tile_end}, index=tree.label))


def around_by(cells: pd.DataFrame, runs: pd.DataFrame) -> Ints:
    """The rest directly around every place, if zones are runs (`start`, `end` by zone) that lie in each other as zones do."""
    rest = is_rest_row(cells)
    if not rest.any():
        return np.full(len(cells), -1, dtype=np.int64)
    sides = []
    for side in ("origin_zone", "destination_zone"):
        at = runs.loc[cells[side].astype("str")]
        sides.append((at["start"].to_numpy(np.int64), at["end"].to_numpy(np.int64)))
    edges = pd.Index(pd.concat([cells["time_start"], cells["time_end"]]).unique()).sort_values()
    time = edges.get_indexer(pd.Index(cells["time_start"])), edges.get_indexer(pd.Index(cells["time_end"]))
    return rest_around(sides[0], sides[1], rest, (time[0].astype(np.int64), time[1].astype(np.int64)))
