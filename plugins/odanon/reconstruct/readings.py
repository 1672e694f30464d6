"""The ways to read a release back on areas of one's own: even, fitted, prior, and auto, which is one of the first two.

Every row of a release is `spread` over its two zones in proportion to something that a drawn area takes its share of: the ground of the
zone (even), the weights of its own part and of all zones inside it (fitted), or those of its tiles (prior), each spread evenly over its own ground.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.reconstruct.nested import Floats, Ints

EVEN, AUTO = "even", "auto"
FITTED, PRIOR = WEIGHTED = ("fitted", "prior")
READINGS = (AUTO, EVEN, *WEIGHTED)
SIDES = ("origin", "destination")
WEIGHT_COLUMNS = ("time_bin", "reading", "side", "zone_id", "around", "weight")  # of the published table
TILE_COLUMNS = (
    "tile",
    "zones",
    "leaving",
    "entering",
    "geometry",
)  # of the published table, `zones` from the inside out
_OF_TILES = {"leaving": "origin", "entering": "destination"}  # which side they are of
EVERYWHERE = 1e-8  # of all public weights, for every km2 (or tile) besides, so that no place has nothing
_NOTHING = 1e-6  # an own part below this share of its zone is rounding


def spread_column(reading: str) -> str:
    """The column of rows that says what to multiply with shares of the two zones."""
    return "spread" if reading == EVEN else f"spread_{reading}"


def better(metrics: Mapping[str, Any]) -> str:
    """What `auto` means: fitted where the manifest tells a smaller loss of it than of even."""
    even, fitted = (metrics.get(f"reconstruction_loss{suffix}") for suffix in ("", "_fitted"))
    return "fitted" if even is not None and fitted is not None and fitted < even else EVEN


def checked_reading(reading: str) -> str:
    """One of READINGS, or an error that lists them."""
    if reading not in READINGS:
        raise OdanonError(f"the reading is none of {', '.join(READINGS)}")
    return reading


def resolved(reading: str, manifest: Mapping[str, Any]) -> str:
    """The reading of a release that is meant; one that it was not published with is refused."""
    if checked_reading(reading) == AUTO:
        return str(manifest.get("reading", EVEN))
    if reading not in manifest.get("readings", [EVEN]):
        raise OdanonError(f"the reading {reading} has no weights in {manifest['release_id']}; ask for auto or even")
    return reading


def of_reading(weights: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The weights of one reading."""
    chosen = weights[weights["reading"] == reading]
    if chosen.empty:
        raise OdanonError(f"there are no weights for the reading {reading}; read the release evenly")
    return chosen.reset_index(drop=True)


def keys_of(weights: pd.DataFrame) -> list[str]:
    """What weights are told by: the time bin, under whatever name, and the release where there are several."""
    return [name for name in weights.columns if name not in WEIGHT_COLUMNS[1:]]


def layered(weights: pd.DataFrame, size: pd.Series) -> pd.DataFrame:
    """Weights with `up`, the row of the zone directly around, and what a drawn area takes of them.

    It takes (share of a zone) x `inner` of the zone itself and (share) x (`inner` - `outer`) of each zone inside it, of
    `total`: `inner` is the weight that a zone would have if all of it were like its own part, `outer` the one if it
    were like the own part of the zone around it. `size` measures whole zones: their ground, or tiles.
    """
    place = [*keys_of(weights), "reading", "side"]
    names = pd.MultiIndex.from_frame(weights[[*place, "zone_id"]])
    up = names.get_indexer(pd.MultiIndex.from_frame(weights[[*place, "around"]])).astype(np.int64)
    weight, whole = weights["weight"].to_numpy(np.float64), size.loc[weights["zone_id"]].to_numpy(np.float64)
    inside = up >= 0
    own = whole - np.bincount(up[inside], whole[inside], len(up))
    open_ = own > whole * _NOTHING
    density = weight / np.where(open_, own, 1.0) * open_
    return weights.assign(
        up=up,
        inner=np.where(open_, density * whole, weight),
        outer=np.append(density, 0.0)[up] * whole,
        total=_totals(weight, up),
    )


def _totals(weight: Floats, up: Ints) -> Floats:
    """The weight of every zone from those of own parts."""
    total = weight.copy()
    for above in ancestors(up):
        np.add.at(total, above[above >= 0], weight[above >= 0])
    return total


def ancestors(up: Ints) -> list[Ints]:
    """The row around every row, the one around that, and so on; -1 where there is none."""
    found, above = [], up
    while (above >= 0).any():
        found.append(above)
        above = np.append(up, -1)[above]
    return found


def weighted_shares(weights: pd.DataFrame, size: pd.Series, shares: pd.DataFrame) -> pd.DataFrame:
    """Which share of the weight of each zone lies in each area: keys, side, zone_id, area, share.

    `weights` are of one reading, `shares` has zone_id, area and share of the zone's size.
    """
    told = layered(weights, size)
    step = (told["inner"] - told["outer"]).to_numpy()
    met = told[["zone_id", "inner"]].assign(row=np.arange(len(told))).merge(shares, on="zone_id")
    row, area, share = met["row"].to_numpy(), met["area"].to_numpy(), met["share"].to_numpy()
    parts = [pd.DataFrame({"row": row, "area": area, "weight": met["inner"].to_numpy() * share})]
    for above in ancestors(told["up"].to_numpy()):
        inside = above[row] >= 0
        parts.append(
            pd.DataFrame({"row": above[row[inside]], "area": area[inside], "weight": step[row[inside]] * share[inside]})
        )
    sums = pd.concat(parts).groupby(["row", "area"], as_index=False)["weight"].sum()
    found = told[[*keys_of(weights), "side", "zone_id"]].iloc[sums["row"]].reset_index(drop=True)
    return found.assign(area=sums["area"], share=sums["weight"] / told["total"].to_numpy()[sums["row"]])


def zone_weights(tiles: pd.DataFrame, size: pd.Series) -> pd.DataFrame:
    """The public weight of whole zones for either side, by zone_id; `size` is their km2 or tiles, by zone_id.

    `tiles` has TILE_COLUMNS, the geometry apart.
    """
    listed = tiles.explode("zones").groupby("zones")[[*_OF_TILES]].sum().rename(columns=_OF_TILES)
    return listed.reindex(size.index, fill_value=0.0).add(EVERYWHERE * size, axis=0)


def prior_shares(
    tiles: pd.DataFrame, size: pd.Series, inside: pd.DataFrame, shares: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Which share of the public weight of each zone lies in each area, by side: zone_id, area, share.

    `inside` says which share of each tile (its position in `tiles`) lies in which area, `shares` the same of zones.
    """
    met = inside.rename(columns={"zone": "at"}).merge(tiles[["zones", *_OF_TILES]], left_on="at", right_index=True)
    met[[*_OF_TILES]] = met[[*_OF_TILES]].mul(met["share"], axis=0)
    met = met.explode("zones").rename(columns={"zones": "zone_id", **_OF_TILES})
    plain = shares["share"] * size.loc[shares["zone_id"]].to_numpy() * EVERYWHERE
    everywhere = shares[["zone_id", "area"]].assign(**dict.fromkeys(SIDES, plain))
    held = pd.concat([met[[*everywhere.columns]], everywhere]).groupby(["zone_id", "area"], as_index=False).sum()
    whole = zone_weights(tiles, size).loc[held["zone_id"]]
    return {
        side: held[["zone_id", "area"]].assign(share=held[side].to_numpy() / whole[side].to_numpy()) for side in SIDES
    }


def joined(flows: pd.DataFrame, shares: Mapping[str, pd.DataFrame], column: str, keys: Sequence[str]) -> pd.DataFrame:
    """Every row of flows once for each pair of areas that take a part of it: origin, destination and those trips."""
    table = flows
    for side, area in (("origin", "from_share"), ("destination", "to_share")):
        named = shares[side].rename(columns={"zone_id": f"{side}_zone", "area": side, "share": area})
        table = table.merge(named[[*keys, f"{side}_zone", side, area]], on=[*keys, f"{side}_zone"])
    return table.assign(trips=table[column] * table["from_share"] * table["to_share"])
