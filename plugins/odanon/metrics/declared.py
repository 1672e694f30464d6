"""What installed metrics declare: every figure by name, whose it is, and the metrics that contradict another package."""

from collections import defaultdict
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING

from pydantic import ValidationError

from odanon import registry
from odanon.errors import OdanonError, pass_on
from odanon.model.figure import Figure
from odanon.offered import OURS
from odanon.risk.figures import FIGURES as RISKS

if TYPE_CHECKING:
    from odanon.protocols import Metric

Claims = list[tuple[registry.Plugin, tuple[Figure, ...]]]
# Figures of the public tables themselves.
OF_TABLES = (
    Figure(
        "trips_published",
        "trips published",
        "counted in some published flow",
        kind="size",
        public="trips_published",
        headline=True,
    ),
    Figure(
        "persons_min_band",
        "people, at the fewest",
        "behind the smallest published flow",
        public="persons_min_band",
        headline=True,
    ),
    Figure(
        "noise_variance",
        "variance of the noise",
        "in people, of every number of a perturbed release; the noise is 0 on average",
        public="noise_variance",
    ),
)


def every_figure() -> dict[str, Figure]:
    """What installed metrics can tell, by name; those that contradict another package are left out."""
    claims = _claims()
    refused = _contradictions(claims)
    return {figure.name: figure for plugin, told in claims if plugin.name not in refused for figure in told}


def refused_metrics() -> dict[str, str]:
    """By name, the metrics whose figures cannot be read or contradict those of another package, and why; never ours."""
    unreadable = {plugin.name: _read(plugin)[1] for plugin in _installed()}
    return {**{name: why for name, why in unreadable.items() if why}, **_contradictions(_claims())}


def contradiction(name: str, metric: "Metric") -> str:
    """Why an installed metric, as somebody set it up, contradicts another package; empty if it does not."""
    others = [claim for claim in _claims() if claim[0].name != name]
    return _contradictions([*others, (registry.find("metrics", name), figures_of(metric))]).get(name, "")


def figures_of(metric: "Metric") -> tuple[Figure, ...]:
    """What a metric declares. Another read may tell otherwise, so whoever judges by it keeps it."""
    try:
        told = tuple(metric.figures)
        plain = all(type(each) is Figure and {type(each.name), type(each.public)} <= {str, NoneType} for each in told)
    except BaseException as error:
        pass_on(error)
        plain = False
    if not plain:
        raise OdanonError(f"{type(metric).__name__} declares something that is no Figure; report it to its author")
    return told


def names_to_tell(metric: "Metric") -> list[str]:
    """The figures that are a metric's to tell: those it declares, less, for other packages, all that are ours."""
    ours = set() if is_ours(metric) else _our_names()
    return [figure.name for figure in figures_of(metric) if figure.name not in ours]


def is_ours(metric: "Metric") -> bool:
    """Whether odanon itself brings this class of metrics."""
    return any(plugin.cls is type(metric) for plugin in _installed() if plugin.distribution == OURS)


def _our_names() -> set[str]:
    measured = {figure.name for plugin, told in _claims() if plugin.distribution == OURS for figure in told}
    return measured | {figure.name for figure in (*RISKS, *OF_TABLES)}


def _contradictions(made: Claims) -> dict[str, str]:
    claims = [(OURS, "", figure) for figure in (*RISKS, *OF_TABLES)]
    claims += [(plugin.distribution, plugin.name, figure) for plugin, figures in made for figure in figures]
    by_name: dict[tuple[str, str], list[tuple[str, str, Figure]]] = defaultdict(list)
    for claim in claims:
        by_name["name", claim[2].name].append(claim)
        if claim[2].public is not None:
            by_name["public name", claim[2].public].append(claim)
    refused: dict[str, str] = {}
    for (what, name), said in by_name.items():
        for owner, metric, figure in said:
            other = next((each for each, _, theirs in said if theirs != figure), None)
            if other is not None and owner != OURS:
                refused.setdefault(
                    metric,
                    f"{owner} and {other} declare figures of the {what} {name!r} that differ; rename the one of {owner}",
                )
    return refused


def _claims() -> Claims:
    return [(plugin, _read(plugin)[0]) for plugin in _installed()]


def _installed() -> list[registry.Plugin]:
    return [registry.find("metrics", name) for name in registry.names("metrics")]


@cache  # a metric says once what it tells
def _read(plugin: registry.Plugin) -> tuple[tuple[Figure, ...], str]:
    """The figures of a metric, or why there are none; one that measures several things lists them in `every`.

    A metric with parameters that must be given tells its figures where a product names it.
    """
    try:
        made = plugin.cls.every() if hasattr(plugin.cls, "every") else [plugin.cls()]
        return tuple(figure for metric in made for figure in figures_of(metric)), ""
    except ValidationError:
        return (), ""
    except BaseException as error:
        pass_on(error)
        return (), f"its figures cannot be read ({type(error).__name__}); docs/plugins says how to declare them"
