"""What a check is, and what it says of a day."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from odanon.product import Product
from odanon_assets.lake.lake import Lake


@dataclass(frozen=True)
class Verdict:
    """What a check found: one sentence without anything personal, and release-level figures."""

    passed: bool
    sentence: str
    figures: dict[str, float] = field(default_factory=dict)


Run = Callable[[Product, Lake, date], Verdict]


@dataclass(frozen=True)
class Check:
    """A check of one stage; a blocking one ends the day, any other warns."""

    stage: str
    name: str
    blocking: bool
    description: str
    run: Run
