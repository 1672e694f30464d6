"""A figure declares itself once: manifest, UI, terminal, report, comparison and documentation read the declaration."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from odanon.errors import OdanonError, one_line

Kind = Literal["ratio", "count", "size", "fewest"]
Tells = Literal["no", "yes"]


@dataclass(frozen=True)
class Figure:
    """One number of a release or of a stage.

    `kind`: a `ratio` is told as it is; a `count` is of people or of their rows, told as a coarse multiple of k; a `size`
    counts neither (areas, flows); the `fewest` people behind a flow are told as the edge of their band.
    `tells_suppressed`: whether it depends on what is in no flow; then it is told with one digit, and never while what was
    left out is not known yet (`odanon.risk.telling`).
    """

    name: str  # under which it is computed
    label: str  # a few words, after the value: "tiles per trip"
    meaning: str  # one line for readers
    unit: str = ""  # such as tiles, m, km2; "share" is shown in per cent
    kind: Kind = "ratio"
    public: str | None = None  # its name in the manifest; None: restricted to the publisher
    tells_suppressed: Tells = "no"
    symbol: str = ""  # its heading on the page of a comparison; without one it is in the files only
    best: Literal["", "least", "most"] = ""  # which value a comparison marks
    headline: bool = False  # one of the few that people look at first

    def __post_init__(self) -> None:
        for part in (self.name, self.label, self.meaning, self.unit, self.public or "", self.symbol):
            if not part.isprintable():
                raise OdanonError(f"the figure {one_line(self.name)!r} is not declared in printable words of one line")

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
            return f"{100 * value:.3g} %"
        if abs(value) >= 1e7 and self.kind == "ratio":
            return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

    def in_a_line(self, value: float | str) -> str:
        """Value, label and meaning for a terminal; a band, such as 10-19, is told as it is."""
        shown = value if isinstance(value, str) else self.in_words(value)
        return f"{shown} {self.label} ({self.meaning})"

    @property
    def declaration(self) -> dict[str, Any]:
        """What a manifest says of it, so that whoever reads it alone knows what it means."""
        said = {"label": self.label, "meaning": self.meaning, "headline": self.headline}
        return {**said, "unit": self.unit} if self.unit else said


def figures_from_json(text: str) -> list[Figure]:
    """Declarations that were written down as a list of their fields."""
    return TypeAdapter(list[Figure]).validate_json(text)
