"""Releases of a window as Parquet: flows, assignment and areas, with the time bin as first column."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release
from odanon.model.window import Times

SIDES = ("origin", "destination", "time")  # the last where releases have times
_SEARCH = {"lambda": "float64", "direction": "str"}  # what is kept of what an algorithm says of its search


def write_releases(
    folder: Path,
    releases: Mapping[datetime, Release],
    origins: Hierarchy,
    destinations: Hierarchy,
    times: Times | None = None,
) -> None:
    """Write the releases of a window by time bin: `flows`, `assignment`, `areas` and what was said of the `search`.

    Of a release in time the time bin is the start of the window; flows and pairs have their own times beside.
    """
    flows, assignments, areas, searches = [], [], [], []
    for time_bin, release in sorted(releases.items()):
        searches.append(_with_bin(_search_table(release.metrics), time_bin))
        flows.append(_with_bin(release.flows, time_bin))
        assignments.append(_with_bin(release.assignment, time_bin))
        parts = [(release.origins, origins), (release.destinations, destinations)]
        if times is not None and release.times is not None:
            parts.append((release.times, times.tree))
        for side, (part, tree) in zip(SIDES, parts, strict=False):
            areas.append(_with_bin(_area_table(side, part, tree), time_bin))
    tables_of = {"flows": flows, "assignment": assignments, "areas": areas, "search": searches}
    for name, tables in tables_of.items():
        # Permissive, since an empty sum of weights is a whole number and a full one is not.
        merged = pa.concat_tables([_plain(table) for table in tables], promote_options="permissive")
        pq.write_table(merged, folder / f"{name}.parquet", compression="zstd")


def _search_table(said: dict[str, Any]) -> pd.DataFrame:
    """What is kept of what an algorithm says; another one may mean something else by these words."""
    multiplier, direction = (said.get(name) for name in _SEARCH)
    known = isinstance(multiplier, int | float), isinstance(direction, str)
    row = [value if kept else None for value, kept in zip((multiplier, direction), known, strict=True)]
    return pd.DataFrame([row], columns=list(_SEARCH)).astype(_SEARCH)


def read_releases(
    folder: Path,
    origins: Hierarchy,
    destinations: Hierarchy,
    parameters: dict[str, Any],
    times: Times | None = None,
) -> dict[datetime, Release]:
    """The releases that `write_releases` wrote."""
    trees = (origins, destinations) if times is None else (origins, destinations, times.tree)
    names = ("flows", "assignment", "areas", "search")
    tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in names}
    groups = {name: dict(iter(table.groupby("time_bin"))) for name, table in tables.items()}
    releases = {}
    for time_bin, assignment in groups["assignment"].items():
        parts = {name: groups[name].get(time_bin, tables[name].iloc[:0]) for name in ("flows", "areas")}
        releases[time_bin.to_pydatetime()] = Release(
            flows=parts["flows"].drop(columns="time_bin").reset_index(drop=True),
            assignment=_assignment(assignment, trees),
            origins=_areas(parts["areas"], "origin", origins),
            destinations=_areas(parts["areas"], "destination", destinations),
            times=None if times is None else _areas(parts["areas"], "time", times.tree),
            parameters=parameters,
            metrics=groups["search"][time_bin].drop(columns="time_bin").iloc[0].dropna().to_dict(),
        )
    return releases


def _assignment(table: pd.DataFrame, trees: tuple[Hierarchy, ...]) -> pd.DataFrame:
    """The pairs of one time bin, their tiles as codes by rank again."""
    tiles = {
        side: pd.Categorical.from_codes(tree.ranks(table[side]), pd.Index(tree.label[tree.tiles], dtype="str"))
        for side, tree in zip(SIDES, trees, strict=False)
    }
    return table.drop(columns="time_bin").reset_index(drop=True).assign(**tiles)


def _with_bin(table: pd.DataFrame, time_bin: datetime) -> pd.DataFrame:
    table = table.copy()
    table.insert(0, "time_bin", pd.Timestamp(time_bin).as_unit("us"))
    return table


def _plain(table: pd.DataFrame) -> pa.Table:
    """Arrow without pandas' own metadata, and labels as plain strings (each bin has its own categories)."""
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    for number, field in enumerate(arrow.schema):
        if pa.types.is_dictionary(field.type):
            arrow = arrow.set_column(number, field.name, arrow.column(number).cast(pa.large_string()))
    return arrow


def _area_table(side: str, areas: Areas, tree: Hierarchy) -> pd.DataFrame:
    labels = tree.label[tree.tiles]
    return pd.DataFrame(
        {
            "side": pd.Series([side] * len(areas.label), dtype="str"),
            "area": pd.Series(areas.label, dtype="str"),
            "level": areas.level,
            "n_tiles": areas.n_tiles,
            "tiles": pd.Series(
                [labels[areas.members[a:b]] for a, b in zip(areas.start, areas.start[1:], strict=False)], dtype=object
            ),
        }
    )


def _areas(table: pd.DataFrame, side: str, tree: Hierarchy) -> Areas:
    table = table[table["side"] == side]
    lengths = table["tiles"].map(len).to_numpy(np.int64)
    members = np.concatenate([*table["tiles"], np.empty(0, object)])
    return Areas(
        label=table["area"].to_numpy(object),
        n_tiles=table["n_tiles"].to_numpy(np.int64),
        level=table["level"].to_numpy(np.int16),
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        members=tree.ranks(members),
    )
