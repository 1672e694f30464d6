"""k^m-anonymity for m = 1: whoever knows only an origin, or only a destination, faces k people (002 section 2.5.2).

A trip is read as two items, its origin area and its destination area. For m = 1 at least k distinct people must leave every
area that a table names as an origin, and enter every area that it names as a destination, published flow or not, since
the reader cannot tell a suppressed flow from none. m = 2, both items, is what the verifier proves flow by flow. Flows
of k people make areas of k people, so a release keeps m = 1 at its own k by itself; a larger k asks more of areas than
of flows. Nothing here is shared with an anonymiser.
"""

import numpy as np
import pandas as pd

from odanon.gate.coverage import codes_of, spread

_SIDES = ("origin", "destination")


def areas_below_k(
    rows: pd.DataFrame,
    flows: pd.DataFrame,
    origin_tiles: pd.DataFrame,
    destination_tiles: pd.DataFrame,
    *,
    k: int,
    unit: str = "persons",
) -> dict[str, int]:
    """How many areas of each side (origin, destination) of a release hold fewer than k people, or trips.

    Tables are those of the verifier: `rows` (origin, destination, person, or trips for unit trips), `flows` (origin,
    destination) and the tiles of each area (area, tile).
    """
    return {
        side: _below(rows, side, tiles, flows[side].astype("str").unique(), k, unit)
        for side, tiles in zip(_SIDES, (origin_tiles, destination_tiles), strict=True)
    }


def _below(rows: pd.DataFrame, side: str, tiles: pd.DataFrame, named: np.ndarray, k: int, unit: str) -> int:
    code, labels = codes_of(rows[side])
    visits = pd.DataFrame({"tile": code, "unit": np.arange(len(rows)), "count": 1})
    if unit == "trips":
        visits["count"] = rows["trips"].to_numpy()
    else:
        visits["unit"] = codes_of(rows["person"])[0]
        visits = visits.drop_duplicates()
    visits = visits.sort_values("tile", ignore_index=True)
    first = np.searchsorted(visits["tile"], np.arange(len(labels) + 1))
    members = tiles[tiles["area"].isin(named)].drop_duplicates(["area", "tile"])
    area = pd.Index(named).get_indexer(members["area"].astype("str"))
    at = pd.Index(labels.astype("str")).get_indexer(members["tile"].astype("str"))
    area, at = area[at >= 0], at[at >= 0]
    member, step = spread(first[at + 1] - first[at])
    inside = visits.iloc[first[at][member] + step].assign(area=area[member])
    counted = inside.drop_duplicates(["area", "unit"]).groupby("area")["count"].sum()
    return int((counted.reindex(np.arange(len(named)), fill_value=0) < k).sum())
