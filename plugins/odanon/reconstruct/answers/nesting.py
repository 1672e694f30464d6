"""Which published row lies in which rest, from public zones and rows alone."""

import numpy as np
import pandas as pd

from odanon.model.window import Times
from odanon.reconstruct.areas import ground
from odanon.reconstruct.even import around_by
from odanon.reconstruct.nested import Floats, Ints
from odanon.reconstruct.rests import Regions, is_rest_row

PLACE = ["time_start", "time_end", "origin_zone", "destination_zone"]
_SIDES = ("origin_zone", "destination_zone")


def places_of(flows: pd.DataFrame) -> Ints:
    """The first row of the place of every row: rows of several segments may stand for one."""
    of_row = flows.groupby(PLACE, sort=False, observed=True).ngroup().to_numpy()
    return np.unique(of_row, return_index=True)[1].astype(np.int64)[of_row]


def rests_around(flows: pd.DataFrame, zones: pd.DataFrame, times: Times | None = None) -> Ints:
    """The first row of the rest directly around every row, -1 for none.

    `flows` has PLACE and kind, `zones` zone_id, tiles and geometry; `times` are the bins where their lengths are not what the clock
    says. Of a rest that finer rows leave nothing of, or whose outline is not exact since it has too many tiles to list, no row is
    told to be inside: what lies in it cannot be measured.
    """
    around = np.full(len(flows), -1, dtype=np.int64)
    if not is_rest_row(flows).any():
        return around
    place = places_of(flows)
    first = np.unique(place)
    cells = flows.iloc[first]
    size = pd.Series(ground(zones.geometry.to_numpy()), index=zones["zone_id"].to_numpy())
    inside = around_by(cells, zone_runs(zones, size.to_numpy()))
    whole = np.multiply(*(size.loc[cells[side]].to_numpy() for side in _SIDES)) * lengths_of(cells, times)
    exact = zones.set_index("zone_id")["tiles"].notna()
    told = Regions.measured(inside, whole).open & np.logical_and(
        *(exact.loc[cells[side]].to_numpy() for side in _SIDES)
    )
    known = np.append(told, False)[inside]
    at = np.searchsorted(first, place)
    around[known[at]] = first[inside[at[known[at]]]]
    return around


def lengths_of(rows: pd.DataFrame, times: Times | None = None) -> Floats:
    """How long the time of every row is, in seconds of all its days."""
    if times is not None:
        return times.length(rows["time_start"], rows["time_end"])
    return ((rows["time_end"] - rows["time_start"]) / pd.Timedelta(seconds=1)).to_numpy(np.float64)


def zone_runs(zones: pd.DataFrame, size: Floats) -> pd.DataFrame:
    """Zones that lie in each other as runs of numbers that do (`start`, `end` by zone_id); `size` is their ground."""
    import shapely

    order = np.argsort(size, kind="stable")  # inner ones first
    shapes = zones.geometry.to_numpy()[order]
    inner, outer = shapely.STRtree(shapes).query(shapely.point_on_surface(shapes), predicate="intersects")
    held = inner < outer
    up = np.full(len(order), len(order))
    np.minimum.at(up, inner[held], outer[held])
    count = np.ones(len(order) + 1, dtype=np.int64)
    for number, above in enumerate(up.tolist()):
        count[above] += count[number]
    start, free = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order) + 1, dtype=np.int64)
    for number in range(len(order) - 1, -1, -1):  # outer ones first; the first number of a zone is its own
        above = up[number]
        start[number] = free[above]
        free[above] += count[number]
        free[number] = start[number] + 1
    names = zones["zone_id"].astype("str").to_numpy()[order]
    return pd.DataFrame({"start": start[:-1], "end": start[:-1] + count[:-1]}, index=names)
