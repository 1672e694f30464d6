"""What a check is, and what it says of a day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from odanon.checking import Verdict
from odanon.product import Product
from odanon_assets.lake.lake import Lake

Run = Callable[[Product, Lake, date], Verdict]


@dataclass(frozen=True)
class Check:
    """A check of one stage; a blocking one ends the day, any other warns."""

    stage: str
    name: str
    blocking: bool
    description: str
    run: Run
