"""What the auditor reads of the files of a day and of every other release that shares its input (PRIVACY rule 5)."""

import json
from datetime import date
from typing import Any

from odanon.gate.audit.auditor import audit
from odanon.gate.audit.published import PublishedMatrix
from odanon.gate.verifier import Finding, added_up
from odanon.product import Product
from odanon_assets.gate.evidence import Tables, kept_tables, sharing, time_bins
from odanon_assets.gate.facts import release_facts, without_paths
from odanon_assets.gate.matrices import matrices, tells_promise, tells_segments, unreadable
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.interface import Store

# What decides of a release which numbers it has.
_DECIDING = ("input_sha256", "parameters", "time", "window", "bins", "segments")


def audit_day(product: Product, lake: Lake, day: date, store: Store) -> list[Finding]:
    """What the auditor finds in a day's release next to every other one, of whatever product, that shares its input.

    Time bins and tiles must be those of the other releases: other bins are refused because rows tell no more than their
    bin (PRIVACY rule 6), other tiles because trips cannot be matched.
    """
    facts, tables = release_facts(product, lake, day), Tables.of_day(product, lake, day)
    candidate = matrices(facts, tables, time_bins(product, tables, day))
    findings: list[Finding] = []
    others: list[PublishedMatrix] = []
    for manifest in sharing(lake, store, product, day):
        if manifest["release_id"] == facts["release_id"]:
            continue
        same = {**manifest, "data_sha256": facts["data_sha256"]}  # as far as anybody can tell
        kept = kept_tables(lake, manifest)
        if kept is None or not tells_promise(manifest) or not tells_segments(manifest, kept[0]):
            others.append(unreadable(same))
            continue
        published = matrices(same, *kept)
        refused = _unlike(candidate, facts, published, manifest)
        findings += refused
        others += [] if refused else published
    return added_up([*findings, *audit(candidate, others)])


def _unlike(
    candidate: list[PublishedMatrix],
    facts: dict[str, Any],
    published: list[PublishedMatrix],
    manifest: dict[str, Any],
) -> list[Finding]:
    """Why two releases that share input cannot be compared."""
    where = f"together with {manifest['release_id']}"
    meeting = [(one, two) for one in candidate for two in published if one.overlaps(two)]
    if not meeting:
        return []
    # Manifests of earlier versions name the zoning's files by their paths.
    tiles = [json.dumps(without_paths(told["parameters"]["zoning"]), sort_keys=True) for told in (facts, manifest)]
    if tiles[0] != tiles[1]:
        return [Finding("comparable", 1, f"the same people on other tiles, {where}")]
    if facts.get("perturb") != manifest.get("perturb"):
        what = "the same people with other noise, or without, which would tell the noise"
        return [Finding("perturb", 1, f"{what}, {where}")]
    capped = any(told["parameters"].get("contribution_cap") for told in (facts, manifest))
    if capped and not _same_numbers(facts, manifest):
        what = "trips counted up to a cap for each person and flow, so that sums of flows are not those of trips"
        return [Finding("comparable", 1, f"{what}, {where}")]
    other = sum(not one.told_in(two) for one, two in meeting)
    if other:
        what = "time bins that overlap without being the same, whose numbers may only be sums of each other"
        return [Finding("base-window", other, f"{what}, {where}")]
    return []


def _same_numbers(facts: dict[str, Any], manifest: dict[str, Any]) -> bool:
    """Whether two releases were made from the same rows in the same way, into rows of the same kind."""
    made = [json.dumps([told.get(name) for name in _DECIDING], sort_keys=True) for told in (facts, manifest)]
    return made[0] == made[1]
