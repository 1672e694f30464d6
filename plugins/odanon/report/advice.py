"""The page of an advice: every setting that was tried, in plots of what it costs and in one table."""

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

import pandas as pd

from odanon.model.figure import Figure
from odanon.report.page import asset, build_page, text

SCRIPTS = ("base.js", "lines.js", "advice.js")
_PARTS = {"window": "window", "bins": "time bins", "resolution": "resolution", "k": "k"}


def render_advice(title: str, tried: pd.DataFrame, figures: Sequence[Figure], facts: Mapping[str, str]) -> str:
    """A self-contained page; `tried` has one row for each setting (see `odanon.advise.runner.advice_table`)."""
    told = tried.assign(bins=tried["bin"] + " " + tried["time"], in_no_flow=_in_no_flow(tried))
    parts = {name: words for name, words in _PARTS.items() if told[name].notna().any()}
    legend = " ".join(f"{figure.symbol or figure.name}: {figure.label}, {figure.meaning}." for figure in figures)
    body = Template(asset("advice.html")).substitute(
        title=text(title),
        byline=text(facts["byline"]),
        summary=text(facts["summary"]),
        table=_table(told, parts, figures),
        legend=text(legend),
    )
    shown = ["label", "present", "edge", "kept", *parts, "in_no_flow", *(figure.name for figure in figures)]
    done = told.loc[told["status"] == "done", shown].astype(object)
    data = {"settings": done.where(done.notna(), None).to_dict("records"), "parts": parts}
    return build_page(title, body, data, SCRIPTS)


def _in_no_flow(tried: pd.DataFrame) -> pd.Series:
    """Share of the trips that are left out or told coarsely."""
    return tried["S_share"] + (1 - tried["S_share"]) * tried["coarse_share"]


def _table(tried: pd.DataFrame, parts: Mapping[str, str], figures: Sequence[Figure]) -> str:
    heads = [*parts.values(), *(figure.symbol or figure.label for figure in figures)]
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    rows = "".join(_row(row, parts, figures) for row in tried.to_dict("records"))
    return f'<div class="compared"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(row: Mapping[Any, Any], parts: Mapping[str, str], figures: Sequence[Figure]) -> str:
    named = "".join(f"<td>{text(row[name])}</td>" for name in parts)
    if row["status"] != "done":
        why = f"{row['status']}: {row['message']}"
        return f'<tr>{named}<td colspan="{len(figures)}" class="why">{text(why)}</td></tr>'
    cells = "".join(f"<td>{text(figure.in_words(row[figure.name]))}</td>" for figure in figures)
    marks = {"present": row["present"], "edge": row["edge"], "over": not row["kept"]}
    classes = " ".join(name for name, is_so in marks.items() if is_so)
    return f'<tr class="{classes}">{named}{cells}</tr>'
