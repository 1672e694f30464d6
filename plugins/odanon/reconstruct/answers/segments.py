"""What one segment has of every place of a release, where rests leave some of their ground to rows of other segments.

A row carries its own trips less those that the rest around it would put there, all segments together. Of one segment, a place carries its
part of the first, less the rest's part of the second: also where the place itself is not of that segment. Both follow from published spreads.
"""

import numpy as np
import pandas as pd

from odanon.reconstruct.nested import Floats, Ints
from odanon.reconstruct.readings import ancestors


def of_segment(rows: pd.DataFrame, segment: str, columns: list[str]) -> pd.DataFrame:
    """The first row of every place, with the spreads in `columns` of one segment; places that have none are left out.

    `rows` are those of a release with their numbers as index: trips, segment, `place` and `around` (`nesting`).
    """
    first = np.unique(rows["place"].to_numpy())
    at = np.searchsorted(first, rows["place"].to_numpy())
    trips = _sums(at, rows["trips"], len(first))
    mine = _sums(at, rows["trips"] * (rows["segment"] == segment), len(first))
    part = np.divide(mine, trips, out=np.zeros(len(first)), where=trips > 0)
    told = rows.loc[first]
    around = told["around"].to_numpy()
    up = np.where(around >= 0, np.searchsorted(first, around), -1).astype(np.int64)
    for name in columns:
        spread = _sums(at, rows[name], len(first))
        left = _left(trips, spread, up)
        told = told.assign(**{name: part * (spread + left) - np.append(part, 0.0)[up] * left})
    return told[(told[columns] != 0).any(axis=1)]


def _left(trips: Floats, spread: Floats, up: Ints) -> Floats:
    """What the rest around every place would put there: its own spread less the one that is published."""
    left = np.zeros(len(trips))
    depth = sum((above >= 0).astype(np.int64) for above in ancestors(up)) if (up >= 0).any() else np.zeros(len(up), int)
    inside = np.zeros(len(trips))
    for level in range(
        int(np.max(depth, initial=0)), 0, -1
    ):  # the innermost first: a rest has what it leaves to rows inside
        here = np.flatnonzero(depth == level)
        left[here] = trips[here] + inside[here] - spread[here]
        np.add.at(inside, up[here], left[here])
    return left


def _sums(at: Ints, values: pd.Series, length: int) -> Floats:
    return np.bincount(at, values.to_numpy(np.float64), length).astype(np.float64)
