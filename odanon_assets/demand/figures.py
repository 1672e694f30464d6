"""What the platform tells of travellers: each figure says where it stands in `evaluation.json`."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from odanon.model.figure import Figure

_SHARE = "share"
# By part; none is of people of the operator: matrices are published, and everybody else is of a census or a survey.
_FIGURES: dict[str, dict[tuple[str, ...], Figure]] = {
    "demand_agents": {
        ("inputs", "census", "agents"): Figure("agents", "agents", "people of the census", kind="size"),
        ("inputs", "od", "trips"): Figure("trips", "trips of a typical day", "published, in the zones", kind="size"),
        ("inputs", "od", "published", "share outside the zones"): Figure(
            "outside", "outside the zones", "of the published trips", _SHARE
        ),
        ("inputs", "od", "published", "share of rows beyond steps"): Figure(
            "shared_out", "shared out by duration", "trips of rows that reach beyond a step", _SHARE
        ),
        ("matching", "donors"): Figure("donors", "donors", "respondents whose day may be given to agents", kind="size"),
        ("calibration", "largest gap"): Figure("largest_gap", "largest gap", "of a margin after calibration"),
        ("calibration", "error_steps"): Figure("error_steps", "error of steps", "mean squared gap of shares of trips"),
        ("calibration", "lost"): Figure("lost_share", "lost", "agents that rounding is expected to lose", _SHARE),
        ("calibration", "gini"): Figure("gini", "Gini of coefficients", "how unequally agents count"),
    },
    "demand_places": {
        ("places", "travellers"): Figure("travellers", "travellers", "copies of agents that were placed", kind="size"),
    },
    "demand_metrics": {
        ("places", "trips"): Figure("trips_made", "trips", "of all travellers", kind="size"),
        ("places", "od fit", "r2"): Figure("od_r2", "R2", "fit of trips by pair and step to the published ones"),
        ("places", "od fit", "kl"): Figure("od_kl", "KL", "divergence from the published trips, mean over steps"),
        ("places", "od fit", "kl_common"): Figure("od_kl_common", "KL", "the same over pairs that both have"),
        ("places", "trip length_m", "largest gap"): Figure(
            "length_gap", "gap of trip lengths", "largest between the two distributions"
        ),
        ("commute", "fit", "r2"): Figure("commute_r2", "R2 of commuters", "fit by commune to the table of commuters"),
        ("commute", "fit", "kl"): Figure("commute_kl", "KL of commuters", "divergence by commune"),
    },
}


def figures_of(part: str, told: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a part by name, as far as `evaluation.json` has them: a fit to one pair of zones is no number."""
    found = {figure.name: _at(told, place) for place, figure in _FIGURES[part].items()}
    told = {name: value for name, value in found.items() if isinstance(value, int | float) and isfinite(value)}
    return {name: float(f"{value:.6g}") for name, value in told.items()}


def meanings(part: str) -> list[str]:
    """What the figures of a part mean, a line each."""
    return [f"`{figure.name}`: {figure.label}, {figure.meaning}" for figure in _FIGURES[part].values()]


def _at(told: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        told = told.get(key) if isinstance(told, Mapping) else None
    return told
