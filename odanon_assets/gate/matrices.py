"""Releases as the auditor reads them: a matrix for each time bin and segment, over the tables that are kept."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from odanon.gate.audit.published import TOTAL, Content, PublishedMatrix, Stretches
from odanon.model.window import Times
from odanon_assets.gate.evidence import SEGMENTS, Tables
from odanon_assets.stores.interface import window_of

ENDS = ["origin", "destination"]
_NEEDED = {"algorithm", "k", "unit", "zoning"}


def matrices(facts: dict[str, Any], tables: Tables, bins: list[list[str]]) -> list[PublishedMatrix]:
    """The time bins and segments of a release as the auditor reads them; tables are read when one overlaps another."""
    told = [_stretches([*map(datetime.fromisoformat, each)]) for each in bins]
    if (times := tables.times) is not None:  # one matrix of the whole window, which has no segments
        return [_matrix(facts, told, TOTAL, lambda: _content(tables, times.start[0], TOTAL))] if told else []

    def matrix(each: Stretches, label: str) -> PublishedMatrix:
        segment = TOTAL if label == TOTAL else _conditions(label, facts["segments"])
        return _matrix(facts, [each], segment, lambda: _content(tables, each[0][0], label))

    return [matrix(each, label) for each in told for label in (TOTAL, *_segments(tables))]


def _stretches(moments: Sequence[datetime]) -> Stretches:
    """The stretches of time of a bin, from their starts and ends in turn."""
    return tuple(zip(moments[::2], moments[1::2], strict=True))


def _matrix(
    facts: dict[str, Any], bins: Sequence[Stretches], segment: str, load: Callable[[], Content]
) -> PublishedMatrix:
    """One whose rows are told in some bins."""
    promise = facts["parameters"]
    return PublishedMatrix(
        release_id=facts["release_id"],
        product=facts["product"],
        source=facts["data_sha256"],
        start=min(each[0][0] for each in bins),
        end=max(each[-1][1] for each in bins),
        k=promise["k"],
        unit=promise["unit"],
        load=load,
        segment=segment,
        bins=tuple(bins),
    )


def tells_promise(manifest: dict[str, Any]) -> bool:
    """Whether a manifest, perhaps of an earlier version, says all that a comparison needs."""
    return manifest.get("parameters", {}).keys() >= _NEEDED


def tells_segments(manifest: dict[str, Any], tables: Tables) -> bool:
    """Whether the segments of a release, perhaps of an earlier version, can be told apart by their attributes."""
    parts = len(manifest.get("segments", ()))
    return all(parts == 1 or len(label.split("/")) == parts for label in _segments(tables))


def unreadable(manifest: dict[str, Any]) -> PublishedMatrix:
    """A release whose input is no longer kept, or that does not say how it was made.

    All that is known of it is when and of whom; the auditor refuses its neighbours whatever its promise was.
    """
    nothing = Content(pd.DataFrame(), pd.DataFrame(), pd.DataFrame(), rows=None)
    promise = {"k": 1, "unit": "persons", **manifest.get("parameters", {})}
    return _matrix({**manifest, "parameters": promise}, [_stretches(window_of(manifest))], TOTAL, lambda: nothing)


def _segments(tables: Tables) -> list[str]:
    """The segments that a release is split by; none for a release of everybody."""
    if not (tables.folder / SEGMENTS).is_file():
        return []
    return sorted(pd.read_parquet(tables.folder / SEGMENTS, columns=["segment"])["segment"].unique())


def _conditions(label: str, attributes: list[str]) -> str:
    """A segment's label as what the auditor compares: `female/25-44` of sex and age is `sex=female,age=25-44`."""
    values = label.split("/") if len(attributes) > 1 else [label]
    return ",".join(f"{quote(a, safe='')}={quote(v, safe='')}" for a, v in zip(attributes, values, strict=True))


def _content(tables: Tables, time_bin: datetime, label: str) -> Content:
    """What one segment of a time bin shows: its part of the flows that are split, or all that are not."""
    here, times = [("time_bin", "==", pd.Timestamp(time_bin))], tables.times
    kept = here if times is None else None
    rows = pd.read_parquet(tables.rows, filters=kept if label == TOTAL else [*here, ("segment", "==", label)])
    areas = pd.read_parquet(tables.folder / "areas.parquet", filters=here)
    tiles = areas.explode("tiles").rename(columns={"tiles": "tile"})
    flows = pd.read_parquet(tables.folder / "flows.parquet", filters=here)
    shown = np.ones(len(flows), dtype=bool)
    if (tables.folder / SEGMENTS).is_file():
        split = pd.read_parquet(tables.folder / SEGMENTS, filters=here)
        split = split if label == TOTAL else split[split["segment"] == label]
        inside = pd.MultiIndex.from_frame(flows[ENDS]).isin(pd.MultiIndex.from_frame(split[ENDS]))
        shown = ~inside if label == TOTAL else inside
    assignment = None
    if tables.overlapping or tables.leaves_out:
        assignment = pd.read_parquet(tables.folder / "assignment.parquet", filters=here)
        flow = assignment["flow"].to_numpy(np.int64)
        assignment = assignment.assign(flow=np.where((flow >= 0) & np.append(shown, False)[flow], flow, -1))
    origin, destination = (tiles.loc[tiles["side"] == side, ["area", "tile"]] for side in ENDS)
    rows = rows.rename(columns={"time_bin": "time"})
    intervals = None if times is None else _bins_of(tiles[tiles["side"] == "time"], times)
    return Content(flows[shown], origin, destination, rows, assignment, beside=flows[~shown], times=intervals)


def _bins_of(intervals: pd.DataFrame, times: Times) -> pd.DataFrame:
    """Intervals with the starts of their bins, as rows tell them."""
    start = dict(zip(times.tree.label[times.tree.tiles], times.start, strict=True))
    tile = pd.to_datetime(intervals["tile"].map(start), utc=True)
    return pd.DataFrame({"area": intervals["area"], "tile": tile}).reset_index(drop=True)
