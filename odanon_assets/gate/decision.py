"""The gate in front of publication: what the verifier and the auditor read of the files of a day (PRIVACY rules 2, 5)."""

import json
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from odanon.gate.auditor import audit
from odanon.gate.published import PublishedMatrix
from odanon.gate.verifier import Finding, added_up, verify
from odanon.model.hierarchy import Hierarchy
from odanon.model.hierarchy_file import from_parquet
from odanon.model.promise import Promise
from odanon.product import Product
from odanon_assets.gate.evidence import SEGMENTS, Tables, kept_tables, sharing, time_bins
from odanon_assets.gate.matrices import algorithm_of, matrices, tells_promise, unreadable
from odanon_assets.lake.files import sha256
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.bundle import release_id
from odanon_assets.stores.interface import Store

_ENDS = ["origin", "destination"]


def promise_kept(product: Product, lake: Lake, day: date) -> list[Finding]:
    """Whether a day's tables were made for the product as its file is now: as strict a promise, the same segments.

    The file may have changed since, and a run may override parameters; both may only protect more.
    """
    made = Promise.of(lake.figures(product.product, "anonymized", day)["parameters"])
    weaker = made.weaker_than(product.anonymize.instance)
    split = (lake.read(product.product, "anonymized", day) / SEGMENTS).is_file()
    return added_up(
        [
            Finding(
                "promise", len(weaker), f"tables made with a weaker {', '.join(weaker)} than the product's file says"
            ),
            Finding(
                "segments", int(split != bool(product.segmented)), "tables made with other segments than the file's"
            ),
        ]
    )


def verify_day(product: Product, lake: Lake, day: date) -> list[Finding]:
    """All broken rules over the time bins of a day, and over their segments; counts of one rule are added up."""
    tables = Tables.of_day(product, lake, day)
    parameters: dict[str, Any] = lake.figures(product.product, "anonymized", day)["parameters"]
    rows = pq.read_table(tables.rows, read_dictionary=_ENDS).to_pandas()
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
        sides = [tiles.loc[tiles["side"] == side, ["area", "tile", "n_tiles"]] for side in _ENDS]
        here = flows_of.get(time_bin, flows.iloc[:0])
        findings += verify(
            part,
            here,
            sides[0],
            sides[1],
            promise,
            suppressed_trips=int(assigned.loc[assigned["flow"] < 0, "trips"].sum()),
            assignment=assigned[[*_ENDS, "flow"]] if algorithm.overlapping else None,
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
    whole = pd.MultiIndex.from_frame(flows[_ENDS].astype("str"))
    number = whole.get_indexer(pd.MultiIndex.from_frame(split[_ENDS]))
    shared = np.isin(np.arange(len(flows)), number)
    pairs = pd.Series(assigned["flow"].to_numpy(), pd.MultiIndex.from_frame(assigned[_ENDS]))
    findings = [Finding("segments", int((number < 0).sum()), "flows by segment that no flow of everybody holds")]
    promise = replace(promise, k_areas=None)  # it asks that enough people of all segments together use an area
    for name in sorted({*rows["segment"], *split["segment"]}):
        part, mine = rows[rows["segment"] == name], (split["segment"] == name).to_numpy()
        flow = pairs.reindex(pd.MultiIndex.from_frame(part[_ENDS].astype("str"))).fillna(-1).to_numpy(np.int64)
        place = np.full(
            len(flows) + 1, -1
        )  # in the segment's flows, by number in those of everybody; the last for none
        place[number[mine]] = np.arange(int(mine.sum()))
        place[-1] = -1
        lost = np.unique(flow[(flow >= 0) & shared[flow] & (place[flow] < 0)]) if len(flows) else flow[:0]
        findings.append(Finding("segments", len(lost), "flows that are split and lack a segment"))
        told = assigned[_ENDS].assign(flow=place[assigned["flow"].to_numpy(np.int64)])
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


def audit_day(product: Product, lake: Lake, day: date, store: Store) -> list[Finding]:
    """What the auditor finds in a day's release next to every other one, of whatever product, that shares its input.

    Time bins and tiles must be those of the other releases: other bins are refused because rows tell no more than their
    bin (PRIVACY rule 6), other tiles because trips cannot be matched.
    """
    facts, tables = release_facts(product, lake, day), Tables.of_day(product, lake, day)
    candidate = matrices(facts, tables, time_bins(product, tables, day))
    findings: list[Finding] = []
    others: list[PublishedMatrix] = []
    for manifest in sharing(lake, store, product, day):
        if manifest["release_id"] == facts["release_id"]:
            continue
        same = {**manifest, "data_sha256": product.data_sha256}  # as far as anybody can tell
        kept = kept_tables(lake, manifest)
        if kept is None or not tells_promise(manifest):
            others.append(unreadable(same))
            continue
        published = matrices(same, *kept)
        refused = _unlike(candidate, facts, published, manifest)
        findings += refused
        others += [] if refused else published
    return added_up([*findings, *audit(candidate, others)])


def release_facts(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """What names the release of a day's files and says with which others it shares input; part of its manifest."""
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    input_hash = sha256(lake.read(product.product, "od", day) / "person_rows.parquet")
    identity = {
        "input": input_hash,
        "parameters": parameters,
        "hierarchy": product.hierarchy.model_dump(),
        "odanon": version("odanon"),
    }
    return {
        "release_id": release_id(product.product, day, identity),
        "product": product.product,
        "window_start": day.isoformat(),
        "timezone": product.timezone,
        "data_sha256": product.data_sha256,
        "input_sha256": input_hash,
        "parameters": {
            **parameters,
            "zoning": product.zoning.model_dump(),
            "hierarchy": product.hierarchy.model_dump(),
        },
        **({"segments": list(product.segmented)} if product.segmented else {}),
    }


def _unlike(
    candidate: list[PublishedMatrix],
    facts: dict[str, Any],
    published: list[PublishedMatrix],
    manifest: dict[str, Any],
) -> list[Finding]:
    """Why two releases that share input cannot be compared."""
    where = f"together with {manifest['release_id']}"
    meeting = [(one, two) for one in candidate for two in published if one.overlaps(two)]
    if not meeting:
        return []
    tiles = [json.dumps(told["parameters"]["zoning"], sort_keys=True, default=str) for told in (facts, manifest)]
    if tiles[0] != tiles[1]:
        return [Finding("comparable", 1, f"the same people on other tiles, {where}")]
    capped = any(told["parameters"].get("contribution_cap") for told in (facts, manifest))
    if capped and not _same_numbers(facts, manifest):
        what = "trips counted up to a cap for each person and flow, so that sums of flows are not those of trips"
        return [Finding("comparable", 1, f"{what}, {where}")]
    other = sum((one.start, one.end) != (two.start, two.end) for one, two in meeting)
    if other:
        what = "time bins that overlap without being the same, whose numbers may only be sums of each other"
        return [Finding("base-window", other, f"{what}, {where}")]
    return []


def _same_numbers(facts: dict[str, Any], manifest: dict[str, Any]) -> bool:
    """Whether two releases were made from the same rows in the same way."""
    made = [json.dumps([told["input_sha256"], told["parameters"]], sort_keys=True) for told in (facts, manifest)]
    return made[0] == made[1]


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
