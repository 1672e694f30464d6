"""The pages of plugins and metrics: every installed plugin of ours with its parameters, and what metrics compute."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from marks import code, page, plain_type, table

from odanon import registry
from odanon.metrics.declared import figures_of
from odanon.registry import Plugin

_HEAD = ("parameter", "type", "default", "meaning")
_STAGES = {
    "source": "Sources: where data come from",
    "staypoints": "Stay-point detectors",
    "zoning": "Zonings: the tiles",
    "hierarchy": "Hierarchies: how tiles may be joined",
    "anonymize": "Anonymisers",
    "metrics": "Metrics",
    "checks": "Checks",
    "store": "Stores",
    "engine": "Engines",
    "notify": "Notifiers",
    "calibrate": "Calibrators of demand",
    "place": "Placers of demand",
}
_PLUGINS = """Every plugin that comes with odanon, as `odanon plugins` lists it. A product file names one with its parameters beside it:
`zoning: {plugin: h3, resolution: 8}`. Writing one: [plugins](../plugins/README.md)."""
_METRICS = """What the metrics compute. `v` is the measure (trips, persons or weight), V its sum over the input, V+ its sum over the flows, `r` what a pair of tiles
gets when every flow is spread back over its tiles; [algorithms](../algorithms.md#metrics) has the rest. Which figures are public: [figures](../figures.md)."""


def plugins_page() -> str:
    """One section a stage, one below it a plugin."""
    stages = [(title, list(_ours(stage))) for stage, title in _STAGES.items()]
    return page(
        "Plugins and their parameters",
        _PLUGINS,
        *(part for title, found in stages if found for part in (f"## {title}", *map(_described, found))),
    )


def metrics_page(docs: Path) -> str:
    """One section a metric, with the formulas of the page of algorithms."""
    formulas = _formulas((docs / "algorithms.md").read_text())
    return page("Metrics and their formulas", _METRICS, *(_metric(found, formulas) for found in _ours("metrics")))


def _ours(stage: str) -> Iterator[Plugin]:
    for found in registry.installed(stage):
        if isinstance(found, Plugin) and registry.is_ours(stage, found.name):
            yield found


def _described(found: Plugin) -> str:
    parts = [f"### {found.stage}: {found.name}", inspect.cleandoc(found.cls.__doc__ or "")]
    limits = found.cls.limits() if hasattr(found.cls, "limits") else {}
    for verb, wanted in (("Keeps", True), ("Refuses", False)):
        if named := [code(name) for name, kept in limits.items() if kept is wanted]:
            parts.append(f"{verb}: {', '.join(named)}.")
    return "\n\n".join([*parts, _parameters(found)]).rstrip()


def _parameters(found: Plugin) -> str:
    rows = (
        (code(each.name), plain_type(each.type), _default(each.default), each.description) for each in found.parameters
    )
    return table(_HEAD, rows)


def _default(told: str) -> str:
    value = told.removeprefix("default ")
    return value if value == "required" else "" if value == "None" else code(value)


def _formulas(text: str) -> dict[str, str]:
    """Figure -> formula, from the table of metrics; one row may be about several figures."""
    section = text[text.index("\n## Metrics\n") : text.index("\n## Risk figures\n")]
    section = section.replace("](#", "](../algorithms.md#")
    rows = re.findall(r"^\| (?:`\w+` )?\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return {_kind(name): formula for figures, formula in rows for name in re.findall(r"`(\w+)`", figures)}


def _kind(figure: str) -> str:
    """Figures that differ in a number alone share a formula."""
    return re.sub(r"\d+", "n", figure)


def _metric(found: Plugin, formulas: dict[str, str]) -> str:
    rows = (
        (code(figure.name), figure.label, figure.meaning, figure.unit, formulas[_kind(figure.name)])
        for figure in figures_of(found.create({}))
    )
    head = ("figure", "label", "meaning", "unit", "formula")
    return "\n\n".join([f"## {found.name}", found.summary, table(head, rows), _parameters(found)]).rstrip()
