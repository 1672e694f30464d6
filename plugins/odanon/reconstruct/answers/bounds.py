"""How few and how many trips an answer may stand for: the rows that lie wholly inside what is asked, and all that may.

A row says that its trips were made somewhere in two areas, some time in an interval. If all three lie in what is asked, so do its
trips; if one has nothing in common with it, none does. What a rest counts is what no finer row covers, and it is asked of that
alone whether it may have trips inside (ALGORITHMS, Bounds).
"""

import pandas as pd

from odanon.model.release import REST
from odanon.reconstruct.readings import SIDES, joined

EDGE = 1e-9  # a share of less is rounding, and one of more than 1 - EDGE is all
PAIR = ["step", "origin", "destination"]  # areas, in a step of time


def bounds(volume: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """low, high and hours of all pairs of areas, rests that have rows inside apart (`rests_met`).

    `volume` has by step, origin_zone and destination_zone the trips of rows whose time lies wholly inside (low), those of rows that have
    time inside (high), and these times how many hours rows are long; `shares` are those of zones in areas (zone_id, area, share).
    """
    parts = []
    for names, kept in ((["low"], shares["share"] > 1 - EDGE), (["high", "hours"], shares["share"] > EDGE)):
        side = shares[kept].assign(share=1.0)
        table = joined(volume, dict.fromkeys(SIDES, side), names[0], [])
        parts.append(table.groupby(PAIR, as_index=False)[names].sum())
    return added(parts)


def rests_met(rows: pd.DataFrame, shares: pd.DataFrame, size: pd.Series) -> pd.DataFrame:
    """high and hours of the rests of a release whose own region has ground and time in common with pairs of areas.

    `rows` has row (its number), step, origin_zone, destination_zone, kind, trips, hours (trips times length), `place` and `around`
    (`nesting`), and `length`, how much of its time the step asks for; `size` is the ground of zones by zone_id. The region inside is the product of what areas and
    time have in common with a rest, less those of the rows directly inside it.
    """
    cells = rows[rows["place"] == rows["row"]]
    ground = [size.loc[cells[f"{side}_zone"]].to_numpy() for side in SIDES]
    cells = cells.assign(part=ground[0] * ground[1] * cells["length"]).drop(columns=["trips", "hours"])
    touched = shares[shares["share"] > EDGE]
    parts = joined(cells, dict.fromkeys(SIDES, touched), "part", []).rename(columns={"trips": "inside"})
    finer = parts[parts["around"] >= 0].groupby([*PAIR, "around"])["inside"].sum().rename("finer")
    rests = parts[parts["kind"] == REST].join(finer, on=[*PAIR, "place"])
    rests = rests[rests["inside"] - rests["finer"].fillna(0.0) > EDGE * rests["inside"]]
    trips = rows.groupby(["step", "place"])[["trips", "hours"]].sum().rename(columns={"trips": "high"})
    found = rests[[*PAIR, "place"]].join(trips, on=["step", "place"])
    return found.groupby(PAIR, as_index=False)[["high", "hours"]].sum()


def added(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Tables of numbers by pair of areas as one, with 0 where one of them has nothing."""
    some = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(some, ignore_index=True).groupby(PAIR, as_index=False).sum()


def exact_share(low: pd.Series, estimate: pd.Series) -> pd.Series:
    """Which share of an estimate is exact; none of an estimate of nothing."""
    return (low / estimate.where(estimate != 0)).clip(0.0, 1.0)
