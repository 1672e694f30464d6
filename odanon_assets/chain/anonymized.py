"""The sixth stage: the matrices of a day anonymised, and what of them can be shown by segment."""

from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pandas as pd

from odanon import door
from odanon.anonymizers.segments import split_by_segment
from odanon.errors import OdanonError
from odanon.gate.audit.published import TOTAL
from odanon.model.files.releases import write_releases
from odanon.model.files.times import TIMES, write_times
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.product import Product
from odanon.protocols import Anonymizes
from odanon_assets.chain.hierarchy import read_tree
from odanon_assets.chain.od import bin_matrix, day_matrices, moment, read_rows
from odanon_assets.gate.evidence import METHOD, SEGMENTS, window_times
from odanon_assets.lake.files import write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry, origin_of
from odanon_assets.lake.places import rows_stage
from odanon_assets.watch.limit import time_limit

_SPLIT = {
    "time_bin": "datetime64[us, UTC]",
    "segment": "str",
    "origin": "str",
    "destination": "str",
    "kind": "str",
    "trips": "int64",
    "persons": "Int64",
}


def anonymized(product: Product, lake: Lake, day: date, *, anonymize: Anonymizes) -> dict[str, Any]:
    """One release per time bin, or of the whole window in time; one with fewer than k people in all is suppressed whole."""
    tree = read_tree(lake, product, day)
    with lake.new(product.product, "anonymized", day) as folder:
        matrices = dict(day_matrices(lake, product, day, tree))
        if anonymize.overlapping:  # boxes ask which tiles they touch
            ground = Ground.of(tree, tree, product.zoning.instance.tiles(tree.label[tree.tiles]))
            matrices = {at: replace(od, ground=ground) for at, od in matrices.items()}
        with time_limit(product.checks.max_anonymize, f"{product.product} {day}: {product.anonymize.plugin}"):
            promised = product.anonymize.promise
            made = door.release(matrices, tree, anonymize, promised, metrics=())
        if not made.verified:
            raise OdanonError(
                f"{product.product} {day}: {product.anonymize.plugin} adds noise, so nobody can count its flows again; a"
                " pipeline publishes only what is verified, choose another algorithm"
            )
        releases, parameters = made.releases, made.parameters
        times = window_times(product, lake, day)
        write_releases(folder, releases, tree, tree, times)
        if times is not None:
            write_times(times, folder / TIMES)
        if product.segmented:
            split = _split(read_rows(lake, product, day), matrices, releases, tree)
            write_parquet(split, folder / SEGMENTS)
        figures: dict[str, Any] = {
            "parameters": {"algorithm": product.anonymize.plugin, **parameters},
            **{name: bool(getattr(anonymize, name)) for name in METHOD},
        }
        made_with = {
            "hierarchy": origin_of(lake, product.product, "hierarchy", day)["hierarchy"],
            "anonymize": {"plugin": product.anonymize.plugin, **parameters},
        }
        carry(lake, product, rows_stage(product), day, folder, **made_with)
        return write_figures(folder, figures)


def _split(
    rows: pd.DataFrame,
    matrices: dict[datetime, ODMatrix],
    releases: dict[datetime, Release],
    tree: Hierarchy,
) -> pd.DataFrame:
    """The flows that can be shown by segment, each segment's part of them; all others stay whole (PRIVACY rule 6)."""
    parts = []
    for time_bin, here in rows.groupby("time_bin", sort=True):
        at = moment(time_bin)
        for name, (_, release) in by_segment(here, matrices[at], releases[at], tree).items():
            labels = {side: release.flows[side].astype("str") for side in ("origin", "destination")}
            parts.append(release.flows.assign(time_bin=time_bin, segment=name, **labels))
    table = pd.concat(parts, ignore_index=True)
    table = table[table["segment"] != TOTAL]
    wanted = [*_SPLIT, *(["weight"] if "weight" in table else [])]
    return table[wanted].astype(_SPLIT)  # a table without rows has its types too


def by_segment(
    rows: pd.DataFrame, everybody: ODMatrix, whole: Release, tree: Hierarchy
) -> dict[str, tuple[ODMatrix, Release]]:
    """Matrix and release of each segment of a time bin and, under `all`, of everybody with the flows that stay whole."""
    matrices = {str(name): bin_matrix(part, tree) for name, part in rows.groupby("segment", sort=True)}
    parts = split_by_segment(whole, matrices, Promise.of(whole.parameters), tree, tree)
    return {name: (matrices.get(name, everybody), part) for name, part in parts.items()}
