"""The auditor: refuses a release when differences with what is already published isolate people (PRIVACY rule 5).

All matrices that can share a trip with the candidate are refined into common atoms. Plain subtractions come first: a
value less the values inside it, less one that crosses it, totals less totals. Then every linear combination of published
values: it is proved that none depends on 1 to k - 1 people, or the release is refused, as unproven where the proof
would take too long. Then linear programs bound every small region that the releases together tell apart.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

import numpy as np

from odanon.gate.audit.bounds import Attacker, isolates
from odanon.gate.audit.combinations import small_combinations
from odanon.gate.audit.differences import crossing, nested, totals
from odanon.gate.audit.published import Content, PublishedMatrix, related
from odanon.gate.audit.refinement import IDENTITY, Refinement, Trips, families
from odanon.gate.verifier import Finding, added_up

MAX_PROGRAMS = 400  # beyond that many small regions a release is refused as unproven
_INSTEAD = "publish fewer overlapping releases, or sums of published numbers"


def audit(candidate: Sequence[PublishedMatrix], others: Iterable[PublishedMatrix]) -> list[Finding]:
    """All broken rules of a release that is to be published next to others; an empty list is the pass.

    `candidate` holds every matrix of the new release. Among `others` only those are read that overlap it, directly or
    through each other. Each finding names the releases it takes, never a person.
    """
    fresh = set(map(id, candidate))
    findings = []
    for group in _components([*related(candidate, others), *candidate]):
        if len(group) > 1 and any(id(matrix) in fresh for matrix in group):
            findings += _audit_group(group, fresh)
    return added_up(findings)


def _components(matrices: list[PublishedMatrix]) -> list[list[PublishedMatrix]]:
    """Matrices that overlap, directly or through each other."""
    groups: list[list[PublishedMatrix]] = []
    for matrix in matrices:
        joined = [group for group in groups if any(matrix.overlaps(member) for member in group)]
        groups = [group for group in groups if not any(group is other for other in joined)]
        groups.append([member for group in joined for member in group] + [matrix])
    return groups


def _audit_group(matrices: list[PublishedMatrix], fresh: set[int]) -> list[Finding]:
    contents = [matrix.load() for matrix in matrices]
    report = _Report(matrices, fresh)
    gone = [number for number, content in enumerate(contents) if content.rows is None]
    if gone:
        return [report.finding("input-kept", len(gone), "person-level rows that are no longer kept", gone)]
    by_trips = _without_ids(contents)
    if 0 < len(by_trips) < len(contents):
        everything = range(len(contents))
        return [report.finding("comparable", len(by_trips), "rows without ids next to rows with ids", everything)]
    if len({matrix.release_id for matrix in matrices}) > 1:
        doubled = [number for number, content in enumerate(contents) if _in_several_segments(content)]
        if doubled:
            what = "rows that count one person's trips of a tile pair in several segments"
            return [report.finding("comparable", len(doubled), what, range(len(contents)))]
    findings = _judged(matrices, contents, fresh, bool(by_trips))
    weighed = [number for number, matrix in enumerate(matrices) if matrix.unit == "population"]
    if findings or len(weighed) < 2 or not any(id(matrices[number]) in fresh for number in weighed):
        return findings
    told = [matrices[number] for number in weighed], [contents[number] for number in weighed]
    return _judged(*told, fresh, by_trips=False, by_weight=True)


def _judged(
    matrices: list[PublishedMatrix], contents: list[Content], fresh: set[int], by_trips: bool, by_weight: bool = False
) -> list[Finding]:
    """What the numbers of some matrices isolate; `by_weight` whoever weighs otherwise is another person's worth.

    Both are asked of estimates of the population: weights may be known well enough to be divided out.
    """
    report = _Report(matrices, fresh)
    k = min(matrix.k for matrix in matrices)  # whoever is in several releases has the weakest of their promises
    trips = Trips.of(contents, by_weight)
    findings = _compare_inputs(trips, matrices, report, k)
    if any(finding.rule == "comparable" for finding in findings):
        return findings
    made = families(matrices)
    refinement = Refinement.of(trips, made, by_trips)
    findings += _nested(refinement, made, report, k)
    return (
        findings
        or _subtractions(refinement, made, report, k)
        or _combinations(refinement, report, k)
        or _bounds(refinement, report, k)
    )


def _without_ids(contents: list[Content]) -> list[int]:
    return [
        number for number, content in enumerate(contents) if content.rows is not None and "person" not in content.rows
    ]


def _in_several_segments(content: Content) -> bool:
    """Whether a person's trips at one time and tile pair are rows of several segments, which equal no row elsewhere."""
    if content.rows is None or not {"person", "segment"} <= set(content.rows):
        return False
    return bool(content.rows.duplicated(list(IDENTITY[:-1])).any())


class _Report:
    """Words a finding with the published releases behind it."""

    def __init__(self, matrices: list[PublishedMatrix], fresh: set[int]) -> None:
        self.matrices, self.fresh = matrices, fresh
        # What the rows' ids name: only where every release counts vehicles are they no people.
        self.who = "vehicles" if all(matrix.unit == "vehicles" for matrix in matrices) else "people"

    def finding(self, rule: str, count: int, what: str, members: Iterable[int]) -> Finding:
        chosen = [self.matrices[number] for number in members]
        names = sorted({matrix.release_id for matrix in chosen if id(matrix) not in self.fresh})
        if not names:
            where = "within this release"
        elif len(names) > 3:
            where = f"together with {', '.join(names[:3])} and {len(names) - 3} more"
        else:
            where = f"together with {' and '.join(names)}"
        return Finding(rule, count, f"{what}, {where}")


def _compare_inputs(trips: Trips, matrices: list[PublishedMatrix], report: _Report, k: int) -> list[Finding]:
    """Inputs that should be the same where they overlap: incomparable, or changed by 1 to k - 1 people."""
    findings = []
    for one, two in permutations(range(len(matrices)), 2):
        wide, narrow = matrices[one], matrices[two]
        if not wide.overlaps(narrow) or not wide.conditions.items() <= narrow.conditions.items():
            continue
        expected, missing = trips.missing(two, one, wide.times)
        changed = len(np.unique(trips.person[missing]))
        if len(expected) and len(missing) == len(expected):
            what = "inputs of one window without a row in common (other ids, tiles, time bins or weights)"
            findings.append(report.finding("comparable", 1, what, (one, two)))
        elif 0 < changed < k:
            what = f"an input changed by fewer than {k} {report.who}"
            findings.append(report.finding("changed-input", 1, what, (one, two)))
    return findings


def _nested(refinement: Refinement, made: list[list[int]], report: _Report, k: int) -> list[Finding]:
    findings = []
    for outer, inner in permutations(range(len(made)), 2):
        people = nested(refinement, outer, inner)
        count = int(((people > 0) & (people < k)).sum())
        if count:
            what = f"regions of fewer than {k} {report.who} that remain of a flow less the flows inside it"
            findings.append(report.finding("nested-difference", count, what, made[outer] + made[inner]))
    return findings


def _subtractions(refinement: Refinement, made: list[list[int]], report: _Report, k: int) -> list[Finding]:
    findings = []
    for one, two in combinations(range(len(made)), 2):
        both = made[one] + made[two]
        what = f"published numbers whose difference depends on fewer than {k} {report.who}"
        findings.append(report.finding("crossing-difference", crossing(refinement, one, two, k), what, both))
        what = f"totals whose difference from a published number or total depends on fewer than {k} {report.who}"
        findings.append(report.finding("total-difference", totals(refinement, one, two, k), what, both))
    return [finding for finding in findings if finding.count]


def _combinations(refinement: Refinement, report: _Report, k: int) -> list[Finding]:
    count = small_combinations(refinement, k)
    everything = range(len(report.matrices))
    if count is None:
        what = f"numbers too entangled to prove that no combination of them isolates {report.who} ({_INSTEAD})"
        return [report.finding("unproven", 1, what, everything)]
    if count:
        what = f"sums and differences of published values that depend on fewer than {k} {report.who}"
        return [report.finding("combination", count, what, everything)]
    return []


def _bounds(refinement: Refinement, report: _Report, k: int) -> list[Finding]:
    everything = range(len(report.matrices))
    attacker = Attacker(refinement.incidence(), refinement.trips)
    for number, region in enumerate(refinement.small_regions(k)):
        if number == MAX_PROGRAMS:
            what = f"more than {MAX_PROGRAMS} regions of fewer than {k} {report.who} to prove safe ({_INSTEAD})"
            return [report.finding("unproven", 1, what, everything)]
        if isolates(*attacker.bounds(region), k):
            what = f"a region of fewer than {k} {report.who} that linear programming pins down"
            return [report.finding("bounds", 1, what, everything)]
    return []
