"""Data that comes for a day after it was published: counted, not published (PRIVACY rule 11)."""

from datetime import date

from odanon.checking import Verdict
from odanon.product import Product
from odanon.risk.bands import rounded_down
from odanon_assets.checks.check import Check
from odanon_assets.lake.lake import Lake


def _in_time(product: Product, lake: Lake, day: date) -> Verdict:
    return Verdict(True, "the day was open, or nothing came after it was published")


def late_verdict(points: int, k: int) -> Verdict:
    """Data that came for a published day, counted coarsely; numbers below k stay unsaid."""
    sentence = "the source changed after the day was published; what came is counted and not published"
    told = rounded_down(abs(points), k) * (1 if points > 0 else -1)
    return Verdict(False, sentence, {"late_points": told} if told else {})


LATE_DATA = Check("traces", "late_data", False, "Data for a published day is counted, not published.", _in_time)
