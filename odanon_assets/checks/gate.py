"""What the gate will say of a day, made visible before it is asked; and whether what was published still holds.

The publishing stage refuses by itself, whoever launches it; these checks make the same visible, early and per day.
"""

from datetime import date

from odanon.checking import Verdict
from odanon.gate.verifier import Finding
from odanon.product import Product
from odanon.risk.telling import coarse_share
from odanon_assets.gate.auditing import audit_day
from odanon_assets.gate.decision import promise_kept
from odanon_assets.gate.facts import other_origin
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.choice import open_store


def verifier(product: Product, lake: Lake, day: date) -> Verdict:
    """What the verifier finds in the day, held against the promise of the product's file."""
    findings = promise_kept(product, lake, day) or other_origin(product, lake, day) or verify_day(product, lake, day)
    return _of_findings(findings, "every flow keeps its promise")


def auditor(product: Product, lake: Lake, day: date) -> Verdict:
    """What the auditor finds in the day beside all releases of the same people."""
    return _of_findings(
        audit_day(product, lake, day, open_store(product)), "no difference of releases isolates anybody"
    )


def _of_findings(findings: list[Finding], well: str) -> Verdict:
    return Verdict(
        not findings, "; ".join(map(str, findings)) or well, {finding.rule: finding.count for finding in findings}
    )


def budget(product: Product, lake: Lake, day: date) -> Verdict:
    """The suppressed share against the budget of the promise."""
    figures = lake.figures(product.product, "metrics", day)  # in which few people look like none
    share, told = (
        figures["S_share"],
        coarse_share(figures["S_share"], figures.get("left_out_people", 0), product.anonymize.promise.k),
    )
    most = getattr(product.anonymize.instance, "suppression", 1.0)
    return Verdict(
        share <= most + 1e-9,
        f"about {told:.0%} of the trips are suppressed; the budget is {most:.0%}",
        {"S": told},
    )


def sealed(product: Product, lake: Lake, day: date) -> Verdict:
    """The release in the store against its manifest."""
    if lake.trial:
        return Verdict(True, "a trial leaves nothing in the store that could be sealed")
    store = open_store(product)
    release = store.released(product.product, day)
    problems = ["the window shows no release"] if release is None else store.problems(release)
    return Verdict(not problems, "; ".join(problems) or "what lies in the store is what the manifest seals")
