"""The tables of the comparison page as HTML: all runs, people behind the flows, whom a release protects."""

from html import escape
from itertools import pairwise
from math import isclose
from typing import Any

import pandas as pd

from odanon.metrics.declared import every_figure
from odanon.metrics.sizes import STEPS
from odanon.model.figure import Figure
from odanon.report.page import in_words, text

PASSED = "passed"  # what the verifier said of a release
PUBLISHED_NOTHING = "published nothing"  # of a release without a flow
_MOST_ROWS = 300  # of one table; the files beside the page have all
_FIRST = ("S_share", "coarse_share", "E", "Gbar")  # what tells algorithms apart before all else
_NESTED = ("areas_error", "E_fitted", "E_prior")  # figures of areas that nest
_COSTS = {"flows": "flows", "cpu_s": "CPU s", "peak_mb": "peak MB"}
_VIEWS = (("", "in trips"), ("_persons", "in people"), ("_population", "for the population, by weights"))
_COSTS_LEGEND = (
    "Sizes of areas are those of flows: beside them stand the trips that are in none, left out or told coarsely; losses and errors count these as well."
    " The best of each k within the budget that the verifier passed is marked; of trips left out none is where some are told coarsely instead. CPU seconds are those of the algorithm alone, peak memory that of its"
    " process."
)


def runs_tables(compared: pd.DataFrame) -> str:
    """All runs measured in trips and, folded away, in people and by weights where the input has them."""
    parts, headed = [], compared_figures()
    for suffix, words in _VIEWS:
        mine = [figure for figure in headed if _view_of(figure) == suffix and _known(compared, figure.name)]
        if suffix and not mine:
            continue  # of trips there is a table in any case: it says why runs have no figures
        shape = {} if suffix else {"shape": "origins × destinations"}
        table = _runs(compared, mine, {**shape, **({} if suffix else _COSTS)})
        opened = " open" if suffix != "_persons" else ""
        parts.append(f"<details{opened}><summary>Measured {words}</summary>{table}</details>")
    meanings = "".join(
        f"<li>{text(f'{figure.symbol}: {figure.label}, {figure.meaning}.')}</li>"
        for figure in headed
        if not _view_of(figure)
    )
    legend = f'<ul class="notes">{meanings}</ul><p class="note">{text(_COSTS_LEGEND)}</p>'
    return f"{_dashes(compared)}{''.join(parts)}<details><summary>What the columns mean</summary>{legend}</details>"


def _dashes(compared: pd.DataFrame) -> str:
    """Why runs lack figures that others have."""
    done = compared[(compared["status"] == "done") & ~empty_handed(compared)]
    nested = [name for name in done if name.startswith(_NESTED) and done[name].notna().any()]
    apart = pd.unique(done.loc[done[nested].isna().any(axis="columns"), "algorithm"])
    noisy = pd.unique(done.loc[done["verifier"] != PASSED, "algorithm"])
    why = []
    if len(apart):
        why.append(
            "Errors on areas and fitted readings have a dash where areas overlap without nesting, or fitted rows span several time bins:"
            f" {', '.join(apart)}."
        )
    if len(noisy):
        why.append(f"What is left out has one where noise adds and removes trips: {', '.join(noisy)}.")
    return f'<p class="note">{text(" ".join(why))}</p>' if why else ""


def compared_figures() -> list[Figure]:
    """Figures with a symbol, in the order in which a comparison tells them."""
    headed = [figure for figure in every_figure().values() if figure.symbol]
    rank = {f"{name}{suffix}": at for suffix, _ in _VIEWS for at, name in enumerate(_FIRST)}
    return sorted(headed, key=lambda figure: rank.get(figure.name, len(_FIRST)))


def as_told(compared: pd.DataFrame) -> pd.DataFrame:
    """The table as people read it: noise adds and removes trips, so its share of them is none; who published nothing is told so."""
    noisy = (compared["status"] == "done") & (compared["verifier"] != PASSED)
    told = compared.assign(**{name: compared[name].mask(noisy) for name in compared if name.startswith("S_share")})
    return told.assign(status=told["status"].mask(empty_handed(told), PUBLISHED_NOTHING))


def empty_handed(compared: pd.DataFrame) -> pd.Series:
    """Which runs are done, and published no flow."""
    flows = compared.get("flows", pd.Series(float("nan"), compared.index))  # unknown where no run is done
    return (compared["status"] == "done") & (flows == 0)


def _view_of(figure: Figure) -> str:
    """What it sums, as the ending of its name."""
    return next((suffix for suffix, _ in _VIEWS if suffix and figure.name.endswith(suffix)), "")


def _runs(compared: pd.DataFrame, figures: list[Figure], others: dict[str, str]) -> str:
    columns = [*(figure.name for figure in figures), *others]
    named = "".join(f"<th>{text(head)}</th>" for head in ("algorithm", "k"))
    heads = named + "".join(map(_head, figures)) + "".join(f"<th>{text(head)}</th>" for head in others.values())
    declared = every_figure()
    rows: list[str] = []
    for k, group in as_told(compared).groupby("k", sort=True):
        if len(rows) >= _MOST_ROWS:
            break
        left_out = group.get("S_share", pd.Series(float("nan"), group.index))  # unknown where no run is done
        within = group[
            left_out.between(0, group["suppression"]) & (group["verifier"] == PASSED) & (group["status"] == "done")
        ]
        best = {f.name: within[f.name].agg("min" if f.best == "least" else "max") for f in figures if _wins(f, within)}
        for at, row in enumerate(group.to_dict("records")):
            start = f"<td>{_named(row)}</td><td>{text(k)}</td>"
            if row["status"] != "done":
                cells = f'<td colspan="{len(columns)}" class="why">{text(_why(row))}</td>'
            else:
                cells = "".join(
                    f"<td{_class('best', _is_best(name, row, best))}>{text(_figure(name, row, declared))}</td>"
                    for name in columns
                )
            rows.append(f"<tr{_class('first', at == 0)}>{start}{cells}</tr>")
    shown = _first_rows(rows, len(compared), 2 + len(columns), "comparison.csv")
    return f'<div class="compared"><table><thead><tr>{heads}</tr></thead><tbody>{shown}</tbody></table></div>'


def _head(figure: Figure) -> str:
    """A symbol, and what it stands for in words."""
    return f'<th title="{escape(figure.meaning)}">{text(figure.symbol)}<small>{text(figure.label)}</small></th>'


def _wins(figure: Figure, within: pd.DataFrame) -> bool:
    """Whether the best value is marked: leaving little out is none where trips are told coarsely instead."""
    coarse = figure.name.replace("S_share", "coarse_share")
    instead = figure.name.startswith("S_share") and coarse in within and (within[coarse] > 0).any()
    return bool(figure.best) and not instead


def _named(row: dict[str, Any]) -> str:
    """The algorithm, marked where nobody could count its flows again."""
    unsure = row["status"] in ("done", PUBLISHED_NOTHING) and row["verifier"] != PASSED
    return text(row["algorithm"]) + (' <strong class="unsafe">not verified</strong>' if unsure else "")


def _is_best(name: str, row: dict[str, Any], best: dict[str, float]) -> bool:
    """Sums of weights that differ in their last digits are equal."""
    known = name in best and pd.notna(row[name]) and row["verifier"] == PASSED
    return known and isclose(row[name], best[name], rel_tol=1e-9, abs_tol=1e-12)


def people_table(compared: pd.DataFrame) -> str:
    """Share of the flows by people (or trips, where people are not known) behind them, in multiples of k."""
    done = compared[(compared["status"] == "done") & ~empty_handed(compared)]
    known = "persons" if len(done) and done["persons_x1"].notna().any() else "trips"
    least = "min_persons" if known == "persons" else "min_trips"
    ends = (
        *(f"{a}k to {b}k" if a else "below k" for a, b in pairwise(STEPS)),
        f"from {STEPS[-1]}k",
    )
    heads = "".join(
        f"<th>{text(head)}</th>" for head in ("algorithm", f"fewest {known}", *ends, "flows", "density of the matrix")
    )
    rows = []
    for row in done.to_dict("records"):
        counts = [row[f"{known}_x{step}"] for step in STEPS]
        if pd.isna(counts).any():
            continue
        shares = "".join(_bar(count / max(sum(counts), 1)) for count in counts)
        density = f"{row['density']:.2%}" if pd.notna(row["density"]) else "–"
        ending = f"<td>{text(in_words(row['flows']))}</td><td>{text(density)}</td>"
        rows.append(f"<tr><td>{_named(row)}</td><td>{text(in_words(row[least]))}</td>{shares}{ending}</tr>")
    return f'<div class="compared"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _bar(share: float) -> str:
    percent = f"{100 * share:.{1 if 0 < share < 0.0995 else 0}f} %" if share else "–"
    return f'<td class="share" style="--share:{share:.4f}">{percent}</td>'


def cross_section(compared: pd.DataFrame) -> str:
    """Protect X, measured on Y: least k, cells below, shape and metrics on both views; nothing without such cases."""
    if not (compared["protect"] != "").any():
        return ""
    names, figures = (
        ("segment", "algorithm", "protect", "by", "areas", "measured on", "least", "cells below"),
        _crossed(compared),
    )
    heads = "".join(f"<th>{text(head)}</th>" for head in names) + "".join(map(_head, figures))
    declared = every_figure()
    rows: list[str] = []
    for _, group in as_told(compared.head(_MOST_ROWS)).groupby(["segment", "k", "algorithm"], sort=False):
        for at, row in enumerate(group.to_dict("records")):
            rows.append(_cross_rows(row, figures, declared, first=at == 0))
    shown = _first_rows(rows, len(compared), len(names) + len(figures), "cross.csv")
    return (
        '<section aria-labelledby="cross-title"><h2 id="cross-title">Protect one, measured on the other</h2>'
        '<p class="note">Participants are protected by k different people in every cell; the population by k people who'
        " also stand for k times the mean weight. The papers' single thresholds, k trips or the weight alone, stand beside"
        ' for comparison: they are <strong class="unsafe">unsafe</strong>, no release of them was written and none may be'
        " published. Areas: origins × destinations. Least: the fewest people, or the least weight, in a cell; cells below: under that threshold.</p>"
        f'<div class="compared cross"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{shown}</tbody></table></div></section>"
    )


def _cross_rows(row: dict[str, Any], figures: list[Figure], declared: dict[str, Figure], *, first: bool) -> str:
    """Two rows of one case: measured on participants and on the population."""
    k, weight = in_words(row["k"]), in_words(row["k_population"])
    promise, safe = {
        "persons": (f"{k} people", True),
        "population": (f"{k} people, weight {weight}", True),
        "trips": (f"{k} trips", False),
    }.get(row["unit"], (f"weight {weight}", False))
    mark = "" if safe else ' <strong class="unsafe">unsafe</strong>'
    done = row["status"] == "done"
    span = ' rowspan="2"' if done else ""
    named = "".join(f"<td{span}>{text(row[name])}</td>" for name in ("segment", "algorithm", "protect"))
    start = f"{named}<td{span}>{text(promise)}{mark}</td>"
    if not done:
        return f'<tr{_class("first", first)}>{start}<td colspan="{4 + len(figures)}" class="why">{text(_why(row))}</td></tr>'
    start += f"<td{span}>{text(_figure('shape', row, declared))}</td>"
    views = []
    for view, suffix, least in (("participants", "", "min_persons"), ("population", "_population", "min_weight")):
        below = f"cells_below{suffix}"
        cells = [f'<td class="view">{view}</td><td>{text(_figure(least, row, declared))}</td>']
        cells.append(f"<td{_class('unsafe', row[below] > 0)}>{text(_figure(below, row, declared))}</td>")
        cells += [f"<td>{text(_figure(f'{figure.name}{suffix}', row, declared))}</td>" for figure in figures]
        views.append("".join(cells))
    return f"<tr{_class('first', first)}>{start}{views[0]}</tr><tr>{views[1]}</tr>"


def _crossed(compared: pd.DataFrame) -> list[Figure]:
    """The figures that are measured on both views."""
    headed = [figure for figure in compared_figures() if not _view_of(figure)]
    return [figure for figure in headed if _known(compared, f"{figure.name}_population")]


def _first_rows(rows: list[str], there: int, columns: int, file: str) -> str:
    """As many rows as somebody may look through, and where the others are."""
    more = there - min(len(rows), _MOST_ROWS)
    told = f'<tr><td colspan="{columns}" class="why">{more:,} more in {file}</td></tr>' if more else ""
    return "".join(rows[:_MOST_ROWS]) + told


def _why(row: dict[str, Any]) -> str:
    """Why a run has no figures; an empty cell of a table is no text, so it is not said."""
    return f"{row['status']}: {row['message']}" if pd.notna(row["message"]) else str(row["status"])


def _known(compared: pd.DataFrame, name: str) -> bool:
    return name in compared and bool(compared[name].notna().any())


def _class(name: str, wanted: bool) -> str:
    return f' class="{name}"' if wanted else ""


def _figure(name: str, row: dict[str, Any], declared: dict[str, Figure]) -> str:
    if name == "shape":
        return f"{row['origin_areas']:,.0f} × {row['destination_areas']:,.0f}"
    value = row.get(name, float("nan"))
    if pd.isna(value):
        return "–"
    known = declared.get(name)
    return in_words(float(value)) if known is None else known.in_words(float(value))
