"""The even spread of published rows, as one number a row: what to multiply with the shares of its two zones.

A flow spreads evenly over the ground of its zones, a rest over what no finer row covers. Both are sums over rows of `spread` x
(share of the origin zone) x (share of the destination zone): a row that lies inside a rest carries its own trips less those that
the rest would put there. Without rests, `spread` is the number of trips. It follows from published numbers alone, and
adds up over rows, time bins and days as trips do.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release
from odanon.reconstruct.areas import ground
from odanon.reconstruct.rests import Regions, is_rest_row, rest_around

Floats = npt.NDArray[np.float64]
_PLACE = ["time_bin", "origin_zone", "destination_zone"]


def over_tiles(release: Release) -> Floats:
    """`spread` of the rows of a release, evenly over pairs of tiles."""
    regions = Regions.of(release)
    return regions.layered(release.flows["trips"].to_numpy(np.float64)) * regions.whole


def over_ground(flows: pd.DataFrame, zones: pd.DataFrame, tree: Hierarchy) -> Floats:
    """`spread` of public rows, evenly over the ground of their zones.

    `flows` has time_bin, origin_zone, destination_zone, kind and trips; `zones` zone_id and geometry. Rows of several segments may stand
    for two zones: what a rest leaves to finer rows it leaves to all segments of them.
    """
    trips = flows["trips"].to_numpy(np.float64)
    if not is_rest_row(flows).any():
        return trips
    place = flows.groupby(_PLACE, sort=False, observed=True).ngroup().to_numpy()
    first = np.unique(place, return_index=True)[1]
    cells = flows.iloc[first]
    total = np.bincount(place, trips).astype(np.float64)
    size = pd.Series(ground(np.asarray(zones["geometry"])), index=zones["zone_id"].to_numpy())
    whole = size.loc[cells["origin_zone"]].to_numpy() * size.loc[cells["destination_zone"]].to_numpy()
    regions = Regions.measured(_around(cells, tree), whole)
    layered = regions.layered(total) * whole
    # A row of a segment carries its part of what the place itself spreads; the first one what the rest around it does not.
    own = regions.density(total) * whole
    spread = own[place] * (trips / total[place])
    spread[first] += layered - own
    return spread


def _around(cells: pd.DataFrame, tree: Hierarchy) -> npt.NDArray[np.int64]:
    """The rest directly around every row, time bin by time bin."""
    node = {label: number for number, label in enumerate(tree.label.tolist())}
    sides = []
    for side in ("origin_zone", "destination_zone"):
        at = np.array([node[label] for label in cells[side].astype("str")], dtype=np.int64)
        sides.append((tree.tile_start[at].astype(np.int64), tree.tile_end[at].astype(np.int64)))
    shift = pd.factorize(cells["time_bin"])[0].astype(np.int64) * (tree.n_leaves + 1)
    origin, destination = sides
    return rest_around((origin[0] + shift, origin[1] + shift), destination, is_rest_row(cells))
