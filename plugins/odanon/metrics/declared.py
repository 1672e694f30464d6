"""What installed metrics declare: every figure by name, and the metrics whose figures contradict another package."""

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odanon import registry
from odanon.model.figure import Figure
from odanon.risk.figures import FIGURES as RISKS

if TYPE_CHECKING:
    from odanon.protocols import Metric

_OURS = "odanon"
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
    figures: dict[str, Figure] = {}
    refused = refused_metrics()
    for plugin, told in _claims():
        if plugin.name not in refused:
            figures |= {figure.name: figure for figure in told}
    return figures


def refused_metrics() -> dict[str, str]:
    """By name, the metrics whose figures contradict those of another package, and why; ours are never refused."""
    claims = [(_OURS, "", figure) for figure in (*RISKS, *OF_TABLES)]
    claims += [(plugin.distribution, plugin.name, figure) for plugin, figures in _claims() for figure in figures]
    by_name: dict[tuple[str, str], list[tuple[str, str, Figure]]] = defaultdict(list)
    for claim in claims:
        by_name["name", claim[2].name].append(claim)
        if claim[2].public is not None:
            by_name["public name", claim[2].public].append(claim)
    refused: dict[str, str] = {}
    for (what, name), said in by_name.items():
        for owner, metric, figure in said:
            other = next((each for each, _, theirs in said if theirs != figure), None)
            if other is not None and owner != _OURS:
                refused.setdefault(
                    metric,
                    f"{owner} and {other} declare figures of the {what} {name!r} that differ; rename the one of {owner}",
                )
    return refused


def _claims() -> "list[tuple[registry.Plugin, list[Figure]]]":
    """The figures of every installed metric; one that measures several things lists them in its class method `every`."""
    made = made_metrics(lambda cls: cls.every() if hasattr(cls, "every") else [cls()])
    return [(plugin, [figure for metric in metrics for figure in metric.figures]) for plugin, metrics in made]


def made_metrics(
    make: Callable[[Any], "list[Metric]"], complain: Callable[..., None] | None = None
) -> "list[tuple[registry.Plugin, list[Metric]]]":
    """The metrics that every installed class makes; a class that fails is passed over and named to who wants to know."""
    found: list[tuple[registry.Plugin, list[Metric]]] = []
    for name in registry.names("metrics"):
        try:
            plugin = registry.find("metrics", name)
            found.append((plugin, make(plugin.cls)))
        except Exception as error:
            if complain is not None:
                complain("the metric %s is left out: %s", name, type(error).__name__)
    return found
