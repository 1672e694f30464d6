"""How the trips of a row of several time bins are likely to lie in time: as its surroundings do, by published numbers alone.

The *pulse* of an area is what leaves it, or enters it, from one edge of published intervals to the next, as the even reading tells it from
all rows of the release: those of the area, of areas inside it, and of areas around it by the share of their ground. A flow follows
the pulse of its origin area and that of its destination area, added up; where nothing finer than the flow is published there, that is even
(ALGORITHMS, Bounds).
"""

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.window import Times
from odanon.reconstruct.answers.nesting import lengths_of, zone_runs
from odanon.reconstruct.areas import ground
from odanon.reconstruct.nested import Floats
from odanon.reconstruct.readings import EVEN, SIDES

SURROUNDINGS = "surroundings"
ALONG = (EVEN, SURROUNDINGS)
PULSE_COLUMNS = ("side", "zone_id", "time_start", "time_end", "trips")
_TIME = ["time_start", "time_end"]


def checked_along(along: str) -> str:
    """One of ALONG, or an error that lists them."""
    if along not in ALONG:
        raise OdanonError(f"along is none of {', '.join(ALONG)}")
    return along


def pulses(flows: pd.DataFrame, zones: pd.DataFrame, times: Times | None = None) -> pd.DataFrame:
    """The pulse of every zone that flows use on a side (PULSE_COLUMNS); no rows where no interval holds another.

    `flows` has time_start, time_end, origin_zone, destination_zone and spread, `zones` zone_id and geometry; `times` are the bins where
    their lengths are not what the clock says.
    """
    pieces = _pieces(flows, times)
    if len(flows[_TIME].drop_duplicates().merge(pieces, on=_TIME)) == len(flows[_TIME].drop_duplicates()):
        return pd.DataFrame({name: pd.Series(dtype="object") for name in PULSE_COLUMNS})
    size = ground(zones.geometry.to_numpy())
    runs = zone_runs(zones, size).assign(size=lambda t: pd.Series(size, zones["zone_id"].to_numpy()).loc[t.index])
    parts = [_pulse(flows, side, runs.sort_values("start"), pieces) for side in SIDES]
    return pd.concat(parts, ignore_index=True)[list(PULSE_COLUMNS)]


def _pieces(flows: pd.DataFrame, times: Times | None) -> pd.DataFrame:
    """The stretches of time from one start or end of a row to the next, with their lengths, but those that no bin is of."""
    edges = pd.concat([flows["time_start"], flows["time_end"]]).drop_duplicates().sort_values(ignore_index=True)
    pieces = pd.DataFrame({"time_start": edges[:-1], "time_end": edges[1:].reset_index(drop=True)})
    pieces = pieces.assign(length=lengths_of(pieces, times))
    return pieces[pieces["length"] > 0].reset_index(drop=True)


def _pulse(flows: pd.DataFrame, side: str, runs: pd.DataFrame, pieces: pd.DataFrame) -> pd.DataFrame:
    """Of every zone in use on a side; `runs` in the order of their starts, which are numbers from 0."""
    volume = flows.groupby([f"{side}_zone", *_TIME], as_index=False, observed=True)["spread"].sum()
    rows = np.zeros((len(runs) + 1, len(pieces)))
    at = runs.index.get_indexer(volume[f"{side}_zone"])
    np.add.at(rows, at, _held(volume, pieces) * volume["spread"].to_numpy()[:, None])
    start, end, size = (runs[name].to_numpy() for name in ("start", "end", "size"))
    up_to = np.vstack([np.zeros(len(pieces)), np.cumsum(rows, axis=0)])
    inside = up_to[end] - up_to[start]
    density = rows[:-1] / size[:, None]
    change = np.vstack([density, np.zeros(len(pieces))])
    np.subtract.at(change, end, density)
    around = (np.cumsum(change, axis=0)[:-1] - density) * size[:, None]
    used = np.unique(at)
    told = pd.DataFrame({"zone_id": np.repeat(runs.index.to_numpy()[used], len(pieces)), "side": side})
    told[_TIME] = pd.concat([pieces[_TIME]] * len(used), ignore_index=True)
    return told.assign(trips=np.maximum((inside + around)[used], 0.0).ravel())


def _held(rows: pd.DataFrame, pieces: pd.DataFrame) -> Floats:
    """Which share of the time of each row every piece is."""
    row, piece = ([table[name].to_numpy("datetime64[us]") for name in _TIME] for table in (rows, pieces))
    inside = (row[0][:, None] <= piece[0]) & (piece[1] <= row[1][:, None])
    held = inside * pieces["length"].to_numpy()
    return held / held.sum(axis=1, keepdims=True)


def followed(flows: pd.DataFrame, pulse: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """Which share of the trips of every row (by its index, `row`) lies in every step, by the pulses of its areas; none where these tell nothing.

    `asked` says which share of every row of `pulse` (`piece`) does, by step.
    """
    listed = flows[["origin_zone", "destination_zone", *_TIME]].reset_index(names="row")
    pieces = pulse.reset_index(names="piece")
    found = []
    for side in SIDES:
        told = pieces[pieces["side"] == side].drop(columns="side").rename(columns={"zone_id": f"{side}_zone"})
        met = listed.merge(told, on=f"{side}_zone", suffixes=("", "_piece"))
        within = (met["time_start"] <= met["time_start_piece"]) & (met["time_end_piece"] <= met["time_end"])
        found.append(met.loc[within, ["row", "piece", "trips"]])
    every = pd.concat(found)
    total = every.groupby("row")["trips"].sum()
    every = every[every["row"].map(total) > 0].merge(asked, on="piece")
    inside = (
        (every["trips"] * every["share"]).groupby([every["row"], every["step"]]).sum().rename("share").reset_index()
    )
    return inside.assign(share=inside["share"] / inside["row"].map(total), told=True)
