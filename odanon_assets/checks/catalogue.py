"""What is checked after each stage of a day. The gate's own checks block; what only looks odd warns."""

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon_assets.checks.check import Check
from odanon_assets.checks.delivery import COMPLETE
from odanon_assets.checks.gate import auditor, budget, sealed, verifier
from odanon_assets.checks.late import LATE_DATA
from odanon_assets.checks.plugins import plugin_check
from odanon_assets.checks.tables import schema
from odanon_assets.checks.volumes import (
    against_usual,
    covers,
    days_add_up,
    rows_add_up,
    trips_add_up,
    volume,
    volumes_add_up,
    within_limit,
)

OF_THE_GATE = ("verifier", "auditor")  # checks that tell early what the gate is asked anyway
CHECKS = (
    Check("traces", "schema", True, "The points have the declared columns.", schema("traces")),
    Check("traces", "conservation", True, "Kept, quarantined, duplicate and outside rows add up.", rows_add_up),
    Check(
        "traces",
        "quarantine",
        True,
        "The share of bad rows stays below checks.max_quarantined.",
        within_limit("traces", "quarantined_share", "quarantined", "the input rows are bad", "max_quarantined"),
    ),
    COMPLETE,
    LATE_DATA,
    Check("traces", "volume", False, "Points against the trailing weeks.", volume("traces", "points")),
    Check("staypoints", "schema", True, "The stays have the declared columns.", schema("staypoints")),
    Check("staypoints", "volume", False, "Stays against the trailing weeks.", volume("staypoints", "staypoints")),
    Check("trips", "schema", True, "The trips have the declared columns.", schema("trips")),
    Check("trips", "volume", False, "Trips against the trailing weeks.", volume("trips", "trips")),
    Check("od", "schema", True, "The matrix has the declared columns.", schema("od")),
    Check("od", "conservation", True, "Trips in the matrix and those left out add up.", trips_add_up),
    Check(
        "od",
        "unknown_zones",
        True,
        "The share of trips outside the zoning stays below checks.max_unknown_zone.",
        within_limit(
            "od", "unknown_zone_share", "unknown_zone_people", "the trips lie outside the zoning", "max_unknown_zone"
        ),
    ),
    Check("od", "volume", False, "OD pairs against the trailing weeks.", volume("od", "od_pairs")),
    Check("hierarchy", "schema", True, "The tree has the declared columns.", schema("hierarchy")),
    Check("hierarchy", "coverage", True, "Every tile of the matrix has a place in the tree.", covers),
    Check("anonymized", "schema", True, "The flows have the declared columns.", schema("anonymized")),
    Check("anonymized", "conservation", True, "Published and suppressed trips add up to the matrix.", volumes_add_up),
    Check(
        "anonymized",
        "verifier",
        True,
        "Counts the people behind every flow again, from the rows before anonymisation, and checks that flows are "
        "disjoint and volumes add up. Shares no code with the anonymisers.",
        verifier,
    ),
    Check(
        "anonymized",
        "auditor",
        True,
        "Compares the release with every published one of the same people: no difference may isolate fewer than k.",
        auditor,
    ),
    Check("metrics", "suppression", False, "S, the suppressed share, stays within its budget.", budget),
    Check(
        "metrics",
        "drift_S",
        False,
        "The suppressed share against the trailing weeks.",
        against_usual("metrics", "S_share", lambda product: product.checks.max_drift),
    ),
    Check(
        "metrics",
        "drift_Gbar",
        False,
        "The mean generalisation error against the trailing weeks.",
        against_usual("metrics", "Gbar", lambda product: product.checks.max_drift),
    ),
    Check("published", "sealed", True, "The release in the store agrees with its sealed manifest.", sealed),
    Check("published", "volume", False, "Flows against the trailing weeks.", volume("published", "flows")),
)
OF_WINDOWS = (Check("window", "conservation", True, "Trips of the days and of their window add up.", days_add_up),)


def checks_of(product: Product) -> tuple[Check, ...]:
    """Our checks and those that the product's file adds."""
    added = tuple(plugin_check(choice) for choice in product.checks.plugins)
    ours = (*CHECKS, *(OF_WINDOWS if is_longer(product) else ()))
    stages = {check.stage for check in ours}
    for check in added:
        if check.stage not in stages:
            raise OdanonError(
                f"check {check.name} is of a stage {check.stage!r}; there are {', '.join(sorted(stages))}"
            )
        if any(
            (check.stage, check.name) == (other.stage, other.name) for other in (*ours, *added) if other is not check
        ):
            raise OdanonError(f"two checks of stage {check.stage} are called {check.name}; rename or remove one")
    return (*ours, *added)
