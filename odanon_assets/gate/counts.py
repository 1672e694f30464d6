"""How much went into a day, as readers may know it (PRIVACY rule 23)."""

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.metrics.left_out import LeftOut
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon.risk.bands import rounded_down
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import WINDOW, rows_stage

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

    The same holds for people without a trip in the matrix, and for trips that never came into it: outside the zoning, within
    a tile, far from all others. `rows` are those of the matrix of each time bin.
    """
    stages = _STAGES[product.source.instance.enters]
    places = dict.fromkeys(stages, WINDOW) if is_longer(product) else stages
    counts = {name: int(lake.figures(product.product, stage, day)[name]) for name, stage in places.items()}
    matrix_trips = sum(int(part["trips"].sum()) for part in rows.values())
    if "trips" in counts:
        dropped = counts["trips"] - matrix_trips
        behind = int(lake.figures(product.product, rows_stage(product), day)["dropped_people"])
        counts["trips"] = matrix_trips - missing.hidden + (dropped if behind >= k else 0)
    if missing.hidden:
        counts["od_pairs"] = sum(_pairs(rows[at], *world) for at, world in missing.rest.items())
    if all("person" in part for part in rows.values()):
        inside = pd.unique(pd.concat([part["person"] for part in rows.values()]))
        many_others = counts["people"] - len(inside) >= k
        for name in counts.keys() & {"points", "staypoints"}:
            counts[name] = _of_people(lake, product, day, stages[name], None if many_others else inside, missing.gone)
        counts["people"] = (counts["people"] if many_others else len(inside)) - len(missing.gone)
    # Published trips can be subtracted from trips: of what many left out, one digit is then known.
    many = missing.people > 0 and len(str(missing.trips)) >= len(str(counts.get("trips", 0)))
    digits = {"trips": 1} if many else {}
    return {name: rounded_down(count, k, digits.get(name, 2)) for name, count in counts.items()}


def _of_people(
    lake: Lake, product: Product, day: date, stage: str, people: npt.NDArray[Any] | None, hidden: npt.NDArray[Any]
) -> int:
    """Rows of a stage that belong to some people, or to everybody, without the hidden ones."""
    total = 0
    for path in _buckets(lake, product, day, stage):
        person = read_frame(path, ["person"])["person"]
        kept = np.ones(len(person), dtype=bool) if people is None else person.isin(people).to_numpy()
        total += int((kept & ~person.isin(hidden).to_numpy()).sum())
    return total


def _buckets(lake: Lake, product: Product, day: date, stage: str) -> list[Path]:
    """The files of people that a release was made from: of its day, or of the days of its window."""
    if not is_longer(product):
        return lake.buckets(product.product, stage, day)
    days = lake.days_of(product.product, day)
    return [path for each in days for path in lake.buckets(product.product, stage, each)]


def _pairs(rows: pd.DataFrame, od: ODMatrix, release: Release) -> int:
    """Tile pairs of a matrix by time bin and segment, of the rows that it still has."""
    ends = {side: release.assignment[side].astype("str").to_numpy()[od.row_pair] for side in ("origin", "destination")}
    left = pd.DataFrame(ends)
    if od.time is not None and od.times is not None:
        left["time_bin"] = pd.DatetimeIndex(od.times.start)[od.time].as_unit("us")
    if od.person is not None:
        left["person"] = np.unique(rows["person"])[od.person]
    return len(rows.merge(left)[["time_bin", "segment", "origin", "destination"]].drop_duplicates())
