"""A figure declares itself once: manifest, UI, terminal, report, comparison and documentation read the declaration."""

from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["ratio", "count", "size", "fewest"]
Tells = Literal["no", "summand", "yes"]


@dataclass(frozen=True)
class Figure:
    """One number of a release or of a stage.

    `kind`: a `ratio` is told as it is; a `count` is of people or of their rows, so that 1 to k-1 is never told; a `size`
    counts neither (areas, flows); the `fewest` people behind a flow are told as the edge of their band.
    `tells_suppressed`: whether fewer than k suppressed trips could be computed from it; of a `summand` the suppressed
    share can be taken out, any other is then not told at all.
    """

    name: str  # under which it is computed
    label: str  # a few words, after the value: "tiles per trip"
    meaning: str  # one line for readers
    unit: str = ""  # such as tiles, m, km2; "share" is shown in per cent
    kind: Kind = "ratio"
    public: str | None = None  # its name in the manifest; None: restricted to the publisher
    tells_suppressed: Tells = "no"
    symbol: str = ""  # its heading in comparisons; without one it is in their tables only
    headline: bool = False  # one of the few that people look at first

    def named(self, suffix: str) -> "Figure":
        """The same figure of another measure; only the one without a suffix is public."""
        if not suffix:
            return self
        return replace(self, name=f"{self.name}{suffix}", public=None, headline=False)

    def in_words(self, value: float) -> str:
        """The value as people read it."""
        if value != value:
            return "–"
        if self.unit == "share":
            return f"{100 * value:.3g} %".replace("-0 %", "0 %")
        if self.kind in ("count", "size", "fewest") and float(value).is_integer():
            return f"{value:,.0f}"
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
