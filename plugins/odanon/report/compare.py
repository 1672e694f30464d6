"""The comparison page: every run in one table, trade-off plots, and the areas of each algorithm side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import pandas as pd

from odanon.report.encode import encode_zones, zones_in_use
from odanon.report.page import asset, build_page, in_words, text

SCRIPTS = ("base.js", "flows.js", "map.js", "plots.js", "lines.js", "compare.js")

# Column of the tidy table, heading, and whether small values are good.
_COLUMNS = (
    ("Gbar", "Ḡ", True),
    ("E", "E", True),
    ("D", "D", True),
    ("S_share", "S", True),
    ("C_DM", "C_DM", True),
    ("C_AVG", "C_AVG", True),
    ("flows", "flows", None),
    ("origin_areas", "origins", None),
    ("destination_areas", "destinations", None),
    ("cpu_s", "CPU s", None),
    ("peak_mb", "peak MB", None),
)
_LEGEND = (
    "Ḡ: mean tiles per trip, origin plus destination (2 = nothing generalised). E: reconstruction loss per trip. D: distance "
    "between the distributions. S: share of trips left out. C_DM: discernibility. C_AVG: mean flow over k. The best of each k "
    "is marked. CPU seconds are those of the algorithm alone."
)


@dataclass(frozen=True)
class CaseTables:
    """The release of one case: flows (origin, destination, trips) summed over time, and its zones."""

    algorithm: str
    flows: pd.DataFrame
    zones: pd.DataFrame


def render_comparison(
    title: str, compared: pd.DataFrame, releases: Sequence[CaseTables], busiest: pd.DataFrame, facts: Mapping[str, Any]
) -> str:
    """A self-contained page.

    `compared` is the tidy table; `releases` are those of the k whose areas are drawn, `facts["map_k"]`; `busiest` has
    one row per tile pair: origin, destination, original and one column per algorithm.
    """
    body = Template(asset("compare.html")).substitute(
        title=text(title),
        byline=text(facts["byline"]),
        summary=text(facts["summary"]),
        map_k=text(facts["map_k"]),
        heads=_cells("th", ["algorithm", "k", "status", *(head for _, head, _ in _COLUMNS)]),
        rows=_rows(compared),
        legend=text(_LEGEND),
        busy_heads=_cells("th", [str(name) for name in busiest.columns]),
        busy_rows="".join(f"<tr>{_cells('td', [in_words(v) for v in row])}</tr>" for row in busiest.values.tolist()),
    )
    drawn = [release for release in releases if len(release.flows)]
    runs = compared[["algorithm", "k", "Gbar", "S_share", "cpu_s"]].astype(object).where(compared.notna(), None)
    data = {
        "runs": runs.to_dict("records"),
        "extent": _extent(drawn),
        "releases": [_encode(release) for release in drawn],
    }
    return build_page(title, body, data, SCRIPTS)


def _cells(tag: str, values: Sequence[str]) -> str:
    return "".join(f"<{tag}>{text(value)}</{tag}>" for value in values)


def _rows(compared: pd.DataFrame) -> str:
    rows = []
    for k, group in compared.groupby("k", sort=True):
        best = {name: group[name].min() for name, _, lower in _COLUMNS if lower}
        for row in group.to_dict("records"):
            cells = [f"<td>{text(row['algorithm'])}</td>", f"<td>{text(k)}</td>", f"<td>{text(row['status'])}</td>"]
            for name, _, _ in _COLUMNS:
                mark = ' class="best"' if name in best and row[name] == best[name] else ""
                cells.append(f"<td{mark}>{text(_figure(name, row[name]))}</td>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
    return "".join(rows)


def _figure(name: str, value: float) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.1%}" if name == "S_share" else in_words(float(value))


def _extent(releases: Sequence[CaseTables]) -> list[float] | None:
    """West, south, east, north of all zones: the plane that the maps share."""
    if not releases:
        return None
    bounds = pd.DataFrame([release.zones.total_bounds for release in releases])
    return [*bounds[[0, 1]].min().tolist(), *bounds[[2, 3]].max().tolist()]


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
        },
    }
