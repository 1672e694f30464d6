"""Cell-key perturbation of published numbers: the same people get the same small noise (ALGORITHMS, Cell keys)."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.perturbation import KEYS, TABLE
from odanon.model.release import TOTAL

_ENDS = ["origin", "destination"]
_CELL = ["time_bin", "segment", *_ENDS]
_TILES = {side: f"{side}_tile" for side in _ENDS}
_KEY_SHIFT = 55  # of the 63 bits of a pseudonym the first 8; the last ones already chose its bucket


def perturbed(
    shown: pd.DataFrame, rows: pd.DataFrame, flows: pd.DataFrame, assignment: pd.DataFrame, k: int
) -> pd.DataFrame:
    """The flows that are shown, with noise in persons and trips; never fewer than k of either.

    `shown`: time_bin, segment (`all`: of everybody), origin, destination (areas), trips, persons. `rows` are those of the window
    by person, `flows` and `assignment` (time_bin, origin, destination, flow) say which flow of its time bin they count in.
    A flow's noise in trips is that in people, times the whole trips that a person of the flow makes on average.
    """
    persons, trips = shown["persons"].to_numpy(np.int64), shown["trips"].to_numpy(np.int64)
    noise = noise_of(persons, cell_keys(shown, rows, flows, assignment), k)
    return shown.assign(persons=persons + noise, trips=trips + noise * (trips // persons))


def noise_of(persons: npt.NDArray[np.int64], keys: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """The noise of cells of so many people with these keys."""
    steps = np.arange(-TABLE.largest, TABLE.largest + 1)
    by_key = np.stack([np.repeat(steps, counts) for counts in TABLE.counts])
    return by_key[np.clip(persons - k, 0, TABLE.largest), keys]  # below k the gate has the word


def cell_keys(
    shown: pd.DataFrame, rows: pd.DataFrame, flows: pd.DataFrame, assignment: pd.DataFrame
) -> npt.NDArray[np.int64]:
    """The keys of the different people of each flow that is shown, added up modulo 256."""
    areas = flows[["time_bin", *_ENDS]].assign(flow=flows.groupby("time_bin").cumcount())
    tiles = assignment[["time_bin", *_ENDS, "flow"]].rename(columns=_TILES)
    travelled = rows.loc[rows["trips"] > 0, [*_CELL, "person"]].rename(columns=_TILES)
    placed = travelled.merge(tiles, on=["time_bin", *_TILES.values()]).merge(areas, on=["time_bin", "flow"])
    parts = placed[placed["segment"] != TOTAL]
    people = pd.concat([parts, placed.assign(segment=TOTAL)])[[*_CELL, "person"]].drop_duplicates()
    keys = (people["person"].to_numpy(np.int64) >> _KEY_SHIFT) % KEYS
    sums = people[_CELL].assign(key=keys).groupby(_CELL)["key"].sum()
    found: npt.NDArray[np.int64] = sums.reindex(pd.MultiIndex.from_frame(shown[_CELL]), fill_value=0).to_numpy(np.int64)
    return found % KEYS
