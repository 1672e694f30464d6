"""Flows over time: the same two areas in every time bin, although each bin has its own generalisation (000 appendix H)."""

import pandas as pd

from odanon.reconstruct.areas import spread
from odanon.reconstruct.readings import EVEN


def time_profile(
    original: pd.DataFrame,
    flows: pd.DataFrame,
    zones: pd.DataFrame,
    shares: pd.DataFrame,
    wanted: pd.DataFrame,
    time: str = "time",
    reading: str = EVEN,
    weights: pd.DataFrame | None = None,
    inside: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Trips of chosen flows in every time bin, as they were and as a reader of the release estimates them.

    `original` has `time`, origin, destination (areas) and trips; `flows`, `zones` and `shares` are those of `spread`,
    the flows with a column `time`, and with weights shares are of tiles (`inside` too); `wanted` has origin and destination. Gives `time`, origin, destination, original and
    reconstructed for every bin of either, 0 where there is nothing.
    """
    pair = ["origin", "destination"]
    chosen = wanted[pair].drop_duplicates()
    partners = shares[shares["area"].isin(pd.concat([chosen["origin"], chosen["destination"]]))]
    size = zones.set_index("zone_id")["n_tiles"]
    estimated = spread(flows, zones, partners, by=[time], reading=reading, weights=weights, size=size, inside=inside)
    truth = original.groupby([time, *pair], as_index=False)["trips"].sum()
    bins = pd.DataFrame({time: sorted({*original[time], *flows[time]})})
    table = bins.merge(chosen, how="cross")
    for name, trips in (("original", truth), ("reconstructed", estimated)):
        table = table.merge(trips.rename(columns={"trips": name}), on=[time, *pair], how="left")
    table[["original", "reconstructed"]] = table[["original", "reconstructed"]].fillna(0.0)
    return table.sort_values([*pair, time], ignore_index=True)
