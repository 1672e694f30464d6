"""How much went into a day, as readers may know it (PRIVACY rule 23)."""

from collections.abc import Mapping
from datetime import date, datetime

import numpy as np
import pandas as pd

from odanon.metrics.left_out import LeftOut
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.product import Product
from odanon.risk.bands import rounded_down
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake

# Where counts come from, by the stage that the rows of a source enter; before it there is nothing to count.
_OF_MATRIX = {"people": "traces", "od_pairs": "od"}
_STAGES = {
    "traces": {"points": "traces", "staypoints": "staypoints", "trips": "trips", **_OF_MATRIX},
    "trips": {"trips": "trips", **_OF_MATRIX},
    "od": _OF_MATRIX,
}


def told_counts(
    product: Product, lake: Lake, day: date, missing: LeftOut[datetime], rows: Mapping[datetime, pd.DataFrame], k: int
) -> dict[str, int]:
    """Rounded counts of what went in; while fewer than k people are behind what no flow counts, of a day without that.

    `rows` are those of the matrix of each time bin.
    """
    stages = _STAGES[product.source.instance.enters]
    counts = {name: int(lake.figures(product.product, stage, day)[name]) for name, stage in stages.items()}
    if 0 < missing.people < k:
        for name in counts.keys() & {"points", "staypoints", "trips"}:
            counts[name] -= _of_people(lake, product, day, stages[name], missing)
        counts["people"] -= len(missing.gone)
        counts["od_pairs"] = sum(_pairs(rows[at], *world) for at, world in missing.rest.items())
        if "trips" in counts:
            counts["trips"] -= missing.of_others
    # Published trips can be subtracted from trips: of what many left out, one digit is then known.
    many = missing.people >= k and len(str(missing.trips)) >= len(str(counts.get("trips", 0)))
    digits = {"trips": 1} if many else {}
    return {name: rounded_down(count, k, digits.get(name, 2)) for name, count in counts.items()}


def _of_people(lake: Lake, product: Product, day: date, stage: str, missing: LeftOut[datetime]) -> int:
    """Rows of a stage that belong to people of whom no flow counts anything."""
    buckets = lake.buckets(product.product, stage, day)
    return sum(int(read_frame(path, ["person"])["person"].isin(missing.gone).sum()) for path in buckets)


def _pairs(rows: pd.DataFrame, od: ODMatrix, release: Release) -> int:
    """Tile pairs of a time bin by segment, of the rows that the matrix still has."""
    ends = {side: release.assignment[side].astype("str").to_numpy()[od.row_pair] for side in ("origin", "destination")}
    left = pd.DataFrame(ends)
    if od.person is not None:
        left["person"] = np.unique(rows["person"])[od.person]
    return len(rows.merge(left)[["segment", "origin", "destination"]].drop_duplicates())
