"""What the verifier reads of the files of a day: every time bin, and every segment that is shown (PRIVACY rule 2)."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from odanon.gate.verifier import Finding, added_up, verify
from odanon.model.hierarchy import Hierarchy
from odanon.model.hierarchy_file import from_parquet
from odanon.model.promise import Promise
from odanon.product import Product
from odanon_assets.gate.evidence import SEGMENTS, Tables
from odanon_assets.gate.matrices import ENDS, algorithm_of
from odanon_assets.lake.lake import Lake


def verify_day(product: Product, lake: Lake, day: date) -> list[Finding]:
    """All broken rules over the time bins of a day, and over their segments; counts of one rule are added up."""
    tables = Tables.of_day(product, lake, day)
    parameters: dict[str, Any] = lake.figures(product.product, "anonymized", day)["parameters"]
    rows = pq.read_table(tables.rows, read_dictionary=ENDS).to_pandas()
    flows = pd.read_parquet(tables.folder / "flows.parquet")
    assignment = _by_bin(pd.read_parquet(tables.folder / "assignment.parquet"))
    split = _by_bin(pd.read_parquet(tables.folder / SEGMENTS)) if product.segmented else {}
    tree = from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")
    listed = pd.read_parquet(tables.folder / "areas.parquet", columns=["time_bin", "side", "area", "n_tiles", "tiles"])
    areas = _by_bin(listed.assign(n_tiles=_sizes(listed, tree)))
    strangers = int((~flows["time_bin"].isin(rows["time_bin"])).sum())
    strangers += sum(len(part) for time_bin, part in split.items() if time_bin not in set(rows["time_bin"]))
    algorithm = algorithm_of(parameters)
    findings = [
        Finding("verifiable", int(not algorithm.verifiable), "an algorithm whose counts are noisy and prove nothing"),
        Finding("time-bins", strangers, "flows in time bins without input"),
        Finding("zone-tiles", _redrawn(listed, tree), "areas that do not hold the tiles of their zone"),
    ]
    flows_of = _by_bin(flows)
    promise = Promise.of(parameters)
    for time_bin, part in rows.groupby("time_bin"):
        assigned = assignment.get(time_bin)
        if assigned is None:
            findings.append(Finding("time-bins", 1, "time bins that the release leaves out"))
            continue
        tiles = areas.get(time_bin, listed.iloc[:0]).explode("tiles").rename(columns={"tiles": "tile"})
        sides = [tiles.loc[tiles["side"] == side, ["area", "tile", "n_tiles"]] for side in ENDS]
        here = flows_of.get(time_bin, flows.iloc[:0])
        findings += verify(
            part,
            here,
            sides[0],
            sides[1],
            promise,
            suppressed_trips=int(assigned.loc[assigned["flow"] < 0, "trips"].sum()),
            assignment=assigned[[*ENDS, "flow"]] if algorithm.overlapping else None,
        )
        if time_bin in split:
            findings += _verify_segments(part, here, split[time_bin], assigned, sides, algorithm.overlapping, promise)
    return added_up(findings)


def _verify_segments(
    rows: pd.DataFrame,
    flows: pd.DataFrame,
    split: pd.DataFrame,
    assigned: pd.DataFrame,
    sides: list[pd.DataFrame],
    overlapping: bool,
    promise: Promise,
) -> list[Finding]:
    """Each segment's part of the flows that are split keeps the promise, and no part of such a flow is missing."""
    whole = pd.MultiIndex.from_frame(flows[ENDS].astype("str"))
    number = whole.get_indexer(pd.MultiIndex.from_frame(split[ENDS]))
    shared = np.isin(np.arange(len(flows)), number)
    pairs = pd.Series(assigned["flow"].to_numpy(), pd.MultiIndex.from_frame(assigned[ENDS]))
    findings = [Finding("segments", int((number < 0).sum()), "flows by segment that no flow of everybody holds")]
    promise = replace(promise, k_areas=None)  # it asks that enough people of all segments together use an area
    for name in sorted({*rows["segment"], *split["segment"]}):
        part, mine = rows[rows["segment"] == name], (split["segment"] == name).to_numpy()
        flow = pairs.reindex(pd.MultiIndex.from_frame(part[ENDS].astype("str"))).fillna(-1).to_numpy(np.int64)
        place = np.full(
            len(flows) + 1, -1
        )  # in the segment's flows, by number in those of everybody; the last for none
        place[number[mine]] = np.arange(int(mine.sum()))
        place[-1] = -1
        lost = np.unique(flow[(flow >= 0) & shared[flow] & (place[flow] < 0)]) if len(flows) else flow[:0]
        findings.append(Finding("segments", len(lost), "flows that are split and lack a segment"))
        told = assigned[ENDS].assign(flow=place[assigned["flow"].to_numpy(np.int64)])
        findings += verify(
            part,
            split[mine],
            sides[0],
            sides[1],
            promise,
            suppressed_trips=int(part["trips"].to_numpy()[place[flow] < 0].sum()),
            assignment=told if overlapping else None,
        )
    return findings


def _by_bin(table: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    return dict(iter(table.groupby("time_bin")))


def _sizes(areas: pd.DataFrame, tree: Hierarchy) -> pd.Series:
    """Tiles of every area: those of its zone in the hierarchy, or what the release says of an area of its own."""
    known = pd.Series(tree.n_tiles, index=pd.Index(tree.label, dtype="str"))
    return areas["area"].map(known).fillna(areas["n_tiles"]).astype(np.int64)


def _redrawn(areas: pd.DataFrame, tree: Hierarchy) -> int:
    """How many areas carry the name of a zone and hold other tiles than the zone."""
    node_of = {label: node for node, label in enumerate(tree.label.tolist())}
    distinct = areas.assign(tiles=areas["tiles"].map(tuple)).drop_duplicates(["area", "tiles"])
    nodes = distinct["area"].map(node_of)
    named = distinct[nodes.notna()]
    return sum(
        set(tiles) != set(tree.members(int(node))) for tiles, node in zip(named["tiles"], nodes.dropna(), strict=True)
    )
