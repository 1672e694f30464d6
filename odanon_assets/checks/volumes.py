"""Counts of a day: against its usual ones, shares against their limits, and whether nothing is lost between stages."""

from collections.abc import Callable
from datetime import date

from odanon.checking import Verdict
from odanon.product import Product
from odanon.risk.telling import coarse_share, told_reasons
from odanon_assets.checks.check import Run
from odanon_assets.checks.history import usual
from odanon_assets.gate.evidence import ROWS
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAYS, WINDOW, rows_stage


def volume(stage: str, figure: str) -> Run:
    """A count against the same weekday of the trailing weeks."""
    return against_usual(stage, figure, lambda product: product.checks.max_change)


def against_usual(stage: str, figure: str, limit_of: Callable[[Product], float]) -> Run:
    """A figure against the median of the days before.

    By how much it changed stays unsaid: a percentage of a count that is about known tells one person's trips (PRIVACY rule 23).
    """

    def run(product: Product, lake: Lake, day: date) -> Verdict:
        value = lake.figures(product.product, stage, day).get(figure)
        before = usual(product, lake, day, stage, figure)
        if value is None or before is None:
            return Verdict(True, "not enough earlier days to compare with")
        change, limit = (value - before) / before if before else float(value != before), limit_of(product)
        if abs(change) <= limit:
            return Verdict(True, f"{figure} is within {limit:.0%} of the median of the days before")
        way = "above" if change > 0 else "below"
        return Verdict(False, f"{figure} lies more than {limit:.0%} {way} the median of the days before")

    return run


def within_limit(stage: str, figure: str, behind: str, words: str, limit: str) -> Run:
    """A share against a limit of the product file; `behind` is the figure that counts who or what is behind it."""

    def run(product: Product, lake: Lake, day: date) -> Verdict:
        figures, most = lake.figures(product.product, stage, day), getattr(product.checks, limit)
        told = coarse_share(figures[figure], figures.get(behind, 0), product.anonymize.promise.k)
        if figures[figure] <= most:
            return Verdict(True, f"about {told:.1%} of {words}; the limit is {most:.1%}", {"share": told})
        why = told_reasons(figures, product.anonymize.promise.k)
        return Verdict(False, f"more of {words} than checks.{limit} = {most:.1%} allows{why}", {"share": told})

    return run


def rows_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    """Every row that was read is kept or counted by why it is not."""
    seen = lake.figures(product.product, "traces", day)
    parts = sum(seen[name] for name in ("points", "quarantined", "duplicates", "outside_window"))
    missing = seen["points_read"] - parts
    return Verdict(missing == 0, "kept + quarantined + duplicates + outside the window = read" + _off(missing))


def trips_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    """Every trip is in the matrix or counted by why it is not."""
    if product.source.instance.enters == "od":
        return Verdict(True, "the source gives OD rows; there are no trips before them")
    trips, od = (lake.figures(product.product, stage, day) for stage in ("trips", "od"))
    unknown = round(od["unknown_zone_share"] * trips["trips"])
    dropped = od["intrazonal_dropped"] + od.get("missing_zone_dropped", 0)
    missing = trips["trips"] - od["od_trips"] - unknown - dropped
    return Verdict(missing == 0, "trips in the matrix + unknown zones + dropped as asked = trips" + _off(missing))


def volumes_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    """Every trip of the matrix is in a flow or suppressed."""
    assigned = read_frame(lake.read(product.product, "anonymized", day) / "assignment.parquet", ["trips"])
    missing = lake.figures(product.product, rows_stage(product), day)["od_trips"] - int(assigned["trips"].sum())
    return Verdict(missing == 0, "published + suppressed = trips of the matrix" + _off(missing))


def days_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    """Every trip of the days of a window is in the window, and counts once."""
    made = lake.days_of(product.product, day)
    trips = sum(lake.figures(product.product, DAYS, each)["od_trips"] for each in made)
    missing = trips - int(read_frame(lake.read(product.product, WINDOW, day) / ROWS, ["trips"])["trips"].sum())
    return Verdict(missing == 0, "trips of the days = trips of the window" + _off(missing))


def covers(product: Product, lake: Lake, day: date) -> Verdict:
    """Every tile of the matrix has a place in the hierarchy."""
    matrix, tree = (lake.figures(product.product, stage, day)["tiles"] for stage in (rows_stage(product), "hierarchy"))
    return Verdict(matrix <= tree, "the hierarchy has at least as many tiles as the matrix uses")


def _off(missing: int) -> str:
    return "" if missing == 0 else " does not hold; a stage loses or invents rows"
