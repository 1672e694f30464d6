"""The figures of a release that may be made public, as they may be told, and what they mean."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from odanon.model.figure import Figure
from odanon.model.release import REST
from odanon.risk.bands import coarse, rounded
from odanon.risk.telling import told


def public_metrics(
    figures: Mapping[str, float], flows: pd.DataFrame, k: int, known: Sequence[Figure], left_out: int | None
) -> dict[str, Any]:
    """The figures that are declared public, as they may be told (`odanon.risk.telling`).

    What compares with the matrix is not told of fewer than k flows, since it would show which of their tiles were visited; and not
    at all where nobody knows how many people are behind what was left out.
    """
    public: dict[str, Any] = {}
    for figure in known:
        value, tells = figures.get(figure.name), figure.tells_suppressed != "no"
        if figure.public is None or value is None or (tells and len(flows) < k):
            continue
        if (shown := told(figure, value, k, left_out)) is not None:
            public[figure.public] = rounded(shown) if figure.kind == "size" else shown
    public.pop("coarse_share", None)  # of what is shown, noise included, and nothing where there are no rests
    if (rest := flows["kind"] == REST).any():
        public["coarse_share"] = coarse(flows.loc[rest, "trips"].sum() / flows["trips"].sum())
    # What anybody can count in the public table is told as it is there: flows by segment, and trips capped or estimated.
    public["flows"] = len(flows)
    public["trips_published"] = round(float(flows["trips"].sum()), 1)
    public["persons_min_band"] = _smallest_band(flows["persons_band"])
    return public


def declarations(metrics: Mapping[str, Any], known: Sequence[Figure]) -> dict[str, dict[str, Any]]:
    """What the figures of a manifest mean, in the manifest itself."""
    named = {figure.public or figure.name: figure for figure in known}
    return {name: named[name].declaration for name in metrics if name in named}


def _smallest_band(bands: pd.Series) -> str:
    return min(bands.dropna().unique(), key=lambda band: int(band.rstrip("+").split("-")[0]), default="")
