"""The gate in front of publication: what the verifier and the auditor read of the files of a day (PRIVACY rules 2, 5)."""

import json
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from odanon import registry
from odanon.hierarchy.parquet import from_parquet
from odanon.hierarchy.tree import Hierarchy
from odanon.privacy.audit import audit
from odanon.privacy.published import Content, PublishedMatrix
from odanon.privacy.verify import Finding, added_up, verify
from odanon.product import Product
from odanon.trips.bins import bin_instants
from odanon.trips.window import day_window
from odanon_assets.lake import Lake

_PROMISE = (
    "k",
    "unit",
    "k_population",
    "min_tiles",
    "max_tiles",
    "max_dominance",
    "contribution_cap",
)


def verify_day(product: Product, lake: Lake, day: date) -> list[Finding]:
    """All broken rules over the time bins of a day; counts of one rule are added up."""
    folder = lake.read(product.product, "anonymized", day)
    parameters: dict[str, Any] = lake.figures(product.product, "anonymized", day)["parameters"]
    rows = pq.read_table(
        lake.read(product.product, "od", day) / "person_rows.parquet", read_dictionary=["origin", "destination"]
    ).to_pandas()
    flows = pd.read_parquet(folder / "flows.parquet")
    assignment = _by_bin(pd.read_parquet(folder / "assignment.parquet"))
    tree = from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")
    listed = pd.read_parquet(folder / "areas.parquet", columns=["time_bin", "side", "area", "n_tiles", "tiles"])
    areas = _by_bin(listed.assign(n_tiles=_sizes(listed, tree)))
    strangers = int((~flows["time_bin"].isin(rows["time_bin"])).sum())
    algorithm: Any = registry.find("anonymize", parameters["algorithm"]).cls
    findings = [
        Finding("verifiable", int(not algorithm.verifiable), "an algorithm whose counts are noisy and prove nothing"),
        Finding("time-bins", strangers, "flows in time bins without input"),
        Finding("zone-tiles", _redrawn(listed, tree), "areas that do not hold the tiles of their zone"),
    ]
    flows_of = _by_bin(flows)
    for time_bin, part in rows.groupby("time_bin"):
        assigned = assignment.get(time_bin)
        if assigned is None:
            findings.append(Finding("time-bins", 1, "time bins that the release leaves out"))
            continue
        tiles = areas.get(time_bin, listed.iloc[:0]).explode("tiles").rename(columns={"tiles": "tile"})
        findings += verify(
            part,
            flows_of.get(time_bin, flows.iloc[:0]),
            *(tiles.loc[tiles["side"] == side, ["area", "tile", "n_tiles"]] for side in ("origin", "destination")),
            suppressed_trips=int(assigned.loc[assigned["flow"] < 0, "trips"].sum()),
            assignment=assigned[["origin", "destination", "flow"]] if algorithm.overlapping else None,
            **{name: parameters[name] for name in _PROMISE},
        )
    return added_up(findings)


def audit_day(product: Product, lake: Lake, day: date, release_id: str, others: Iterable[Product]) -> list[Finding]:
    """What the auditor finds in a day's release next to the published days of other products of the same source."""
    published = [
        matrix
        for other in others
        if other.product != product.product and _source(other) == _source(product)
        for near in (day - timedelta(days=1), day, day + timedelta(days=1))  # days of other time zones overlap
        if lake.folder(other.product, "published", near).is_dir()
        for matrix in _published_matrices(other, lake, near)
    ]
    return audit(day_matrices(product, lake, day, release_id), published)


def _published_matrices(product: Product, lake: Lake, day: date) -> list[PublishedMatrix]:
    """The matrices of a published day, or one without rows when its input is no longer kept."""
    release_id = lake.figures(product.product, "published", day)["release_id"]
    if all(lake.folder(product.product, stage, day).is_dir() for stage in ("od", "anonymized")):
        return day_matrices(product, lake, day, release_id)
    nothing = Content(pd.DataFrame(), pd.DataFrame(), pd.DataFrame(), rows=None)
    start, end = day_window(day, product.zone)
    k, unit = product.anonymize.instance.k, product.anonymize.instance.unit
    return [PublishedMatrix(release_id, product.product, _source(product), start, end, k, unit, lambda: nothing)]


def _source(product: Product) -> str:
    return json.dumps(product.source.model_dump(mode="json"), sort_keys=True)


def day_matrices(product: Product, lake: Lake, day: date, release_id: str) -> list[PublishedMatrix]:
    """The time bins of a day as the auditor reads them; tables are read when a bin overlaps another release."""
    parameters: dict[str, Any] = lake.figures(product.product, "anonymized", day)["parameters"]
    bins = pd.read_parquet(lake.read(product.product, "od", day) / "person_rows.parquet", columns=["time_bin"])
    used = pd.DatetimeIndex(bins["time_bin"].unique())
    starts = pd.DatetimeIndex(bin_instants(day, product.zone, product.od.bin)).tz_localize("UTC").union(used)
    ends = [*starts[1:], pd.Timestamp(day_window(day, product.zone)[1])]

    def matrix(start: datetime, end: datetime) -> PublishedMatrix:
        return PublishedMatrix(
            release_id=release_id,
            product=product.product,
            source=_source(product),
            start=start,
            end=end,
            k=parameters["k"],
            unit=parameters["unit"],
            load=lambda: _content(product, lake, day, start),
        )

    return [
        matrix(start.to_pydatetime(), end.to_pydatetime())
        for start, end in zip(starts, ends, strict=True)
        if start in used
    ]


def _content(product: Product, lake: Lake, day: date, time_bin: datetime) -> Content:
    folder, here = lake.read(product.product, "anonymized", day), [("time_bin", "==", pd.Timestamp(time_bin))]
    rows = pd.read_parquet(lake.read(product.product, "od", day) / "person_rows.parquet", filters=here)
    areas = pd.read_parquet(folder / "areas.parquet", filters=here).explode("tiles").rename(columns={"tiles": "tile"})
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    algorithm: Any = registry.find("anonymize", parameters["algorithm"]).cls
    origin, destination = (areas.loc[areas["side"] == side, ["area", "tile"]] for side in ("origin", "destination"))
    return Content(
        flows=pd.read_parquet(folder / "flows.parquet", filters=here),
        origin_tiles=origin,
        destination_tiles=destination,
        rows=rows.rename(columns={"time_bin": "time"}),
        assignment=pd.read_parquet(folder / "assignment.parquet", filters=here) if algorithm.overlapping else None,
    )


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
