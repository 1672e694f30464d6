"""Trips between areas of one's own, and over time, with bounds."""

from typing import Any

import pandas as pd

from odanon.client.publications import Publications
from odanon_assets.explore.answers.areas import drawn, table_of
from odanon_assets.explore.answers.tables import manifests_of
from odanon_assets.explore.models import MatrixAsked, ProfileAsked

_LABELS = {"1h": "%a %-d %b %H:%M", "3h": "%a %-d %b %H:%M", "1d": "%a %-d %b", "7d": "%-d %b %Y"}
_HOURS = {"1h": 1, "3h": 3, "1d": 24, "7d": 168}


def matrix(published: Publications, request: dict[str, Any], asked: MatrixAsked) -> dict[str, Any]:
    """The cells between all areas that some row may tell of."""
    areas = table_of(asked.areas)
    table = published[request["product"]].matrix(areas, reading=asked.reading, **asked.when.told())
    cells = _rounded(table)
    return {
        "areas": [str(name) for name in areas.index],
        "cells": cells.to_dict("records"),
        "reading": _reading(published, request["product"], asked.reading),
        "note": None if len(cells) else "nothing that is published meets these areas at this time",
    }


def profile(published: Publications, request: dict[str, Any], asked: ProfileAsked) -> dict[str, Any]:
    """The steps of a pair of areas."""
    origin, destination = drawn(asked.origin, asked.destination)
    table = published[request["product"]].profile(
        origin, destination, step=asked.step, reading=asked.reading, along=asked.along, **asked.when.told()
    )
    zone = published[request["product"]].timezone
    start, end = (pd.to_datetime(table[name], utc=True).dt.tz_convert(zone) for name in ("time_start", "time_end"))
    steps = _rounded(table[["low", "estimate", "high", "exact", "spread_over_hours"]])
    steps.insert(0, "start", start.dt.strftime("%Y-%m-%dT%H:%M"))
    steps.insert(1, "end", end.dt.strftime("%Y-%m-%dT%H:%M"))
    steps.insert(2, "label", start.dt.strftime(_LABELS[asked.step]))
    return {"steps": steps.to_dict("records"), "note": _spread(steps, _HOURS[asked.step])}


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table.select_dtypes("number").columns
    return table.assign(**{name: table[name].round(4) for name in numbers})


def _spread(steps: pd.DataFrame, hours: int) -> str | None:
    longest = steps["spread_over_hours"].max()
    if not longest > hours:
        return None
    return (
        f"some trips are published for up to {longest:.3g} hours together; they are spread over the steps of their time"
    )


def _reading(published: Publications, product: str, reading: str) -> str:
    """Which reading it was; of several releases there may be several."""
    if reading != "auto":
        return reading
    return ", ".join(sorted({told.get("reading", "even") for told in manifests_of(published, product)}))
