"""The matrices of a setting, window by window, and the cells of day, clock and finest tiles that all settings are compared on."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from odanon.advise.rows import PeopleRows, coarser
from odanon.advise.settings import DAY_MINUTES, Setting
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.window import Times
from odanon.tables.times import SOME_DAY

CHILDREN = 7  # of an H3 cell


@dataclass(frozen=True, eq=False)
class WindowMatrices:
    """The matrices of one window, its tree, and the cells of each matrix.

    Cells have `trips`, `pair` (the pair of the matrix that they are part of) and `parts`: how many cells that pair has, with
    trips or without. `minutes` are those of the clock in every bin: of one bin for each matrix, or of all bins of the only one.
    """

    tree: Hierarchy
    matrices: dict[int, ODMatrix]
    cells: dict[int, pd.DataFrame]
    minutes: dict[int, np.ndarray]


def window_matrices(data: PeopleRows, setting: Setting, cell: int) -> Iterator[WindowMatrices]:
    """The matrices of every window of a setting; cells are `cell` minutes of one day long."""
    for days in data.windows(setting.window).values():
        fine = data.rows[data.rows["day"].isin(days)]
        yield _matrices(data, setting, cell, days, fine)


def _matrices(data: PeopleRows, setting: Setting, cell: int, days: list[date], fine: pd.DataFrame) -> WindowMatrices:
    types = pd.Series({day: data.day_type(day) for day in days})
    kinds = list(dict.fromkeys(types))
    within = np.searchsorted(setting.starts, fine["minute"], side="right") - 1
    number = types.map(kinds.index).loc[fine["day"]].to_numpy() * len(setting.starts) + within
    tiles = fine if setting.resolution in (None, data.resolution) else coarser(fine, setting.resolution)
    tree = data.tree(tiles, setting.resolution)
    steps = 0 if setting.resolution is None or data.resolution is None else data.resolution - setting.resolution
    minutes = np.tile(setting.minutes, len(kinds))
    days_of_bin = np.repeat([int((types == kind).sum()) for kind in kinds], len(setting.starts))
    parts = minutes // cell * days_of_bin * float(CHILDREN) ** (2 * steps)
    told = tiles.assign(
        bin=number,
        slot=fine["minute"] // cell,
        tile_o=fine["origin"],
        tile_d=fine["destination"],
        o=tree.ranks(tiles["origin"].to_numpy()),
        d=tree.ranks(tiles["destination"].to_numpy()),
        parts=parts[number],
    )
    if setting.adaptive:
        matrix = _matrix(told, tree, _times(setting, kinds, days_of_bin))
        return WindowMatrices(tree, {0: matrix}, {0: _cells(told, matrix)}, {0: minutes})
    made: dict[int, tuple[pd.DataFrame, ODMatrix]] = {
        int(at): (part, _matrix(part, tree, None)) for at, part in told.groupby("bin", sort=True)
    }
    return WindowMatrices(
        tree,
        {at: matrix for at, (_, matrix) in made.items()},
        {at: _cells(part, matrix) for at, (part, matrix) in made.items()},
        {at: minutes[at : at + 1] for at in made},
    )


def _matrix(rows: pd.DataFrame, tree: Hierarchy, times: Times | None) -> ODMatrix:
    person, weight = (name if name in rows else None for name in ("person", "weight"))
    time = None if times is None else "bin"
    return ODMatrix.from_frame(rows, tree, tree, person=person, weight=weight, time=time, times=times)


def _times(setting: Setting, kinds: list[str], days: np.ndarray) -> Times:
    """The bins of a window with their tree, types of days one after the other."""
    told: list[dict[str, Any]] = []
    for at, n_days in enumerate(days.tolist()):
        kind, place = divmod(at, len(setting.starts))
        since = setting.starts[place]
        until = since + setting.minutes[place]
        start, end = (SOME_DAY + timedelta(days=kind, minutes=edge) for edge in (since, until))
        edges = {"time_bin": start.isoformat(), "time_end": end.isoformat()}
        told.append({**edges, "day_type": kinds[kind], "since": _clock(since), "until": _clock(until), "days": n_days})
    return Times.of_told(told)


def _clock(minutes: int) -> str:
    assert 0 <= minutes <= DAY_MINUTES
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _cells(rows: pd.DataFrame, matrix: ODMatrix) -> pd.DataFrame:
    """The cells of a matrix that have trips."""
    held = rows[rows["trips"] > 0]
    keys = ["day", "slot", "tile_o", "tile_d"]
    cells = held.groupby(keys, sort=False).agg(
        trips=("trips", "sum"), **{n: (n, "first") for n in ("o", "d", "bin", "parts")}
    )
    pairs, in_time = matrix.pairs, matrix.time is not None
    wide = int(max(pairs.destination.max(initial=0), 0)) + 1
    bins = len(matrix.times) if matrix.times is not None else 1

    def key(origin: np.ndarray, destination: np.ndarray, time: np.ndarray | int) -> np.ndarray:
        return (origin.astype(np.int64) * wide + destination) * bins + time

    known = key(pairs.origin, pairs.destination, pairs.time if in_time and pairs.time is not None else 0)
    asked = key(cells["o"].to_numpy(), cells["d"].to_numpy(), cells["bin"].to_numpy() if in_time else 0)
    return cells.assign(pair=np.searchsorted(known, asked))[["trips", "pair", "parts"]]
