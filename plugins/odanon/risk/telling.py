"""What may be told of a figure, in the manifest or on the platform's pages (PRIVACY rules 15 and 23)."""

from collections.abc import Mapping
from typing import Any

from odanon.model.figure import Figure
from odanon.risk.bands import coarse, lower_edge, rounded, rounded_down

_COARSE = 1  # digits of a count that tells how much was left out


def told(figure: Figure, value: float, k: int, left_out: int | None) -> float | None:
    """The value as it may be told, None if it may not.

    `left_out` is how many people are behind what is in no flow; None while nobody knows, and then nothing is told that
    depends on it. Of fewer than k the value has to be that of a world without their trips (`odanon.metrics.left_out`), so
    that few look like none. Ratios have few digits wherever they are told: all of them would show the trips between
    single tiles.
    """
    if value != value:
        return None
    tells = figure.tells_suppressed != "no"
    if tells and left_out is None:
        return None
    many = tells and left_out is not None and left_out >= k
    if figure.kind == "fewest":
        return lower_edge(value, k)
    if figure.kind == "count":
        return rounded_down(int(value), k, _COARSE) if many else rounded_down(int(value), k)
    if many:
        return coarse(value)
    return value if figure.kind == "size" else rounded(value)


def coarse_share(share: float, behind: int, k: int) -> float:
    """A share of what was left out with one digit; 0 when fewer than k people, or rows, are behind it."""
    return coarse(share) if behind >= k else 0.0


def told_reasons(figures: Mapping[str, Any], k: int) -> str:
    """Why rows were put into quarantine, the most frequent reason first; none that fewer than k rows have, and no count."""
    known = sorted((-count, reason) for reason, count in figures.get("reasons", {}).items() if count >= k)
    return f" (mostly {', '.join(reason for _, reason in known)})" if known else ""
