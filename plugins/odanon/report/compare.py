"""The comparison page: every run in one table, trade-off plots, and the areas of each algorithm side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import pandas as pd

from odanon.report.compared_tables import cross_section, people_table, runs_tables
from odanon.report.encode import encode_zones, zones_in_use
from odanon.report.page import MAP, asset, build_page, in_words, text

SCRIPTS = (
    "base.js",
    "flows.js",
    *MAP,
    "plots.js",
    "lines.js",
    "compare.js",
)

_PAIR = ["origin", "destination"]


@dataclass(frozen=True)
class CaseTables:
    """The release of one case: flows (origin, destination, trips, spread) summed over time, and its zones."""

    algorithm: str
    flows: pd.DataFrame
    zones: pd.DataFrame


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
    body = Template(asset("compare.html")).substitute(
        title=text(title),
        byline=text(facts["byline"]),
        summary=text(facts["summary"]),
        map_k=text(facts["map_k"]),
        cross=cross_section(compared),
        runs=runs_tables(main),
        people=people_table(main[main["k"] == facts["map_k"]]),
        undrawn=text(_undrawn(facts["undrawn"])),
        busy=_table(["", *busiest.columns], [[n, *row] for n, row in enumerate(busiest.values.tolist(), 1)]),
    )
    drawn = [release for release in releases if len(release.flows)]
    told = main.reindex(columns=["S_share", "coarse_share"])  # neither, where every case was refused
    in_no_flow = told["S_share"] + (1 - told["S_share"]) * told["coarse_share"]
    runs = main[["algorithm", "k", "Gbar", "cpu_s"]].assign(in_no_flow=in_no_flow)
    runs = runs.astype(object).where(runs.notna(), None)
    data = {
        "runs": runs.to_dict("records"),
        "extent": facts["extent"],
        "releases": [_encode(release) for release in drawn],
        "profiles": _encode_profiles(profiles, facts["bins"]),
    }
    return build_page(title, body, data, SCRIPTS)


def _undrawn(names: Sequence[str]) -> str:
    return f" Not drawn, too many flows: {', '.join(names)}." if names else ""


def _table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{text(_short(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _short(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) and value < 10 else in_words(value)


def _encode_profiles(profiles: pd.DataFrame, bins: Sequence[str]) -> dict[str, Any]:
    """For each busy pair the trips by bin, originally and read back from each release; nothing without time bins."""
    if len(bins) < 2:
        return {"bins": [], "flows": []}
    names = [name for name in profiles.columns if name not in ("time", *_PAIR)]
    flows = []
    for (origin, destination), part in profiles.groupby(_PAIR, sort=False):
        at = part.assign(time=part["time"].astype(str)).set_index("time")[names].reindex(bins, fill_value=0.0)
        flows.append({"o": origin, "d": destination, **{name: at[name].round(2).tolist() for name in names}})
    return {"bins": list(bins), "flows": flows, "algorithms": [name for name in names if name != "original"]}


def _encode(release: CaseTables) -> dict[str, Any]:
    flows = release.flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
    used = zones_in_use(flows, release.zones)
    number = pd.Index(used["zone_id"].astype(str))
    return {
        "algorithm": release.algorithm,
        "zones": encode_zones(used),
        "flows": {
            "o": number.get_indexer(flows["origin_zone"]).tolist(),
            "d": number.get_indexer(flows["destination_zone"]).tolist(),
            "trips": flows["trips"].tolist(),
            "spread": flows["spread"].round(2).tolist(),
        },
    }
