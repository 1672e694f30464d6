"""What the verifier reads of the files of a day: every time bin, and every segment that is shown (PRIVACY rule 2)."""

from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq

from odanon import registry
from odanon.gate.drawn import telling
from odanon.gate.release import area_tables, release_findings
from odanon.gate.verifier import Finding, added_up, verify
from odanon.model.files.releases import read_releases
from odanon.model.files.trees import from_parquet
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.model.window import Times
from odanon.product import Product
from odanon_assets.gate.evidence import SEGMENTS, Tables, window_times
from odanon_assets.gate.matrices import ENDS
from odanon_assets.lake.lake import Lake

_TIMED = ("flows.parquet", "areas.parquet", "assignment.parquet")


def verify_day(product: Product, lake: Lake, day: date) -> list[Finding]:
    """All broken rules over the time bins of a day, and over their segments; counts of one rule are added up."""
    tables = Tables.of_day(product, lake, day)
    parameters: dict[str, Any] = lake.figures(product.product, "anonymized", day)["parameters"]
    promise = Promise.of(parameters)
    rows = pq.read_table(tables.rows, read_dictionary=ENDS).to_pandas()
    tree = from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")
    times = tables.times
    releases = read_releases(tables.folder, tree, tree, parameters, times)
    split = _by_bin(pd.read_parquet(tables.folder / SEGMENTS)) if product.segmented else {}
    bins = _by_bin(rows) if times is None else _in_time(rows, times)
    strangers = 0 if times is None else sum(int(here["time"].isna().sum()) for here in bins.values())
    how = {"overlapping": tables.overlapping, "leaves_out": tables.leaves_out}
    told = {
        *split,
        *(at for name in _TIMED for at in _by_bin(pd.read_parquet(tables.folder / name, columns=["time_bin"]))),
    }
    findings = [
        Finding("verifiable", int(_adds_noise(parameters)), "an algorithm whose counts are noisy and prove nothing"),
        Finding(
            "known-times",
            int(_told(times) != _told(window_times(product, lake, day))),
            "tables of other times than the product's file and its days say",
        ),
        Finding("time-bins", strangers, "rows of no time bin of the window"),
        Finding("time-bins", len(told - bins.keys()), "time bins without input"),
        Finding("time-bins", len(bins.keys() - releases.keys()), "time bins that the release leaves out"),
    ]
    for at in sorted(bins.keys() & releases.keys()):
        release, here = releases[at], bins[at].drop(columns="time_bin")
        findings += release_findings(here, release, tree, tree, promise, times=times, **how)
        told_by_areas = sum(telling(areas, tree) for areas in (release.origins, release.destinations))
        findings.append(Finding("visited-areas", told_by_areas, "areas that list only tiles that somebody visited"))
        if at in split:
            areas = area_tables(release, tree, tree)
            findings += _verify_segments(here, release, split[at], areas, how, promise)
    return added_up(findings)


def _adds_noise(parameters: dict[str, Any]) -> bool:
    """Whether a method of ours made the tables that adds noise; what those of other packages count is proved or refused."""
    if not registry.is_ours("anonymize", parameters["algorithm"]):
        return False
    method: Any = registry.find("anonymize", parameters["algorithm"]).cls
    return not method.verifiable


def _verify_segments(
    rows: pd.DataFrame,
    release: Release,
    split: pd.DataFrame,
    areas: tuple[pd.DataFrame, pd.DataFrame],
    how: dict[str, bool],
    promise: Promise,
) -> list[Finding]:
    """Each segment's part of the flows that are split keeps the promise, and no part of such a flow is missing."""
    n_flows, assigned = len(release.flows), release.assignment
    number = _numbers(split, release.flows)
    shared = np.isin(np.arange(n_flows), number)
    row_flow = np.append(assigned["flow"].to_numpy(np.int64), -1)[_numbers(rows, assigned)]
    findings = [Finding("segments", int((number < 0).sum()), "flows by segment that no flow of everybody holds")]
    told_kind = np.append(release.flows["kind"].to_numpy(object), "")[number]
    other = (number >= 0) & (told_kind != split["kind"].to_numpy(object))
    findings.append(
        Finding("segments", int(other.sum()), "flows by segment that are a rest of everybody, or the reverse")
    )
    promise = replace(promise, k_areas=None)  # it asks that enough people of all segments together use an area
    for name in sorted({*rows["segment"], *split["segment"]}):
        inside, mine = (rows["segment"] == name).to_numpy(), (split["segment"] == name).to_numpy()
        part, flow = rows[inside], row_flow[inside]
        # In the segment's flows, by number in those of everybody; the last for none.
        place = np.full(n_flows + 1, -1)
        place[number[mine]] = np.arange(int(mine.sum()))
        place[-1] = -1
        lost = np.unique(flow[(flow >= 0) & shared[flow] & (place[flow] < 0)]) if n_flows else flow[:0]
        findings.append(Finding("segments", len(lost), "flows that are split and lack a segment"))
        told = part[[*ENDS, "trips"]].assign(flow=place[flow])
        told = told.groupby(ENDS, observed=True, as_index=False).agg({"trips": "sum", "flow": "first"})
        findings += verify(
            part,
            split[mine],
            *areas,
            promise,
            suppressed_trips=int(told.loc[told["flow"] < 0, "trips"].sum()),
            assignment=told,
            beside=release.flows[~np.isin(np.arange(n_flows), number[mine])].astype(dict.fromkeys(ENDS, "str")),
            **how,
        )
    return findings


def _numbers(table: pd.DataFrame, among: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The row of the other table with the same origin and destination as each row, -1 for none."""
    index = pd.MultiIndex.from_frame(among[ENDS].astype("str"))
    return index.get_indexer(pd.MultiIndex.from_frame(table[ENDS].astype("str")))


def _told(times: Times | None) -> tuple[Any, ...] | None:
    return None if times is None else (times.start, times.end, times.seconds, times.tree.label.tolist())


def _in_time(rows: pd.DataFrame, times: Times) -> dict[datetime, pd.DataFrame]:
    """The rows of a whole window, each with the label of its bin; without one where a row is of no bin."""
    if not len(rows):
        return {}
    at = pd.DatetimeIndex(times.start).get_indexer(pd.DatetimeIndex(rows["time_bin"]))
    labels = pd.Index(times.tree.label[times.tree.tiles], dtype="str")
    return {times.start[0]: rows.assign(time=pd.Categorical.from_codes(at, labels))}


def _by_bin(table: pd.DataFrame) -> dict[datetime, pd.DataFrame]:
    return {pd.Timestamp(at).to_pydatetime(): part for at, part in table.groupby("time_bin")}
