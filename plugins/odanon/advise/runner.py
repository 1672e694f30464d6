"""Trying settings one after the other; a result that is there already, of the same rows, is not made again."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd

from odanon.advise.measure import FIGURES, Method, measured
from odanon.advise.rows import PeopleRows
from odanon.advise.settings import Setting, cell_minutes
from odanon.errors import OdanonError
from odanon.risk.bands import rounded

_DIGITS = 3  # of a figure: more would tell how many trips it is a share of
_COARSENESS = ("tiles", "loss")  # what the edge of a trade-off is about


def tried(
    data: PeopleRows, settings: Sequence[Setting], method: Method, folder: Path
) -> Iterator[tuple[Setting, dict[str, Any]]]:
    """Every setting with its outcome as it is known: status, figures or why it was refused."""
    cell, rows = cell_minutes(setting.starts for setting in settings), data.digest()
    folder.mkdir(exist_ok=True)
    for setting in settings:
        asked = [rows, cell, data.resolution, asdict(setting), asdict(method), version("odanon")]
        name = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
        path = folder / f"{name[:24]}.json"
        told = _known(path)
        if told is None:
            told, made = _outcome(data, setting, method, cell), path.with_suffix(".new")
            made.write_text(json.dumps(told))
            made.rename(path)
        yield setting, told


def _known(path: Path) -> dict[str, Any] | None:
    """The outcome in a file; none of a file that is not there, or not whole."""
    try:
        told: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return told


def _outcome(data: PeopleRows, setting: Setting, method: Method, cell: int) -> dict[str, Any]:
    try:
        figures = measured(data, setting, method, cell)
    except OdanonError as error:
        return {"status": "refused", "message": str(error)}
    told = {name: rounded(value, _DIGITS) if value == value else None for name, value in figures.items()}
    told["flows"] = figures["flows"]
    return {"status": "done", **told, "kept": bool(figures["kept"])}


def advice_table(outcomes: Sequence[tuple[Setting, dict[str, Any]]], present: Setting | None) -> pd.DataFrame:
    """One row for each setting, sorted, with its figures, whether it is the present one, and whether it is on the edge."""
    rows = [
        {
            **{name: getattr(setting, name) for name in ("k", "window", "bin", "time", "resolution", "label")},
            "present": setting == present,
            "kept": bool(told.get("kept")),
            "status": told["status"],
            **{figure.name: nan if told.get(figure.name) is None else told[figure.name] for figure in FIGURES},
            "message": told.get("message"),
        }
        for setting, told in outcomes
    ]
    table = pd.DataFrame(rows).sort_values(["k", *_COARSENESS, "label"], ignore_index=True)
    table["resolution"] = table["resolution"].astype("Int64")
    edge = pd.concat([_on_edge(part) for _, part in table.groupby("k")])
    return table.assign(edge=edge.sort_index().to_numpy(bool))


def _on_edge(table: pd.DataFrame) -> pd.Series:
    """Whether a setting keeps its budget, and no other one of the same k that does is at least as good in tiles and in loss,
    and better in one of them.

    A trip that is left out costs 1 and one that is told far too coarsely nearly 2: who leaves out everything would win.
    """
    tiles, loss = (table[name].where(table["kept"]).to_numpy() for name in _COARSENESS)
    beaten = [
        bool(((tiles <= t) & (loss <= lost) & ((tiles < t) | (loss < lost))).any())
        for t, lost in zip(tiles, loss, strict=True)
    ]
    known = table[[*_COARSENESS]].notna().all(axis="columns")
    return known & table["kept"] & ~pd.Series(beaten, index=table.index)
