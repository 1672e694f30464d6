"""A small city of commuters for the privacy tests: person-level rows with sex, day and hour, and its matrices."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from odanon import registry
from odanon.gate.audit.published import TOTAL, Content, PublishedMatrix
from odanon.gate.release import area_tiles
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def tree(side: int = 8) -> Hierarchy:
    """A square city of side x side tiles, joined 2 x 2 level by level."""
    label, parent, width = ["city"], [-1], side
    above = {(0, 0): 0}
    while width > 1:
        width //= 2
        below = {}
        for x in range(0, side, width):
            for y in range(0, side, width):
                below[x, y] = len(label)
                label.append(f"{width}x{x}y{y}")
                parent.append(above[x - x % (2 * width), y - y % (2 * width)])
        above = below
    return Hierarchy.from_parents(label, parent, kind="square", coverage="full")


CITY = tree()


def people(n: int = 300, days: int = 7, seed: int = 1) -> pd.DataFrame:
    """Rows (time, origin, destination, person, sex, weight, trips): home to work most days, and some errands."""
    rng = np.random.default_rng(seed)
    tiles = CITY.label[CITY.tiles]
    pull = rng.pareto(1.5, len(tiles)) + 0.3
    pull /= pull.sum()
    home, work = (rng.choice(len(tiles), n, p=pull) for _ in range(2))
    rows = []
    for day in range(days):
        for start, end, share in ((home, work, 0.7), (work, home, 0.6), (home, rng.choice(len(tiles), n, p=pull), 0.3)):
            out = np.flatnonzero(rng.random(n) < share)
            rows.append(pd.DataFrame({"day": day, "o": start[out], "d": end[out], "person": out}))
    table = pd.concat(rows, ignore_index=True)
    counted = table.groupby(["day", "o", "d", "person"], as_index=False).size()
    sex = np.where(rng.random(n) < 0.5, "F", "M")
    weight = rng.uniform(1, 9, n)
    return pd.DataFrame(
        {
            "time": pd.Timestamp(MONDAY).as_unit("us") + pd.to_timedelta(counted["day"], unit="D"),
            "origin": tiles[counted["o"]],
            "destination": tiles[counted["d"]],
            "person": counted["person"],
            "sex": sex[counted["person"]],
            "weight": weight[counted["person"]] * counted["size"],
            "trips": counted["size"],
        }
    )


def release(rows: pd.DataFrame, algorithm: str = "atg-joint", **parameters: Any) -> Release:
    """The release of one matrix of the rows."""
    promise = {"k": 10, "suppression": 0.1, **parameters}
    return registry.create("anonymize", algorithm, promise).anonymize(ODMatrix.from_frame(rows, CITY, CITY), CITY, CITY)


def content(rows: pd.DataFrame | None, made: Release) -> Content:
    """The tables of a release as the auditor reads them."""
    return Content(made.flows, area_tiles(made.origins, CITY), area_tiles(made.destinations, CITY), rows)


def published(
    rows: pd.DataFrame,
    name: str,
    *,
    product: str = "flows",
    start: datetime = MONDAY,
    days: int = 1,
    segment: str = TOTAL,
    made: Release | None = None,
    **parameters: Any,
) -> PublishedMatrix:
    """A matrix of the rows between start and start + days, anonymised and published under `name`."""
    inside = rows[(rows["time"] >= start) & (rows["time"] < start + days * DAY)]
    result = made or release(inside, **parameters)
    return PublishedMatrix(
        name, product, "phones", start, start + days * DAY, result.parameters["k"], "persons",
        lambda: content(inside, result), segment,
    )  # fmt: skip


def tables(made: Release) -> Mapping[str, Any]:
    """What the verifier takes of a release."""
    return {
        "flows": made.flows.astype({"origin": "str", "destination": "str"}),
        "origin_tiles": area_tiles(made.origins, CITY),
        "destination_tiles": area_tiles(made.destinations, CITY),
        "suppressed_trips": int(made.assignment.loc[made.assignment["flow"] < 0, "trips"].sum()),
    }
