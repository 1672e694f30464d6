"""The page of a demand: calibration by time step, fit to matrices and census, trip lengths, and where people do what."""

from collections.abc import Sequence
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.geo.crs import local_crs, to_metres
from odanon.model.figure import Figure
from odanon.report.demand_tables import SHARES, DemandTables
from odanon.report.encode import encode_zones
from odanon.report.page import MAP, asset, build_page, in_words, text

SCRIPTS = ("base.js", *MAP, "lines.js", "table.js", "demand.js")

FIGURES = (
    Figure("persons", "travellers", "copies of all agents, one person each", kind="size", headline=True),
    Figure("trips", "trips", "trips of all travellers on the day", kind="size", headline=True),
    Figure("trips_per_person", "trips per traveller", "trips divided by travellers", headline=True),
    Figure("stay_home", "stay at home", "travellers without a trip, divided by all", "share", headline=True),
    Figure("gap_before", "gap of time steps before", "half the sum over steps of |agents - matrices|, both as shares of their trips", "share", headline=True),
    Figure("gap_after", "gap of time steps after", "the same of the calibrated agents: trips that would have to be in another step", "share", headline=True),
    Figure("gap_whole", "gap of time steps as written", "the same of whole people, after rounding", "share", headline=True),
    Figure("gap_profiles", "gap of profiles", "half the sum over profiles of |agents - census|, both as shares of their people", "share", headline=True),
    Figure("r2", "R²", "1 - sum of (agents - matrices)² / sum of (matrices - their mean)², over pairs of zones and steps, as shares of the step", headline=True),
    Figure("kl", "divergence (KL)", "mean over steps of the sum of agents x ln(agents / matrices), 1e-30 where matrices have 0", headline=True),
    Figure("kl_common", "divergence where both are", "the same over the pairs of zones that both have"),
    Figure("unseen", "on pairs that matrices lack", "trips of agents between zones without a trip in the matrices of the day, divided by all", "share", headline=True),
    Figure("static_od", "within a zone, matrices", "trips whose origin is their destination, divided by all", "share", headline=True),
    Figure("static_agents", "within a zone, agents", "trips whose origin is their destination, divided by all", "share", headline=True),
    Figure("error_steps", "squared gap of steps", "mean over steps of (agents - matrices)², as shares"),
    Figure("error_profiles", "squared gap of profiles", "mean over profiles of (agents - census)², in people"),
    Figure("lost", "lost to rounding", "sum of (1 - c) over agents whose coefficient c is below 1, divided by agents", "share"),
    Figure("sd", "spread of coefficients", "standard deviation of the coefficients of agents"),
    Figure("gini", "inequality of coefficients", "Gini: 1 - twice the area under the Lorenz curve of coefficients"),
)  # fmt: skip

_A_DECADE = 8  # classes of a logarithmic axis, in which pairs are counted


def demand_page(title: str, byline: str, licence: str, tables: DemandTables) -> str:
    """A self-contained page; `licence` is what the survey's licence asks to be said."""
    figures = tables.figures
    known = [figure for figure in FIGURES if figure.name in figures]
    body = Template(asset("demand.html")).substitute(
        title=text(title),
        byline=text(byline),
        licence=text(licence),
        persons=text(in_words(int(figures["persons"]))),
        trips=text(in_words(int(figures["trips"]))),
        cards="".join(_card(figure, figures[figure.name]) for figure in known if figure.headline),
        others="".join(_row(figure, figures[figure.name]) for figure in known if not figure.headline),
        shares=_shares_table(tables.steps, tables.shares),
    )
    return build_page(title, body, _data(tables), SCRIPTS)


def _card(figure: Figure, value: float) -> str:
    words = text(figure.in_words(value))
    return f"<li><strong>{words}</strong><span>{text(figure.label)}</span><small>{text(figure.meaning)}</small></li>"


def _row(figure: Figure, value: float) -> str:
    words = f"{text(figure.label)}: {text(figure.meaning)}"
    return f'<tr><td>{text(figure.in_words(value))}</td><th scope="row">{words}</th></tr>'


def _shares_table(steps: Sequence[str], shares: pd.DataFrame) -> str:
    head = "".join(f"<th>{text(name)}</th>" for name in ("from", *SHARES.values()))
    rows = (
        f"<tr><td>{text(step)}</td>{''.join(f'<td>{100 * value:.2f} %</td>' for value in row)}</tr>"
        for step, row in zip(steps, shares[list(SHARES)].to_numpy(), strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _data(tables: DemandTables) -> dict[str, Any]:
    return {
        "hours": _hours(tables.steps, tables.shares),
        "pairs": _classes(tables.pairs),
        "profiles": tables.profiles[["profile", "census", "agents"]].to_dict("list"),
        "lengths": {
            str(name): curve[["km", "passed"]].round(4).to_dict("list") for name, curve in tables.lengths.groupby("of")
        },
        **_places(tables.zones, tables.activities),
    }


def _hours(steps: Sequence[str], shares: pd.DataFrame) -> dict[str, Any]:
    """The middle of each step on the clock, and the shares by hour: steps are not of one length."""
    starts = np.array([int(clock[:-3]) + int(clock[-2:]) / 60 for clock in steps])
    long = np.diff(np.append(starts, starts[0] + 24))
    by_hour = {words: (shares[name].to_numpy() / long).round(5).tolist() for name, words in SHARES.items()}
    return {"steps": list(steps), "long": long.tolist(), "middle": (starts + long / 2).tolist(), "by_hour": by_hour}


def _classes(pairs: pd.DataFrame) -> dict[str, list[float]]:
    """How many pairs of zones have about so many of a million trips in matrices and among agents; pairs that one lacks stay out."""
    both = pairs[(pairs["od"] > 0) & (pairs["agents"] > 0)]
    classes = {name: np.floor(np.log10(1e6 * both[name]) * _A_DECADE).astype("int64") for name in ("od", "agents")}
    counted = pd.DataFrame(classes).value_counts(sort=False).sort_index().rename("pairs").reset_index()
    middle = {name: _digits(10 ** ((counted[name].to_numpy() + 0.5) / _A_DECADE)) for name in ("od", "agents")}
    return {**middle, "pairs": counted["pairs"].tolist()}


def _places(zones: pd.DataFrame, activities: pd.DataFrame) -> dict[str, Any]:
    """Zones with their outlines, where there are some, and the activities of each purpose in them, the most frequent first."""
    shapes = np.asarray(zones["geometry"], object) if "geometry" in zones else np.full(len(zones), None)
    placed = pd.DataFrame({"zone_id": zones["zone"].astype("str"), "geometry": shapes}).assign(level=0, n_tiles=1)
    named = activities.astype({"zone": "str", "purpose": "str"})
    counts = named.pivot_table(index="zone", columns="purpose", values="number", aggfunc="sum")
    counts = counts.reindex(zones["zone"].astype("str")).fillna(0).astype("int64")
    order = counts.sum().sort_values(ascending=False, kind="stable").index
    return {
        "zones": encode_zones(placed.assign(area_km2=_km2(zones, shapes))),
        "communes": zones["commune"].astype("str").tolist() if "commune" in zones else [],
        "counts": {str(purpose): counts[purpose].tolist() for purpose in order},
    }


def _km2(zones: pd.DataFrame, shapes: npt.NDArray[np.object_]) -> npt.NDArray[np.float64]:
    import shapely

    lat, lon = (zones[name].to_numpy("float64") for name in ("lat", "lon"))
    crs = local_crs(lat, lon)
    placed = shapely.transform(shapes, lambda p: np.column_stack(to_metres(p[:, 1], p[:, 0], crs)))
    return np.nan_to_num(shapely.area(placed)) / 1e6


def _digits(values: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
