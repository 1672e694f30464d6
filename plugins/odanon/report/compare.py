"""The comparison page: every run in one table, trade-off plots, and the areas of each algorithm side by side."""

from collections.abc import Mapping, Sequence
from math import ceil
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from odanon.report.compare_maps import CaseTables, encode_maps
from odanon.report.compared_tables import PASSED, cross_section, empty_handed, people_table, runs_tables
from odanon.report.page import MAP, asset, build_page, in_words, text

SCRIPTS = (
    "base.js",
    "flows.js",
    *MAP,
    "plots.js",
    "lines.js",
    "compare.js",
)

MOST_BYTES = 5_000_000  # of the page, whatever was compared
_FOR_MAPS = 0.9  # of what is left of it; the rest is for commas and names of columns
_MOST_BINS = 168  # of a flow through time: a week of hours
_PAIR = ["origin", "destination"]


def render_comparison(
    title: str,
    compared: pd.DataFrame,
    main: pd.DataFrame,
    releases: Sequence[CaseTables],
    profiles: pd.DataFrame,
    facts: Mapping[str, Any],
) -> str:
    """A self-contained page.

    `compared` is the tidy table and `main` its rows for plots; `releases` are those of the k whose areas are drawn,
    `facts["map_k"]`; `profiles` has one row per busy tile pair and time bin: time, origin, destination, original and one
    column per algorithm, the busiest pair first.
    """
    busiest = profiles.drop(columns="time").groupby(_PAIR, sort=False, as_index=False).sum()
    drawn_k = main[main["k"] == facts["map_k"]]
    body = Template(asset("compare.html")).substitute(
        title=text(title),
        byline=text(facts["byline"]),
        summary=text(facts["summary"]),
        map_k=text(facts["map_k"]),
        cross=cross_section(compared),
        runs=runs_tables(main),
        people=people_table(drawn_k),
        noisy=text(_not_drawn(main)),
        nothing=_without_flows(drawn_k),
        busy=_table(["", *busiest.columns], [[n, *row] for n, row in enumerate(busiest.values.tolist(), 1)]),
    )
    drawn = [release for release in releases if len(release.flows)]
    data = {
        "runs": _runs(main),
        "extent": facts["extent"],
        "sizes": _sizes(drawn),
        "profiles": _encode_profiles(profiles, facts["bins"], facts.get("labels") or facts["bins"]),
        "areas": {},
        "maps": [],
    }
    if facts["extent"] is not None:
        room = MOST_BYTES - len(build_page(title, body, data, SCRIPTS).encode())
        data |= encode_maps(drawn, facts["extent"], int(_FOR_MAPS * room))
    return build_page(title, body, data, SCRIPTS)


def _runs(main: pd.DataFrame) -> list[dict[str, Any]]:
    """What the plots show: runs whose flows were counted again, with the trips that none of their flows has."""
    told = main.reindex(columns=["S_share", "coarse_share"])  # neither, where every case was refused
    in_no_flow = told["S_share"] + (1 - told["S_share"]) * told["coarse_share"].fillna(0.0)
    runs = main[["algorithm", "k", "Gbar", "E", "cpu_s"]].assign(in_no_flow=in_no_flow)[main["verifier"] == PASSED]
    return runs.astype(object).where(runs.notna(), None).to_dict("records")


def _not_drawn(main: pd.DataFrame) -> str:
    """Noise adds and removes trips: what is left out of them is no share, and tiles tell nothing of their error."""
    done = main[main["status"] == "done"]
    noisy = pd.unique(done.loc[done["verifier"] != PASSED, "algorithm"])
    return f" Not drawn, since tiles tell nothing of noise: {', '.join(noisy)}." if len(noisy) else ""


def _without_flows(main: pd.DataFrame) -> str:
    """Who is missing in what shows flows and areas."""
    names = ", ".join(main.loc[empty_handed(main), "algorithm"])
    return f'<p class="note">{text(f"Published nothing, so not here: {names}.")}</p>' if names else ""


def _sizes(releases: Sequence[CaseTables]) -> list[dict[str, Any]]:
    """For each release the share of its trips by tiles in the area, from 1, 2, 4, 8 ... tiles on, at either end."""
    most = max((int(release.zones["n_tiles"].max()) for release in releases), default=1)
    found = []
    for release in releases:
        tiles = release.zones.set_index(release.zones["zone_id"].astype(str))["n_tiles"]
        trips = release.flows["trips"].to_numpy(np.float64)
        steps = {side: np.log2(tiles.loc[release.flows[side].astype(str)].to_numpy()).astype(int) for side in _PAIR}
        sums = {side: np.bincount(steps[side], trips, most.bit_length()) / (trips.sum() or 1) for side in _PAIR}
        found.append({"algorithm": release.algorithm, **{side: sums[side].round(4).tolist() for side in _PAIR}})
    return found


def _table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{text(_short(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _short(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) and value < 10 else in_words(value)


def _encode_profiles(profiles: pd.DataFrame, bins: Sequence[str], called: Sequence[str]) -> dict[str, Any]:
    """For each busy pair the trips by bin, originally and read back from each release; nothing without time bins.

    `called` is what readers are told the bins are.
    """
    if len(bins) < 2:
        return {"bins": [], "flows": []}
    names = [name for name in profiles.columns if name not in ("time", *_PAIR)]
    each = ceil(len(bins) / _MOST_BINS)
    spans = [called[first : first + each] for first in range(0, len(bins), each)]
    flows = []
    for (origin, destination), part in profiles.groupby(_PAIR, sort=False):
        at = part.assign(time=part["time"].astype(str)).set_index("time")[names].reindex(bins, fill_value=0.0)
        summed = at.groupby(np.arange(len(bins)) // each).sum()
        flows.append({"o": origin, "d": destination, **{name: summed[name].round(2).tolist() for name in names}})
    labels = [span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    return {"bins": labels, "flows": flows, "algorithms": [name for name in names if name != "original"]}
