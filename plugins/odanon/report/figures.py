"""The figures of releases as a page of the documentation, from their declarations."""

from collections.abc import Iterable

from odanon.metrics.declared import every_figure
from odanon.metrics.volumes import SUFFIX
from odanon.model.figure import Figure
from odanon.risk.figures import FIGURES as RISKS

_HEAD = """# Figures

Written by `make schema` from what metrics and the risk report declare. *In the manifest* is the name that readers see; figures
without one are for the publisher alone. A figure that tells what was suppressed has one digit, and while fewer than k people are behind that, it is told as if
nothing had been. Most figures exist in three
measures: of trips (as listed), of people (`{persons}`) and of the population, by weights (`{weight}`).
"""
_COLUMNS = "| name | label | meaning | unit | kind | in the manifest | tells suppressed |"


def figures_page() -> str:
    """Markdown: one row a figure."""
    known = every_figure()
    suffixes = [suffix for suffix in SUFFIX.values() if suffix]
    plain = [
        f for f in known.values() if not any(f.name.removesuffix(s) in known for s in suffixes if f.name.endswith(s))
    ]
    parts = [_HEAD.format(**SUFFIX), "## Metrics\n", _table(plain), "\n## Risk that remains\n", _table(RISKS)]
    return "\n".join(parts) + "\n"


def _table(figures: Iterable[Figure]) -> str:
    return "\n".join([_COLUMNS, "|---" * 7 + "|", *map(_row, figures)])


def _row(figure: Figure) -> str:
    public = f"`{figure.public}`" if figure.public else ""
    tells = "" if figure.tells_suppressed == "no" else "yes"
    cells = (f"`{figure.name}`", figure.label, figure.meaning, figure.unit, figure.kind, public, tells)
    return f"| {' | '.join(cells)} |"
