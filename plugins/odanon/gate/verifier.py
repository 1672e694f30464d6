"""The verifier: proves on the pre-anonymisation rows what a release promises (PRIVACY rules 1-3).

It shares no code with any anonymiser: it takes plain tables, finds by itself which flow covers which row from
the tiles that each area lists, and counts people again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.gate.areas import areas_below_k
from odanon.gate.coverage import Coverage, Ints, Line, codes_of
from odanon.gate.weights import Weights, largest, sums
from odanon.gate.woven import places, woven
from odanon.model.promise import Promise
from odanon.model.release import REST

_ROW = ["origin", "destination", "kind"]
_PAIR = ("origin", "destination", "time")  # what tells pairs apart, the last where there are times
_SLACK = 1e-9  # relative; shares are fractions


@dataclass(frozen=True)
class Finding:
    """A broken rule and how many flows or rows break it; never who."""

    rule: str
    count: int
    explanation: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.explanation} ({self.count})"


def added_up(findings: Iterable[Finding]) -> list[Finding]:
    """Findings of the same rule and wording as one, without those of nothing."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = finding.rule, finding.explanation
        counts[key] = counts.get(key, 0) + finding.count
    return [Finding(rule, count, explanation) for (rule, explanation), count in counts.items() if count]


def verify(
    rows: pd.DataFrame,
    flows: pd.DataFrame,
    origin_tiles: pd.DataFrame,
    destination_tiles: pd.DataFrame,
    promise: Promise,
    *,
    suppressed_trips: int,
    assignment: pd.DataFrame | None = None,
    overlapping: bool = False,
    leaves_out: bool = False,
    beside: pd.DataFrame | None = None,
    times: pd.DataFrame | None = None,
) -> list[Finding]:
    """All broken rules of one matrix's release; an empty list is the proof.

    `rows`: origin, destination (tiles), person, trips and, for unit population, weight. `flows`: origin, destination
    (areas), kind, trips, persons. `origin_tiles`, `destination_tiles`: area, tile and, where areas also count tiles
    without traffic, n_tiles. With unit trips, `rows` needs no person. With a `contribution_cap`, a flow's trips
    must be those of each person up to the cap. An `assignment` (origin, destination, trips, flow; -1 = suppressed)
    says which flow each tile pair counts in and must be right. No flow shares a tile pair with another; a rest holds other
    rows whole or not at all, and counts the tile pairs that no row inside it holds. If flows are `overlapping`, there are
    no rests, and every pair must lie inside the flow that the assignment names. A release that
    `leaves_out` may suppress pairs inside a flow, which then count for nothing; any other must count them. `beside` (origin,
    destination, kind) are rows of the same release that are told elsewhere: nothing is counted in them, and no rest counts what they hold.
    `times` (area, tile) are the intervals of a release in time and their bins: rows and assignment then name a bin and flows an interval
    in the column `time`, a pair is two tiles and a bin, and a flow holds the pairs between its areas during its interval.
    """
    lines, clock = (Line.of(origin_tiles), Line.of(destination_tiles)), None if times is None else Line.of(times)
    areas = _numbers(flows, lines)
    findings = [*_zones(areas, lines, (origin_tiles, destination_tiles), promise), _twice(flows)]
    if clock is not None:
        strangers = int((_intervals(flows, clock) < 0).sum())
        findings.append(Finding("known-times", strangers, "flows whose interval has no bins"))
    travelled = rows if (rows["trips"] > 0).all() else rows[rows["trips"] > 0]
    pairs = _Pairs.of(travelled, lines, clock)
    if overlapping:
        assert assignment is not None
        if clock is not None:
            findings.append(Finding("known-times", 1, "intervals of flows that overlap by design"))
        pair_flow, misplaced = _assigned(pairs, assignment, areas, lines)
        findings += misplaced
        findings.append(Finding("rests", int(_rests(flows).sum()), "rests among flows that overlap by design"))
    else:
        named = _ROW if clock is None else [*_ROW, "time"]
        every = flows if beside is None else pd.concat([flows[named], beside[named]])
        coverage = _coverage(every, lines, clock)
        pair_flow = coverage.flow_at(pairs.origin, pairs.destination)
        pair_flow = np.where(pair_flow < len(flows), pair_flow, -1)
        if leaves_out:
            assert assignment is not None
            if clock is not None:
                findings.append(Finding("known-times", 1, "intervals of flows that leave pairs out by design"))
            left = pairs.numbers(assignment[assignment["flow"] < 0])
            pair_flow[left[left >= 0]] = -1
        findings.append(_shared(coverage, every))
    if assignment is not None:
        findings.append(_misassigned(pairs, pair_flow, assignment))
    counted = _Count.of(travelled, pair_flow[pairs.of_row], len(flows), promise.contribution_cap)
    findings += _people(counted, flows, promise)
    if promise.min_visited > 1:
        findings.append(_visited(pairs, pair_flow, len(flows), promise.min_visited))
    if promise.k_areas is not None:
        k, unit = promise.k_areas, promise.unit
        below = areas_below_k(travelled, flows, origin_tiles, destination_tiles, k=k, unit=unit)
        findings += [
            Finding("areas-k", n, f"{side} areas with fewer than {k} {unit} in all") for side, n in below.items()
        ]
    findings += _volumes(counted, flows, int(rows["trips"].sum()), suppressed_trips)
    return added_up(findings)


def structure(
    flows: pd.DataFrame, origin_tiles: pd.DataFrame, destination_tiles: pd.DataFrame, promise: Promise
) -> list[Finding]:
    """The rules that need no rows: known areas, of a size within the limits, no flow twice, no tile pair in two flows."""
    lines = Line.of(origin_tiles), Line.of(destination_tiles)
    areas = _numbers(flows, lines)
    return added_up(
        [
            *_zones(areas, lines, (origin_tiles, destination_tiles), promise),
            _twice(flows),
            _shared(_coverage(flows, lines, None), flows),
        ]
    )


def _numbers(flows: pd.DataFrame, lines: tuple[Line, Line]) -> list[Ints]:
    """The areas of every flow by number on their line, -1 for strangers."""
    sides = zip(lines, ("origin", "destination"), strict=True)
    return [line.areas.get_indexer(pd.Index(flows[side].astype("str"))) for line, side in sides]


def _intervals(flows: pd.DataFrame, clock: Line) -> Ints:
    """The interval of every flow by number, -1 for strangers."""
    return clock.areas.get_indexer(pd.Index(flows["time"].astype("str"))).astype(np.int64)


def _coverage(flows: pd.DataFrame, lines: tuple[Line, Line], clock: Line | None) -> Coverage:
    origin, destination = _numbers(flows, lines)
    if clock is None:
        return Coverage.of(origin, destination, *lines)
    line, number = woven(lines[0], clock, origin, _intervals(flows, clock))
    return Coverage.of(number, destination, line, lines[1])


def _twice(flows: pd.DataFrame) -> Finding:
    named = [name for name in ("origin", "destination", "time") if name in flows]
    return Finding("duplicate-flows", int(flows.duplicated(named).sum()), "flows listed twice")


def _rests(flows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    return (flows["kind"] == REST).to_numpy(dtype=bool)


def _shared(coverage: Coverage, flows: pd.DataFrame) -> Finding:
    inside_a_flow = coverage.inner[~_rests(flows)[coverage.outer]]
    shared = len(np.union1d(coverage.crossing, inside_a_flow))
    return Finding("disjoint", shared, "rows that share tile pairs with another one and do not lie inside a rest")


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The distinct pairs of the rows (two tiles and, where there are times, a bin), by position on the lines, and the pair of every row."""

    origin: Ints  # on the line of places where there are times
    destination: Ints
    of_row: Ints
    trips: Ints
    key: Ints
    names: tuple[pd.Index, ...]  # of the columns that a key numbers
    tiles: tuple[Ints, Ints]  # the numbers of both tiles among the names

    @classmethod
    def of(cls, rows: pd.DataFrame, lines: tuple[Line, Line], clock: Line | None = None) -> "_Pairs":
        columns = [codes_of(rows[name]) for name in _PAIR[: 2 if clock is None else 3]]
        of_row, keys = pd.factorize(_key([code for code, _ in columns], [names for _, names in columns]))
        first = np.zeros(len(keys), dtype=np.int64)
        first[of_row[::-1]] = np.arange(len(of_row))[::-1]
        codes = [code[first] for code, _ in columns]
        at = [
            line.positions(names)[code]
            for line, (_, names), code in zip((*lines, clock), columns, codes, strict=False)
            if line is not None
        ]
        return cls(
            origin=at[0] if clock is None else places(lines[0], at[0], at[2]),
            destination=at[1],
            of_row=of_row,
            trips=sums(of_row, rows["trips"].to_numpy(np.int64), len(keys)),
            key=keys,
            names=tuple(names for _, names in columns),
            tiles=(codes[0], codes[1]),
        )

    def numbers(self, table: pd.DataFrame) -> Ints:
        """The pair of every row of a table (origin, destination and, where there are times, time), -1 for strangers."""
        codes = []
        for column, known in zip(_PAIR, self.names, strict=False):
            code, names = codes_of(table[column])
            codes.append(np.append(known.get_indexer(names), -1)[code])
        found = pd.Index(self.key).get_indexer(_key(codes, list(self.names)))
        return np.where(np.all([code >= 0 for code in codes], axis=0), found, -1)


def _key(codes: list[Ints], names: list[pd.Index]) -> Ints:
    """One number for every combination of codes."""
    key = codes[0].astype(np.int64)
    for code, known in zip(codes[1:], names[1:], strict=True):
        key = key * len(known) + code
    return key


@dataclass(frozen=True, eq=False)
class _Count:
    """What the rows say about every flow."""

    trips: Ints  # each person up to the cap
    capped: int  # trips above the cap
    persons: Ints | None
    largest: Ints  # trips of the busiest person
    weights: Weights | None
    nameless: int  # rows without a person

    @classmethod
    def of(cls, rows: pd.DataFrame, row_flow: Ints, n_flows: int, cap: int | None) -> "_Count":
        inside = row_flow >= 0
        flow, trips = row_flow[inside], rows["trips"].to_numpy(np.int64)[inside]
        weight = rows["weight"].to_numpy(np.float64)[inside] if "weight" in rows else None
        if "person" not in rows:
            total, each = sums(flow, trips, n_flows), np.arange(len(flow))
            weights = None if weight is None else Weights.of(weight, flow, flow, each, n_flows)
            return cls(total, 0, None, total, weights, 0)
        person, names = codes_of(rows["person"])
        code, keys = pd.factorize(flow * (len(names) + 1) + person[inside] + 1)
        owner = keys // (len(names) + 1)
        mine = sums(code, trips, len(keys))
        kept = mine if cap is None else np.minimum(mine, cap)
        return cls(
            trips=sums(owner, kept, n_flows),
            capped=int((mine - kept).sum()),
            persons=np.bincount(owner, minlength=n_flows),
            largest=largest(owner, kept, n_flows),
            weights=None if weight is None else Weights.of(weight, flow, owner, code, n_flows),
            nameless=int((person < 0).sum()),
        )


def _zones(
    areas: list[Ints],
    lines: tuple[Line, Line],
    tables: tuple[pd.DataFrame, pd.DataFrame],
    promise: Promise,
) -> list[Finding]:
    least, most = promise.min_tiles, promise.max_tiles
    findings = []
    for side, number, line, table in zip(("origin", "destination"), areas, lines, tables, strict=True):
        used = np.unique(number[number >= 0])
        size = line.n_tiles
        if "n_tiles" in table:
            size = table.groupby(table["area"].astype("str"))["n_tiles"].min().reindex(line.areas).to_numpy(np.int64)
        above = 0 if most is None else int((size[used] > most).sum())
        findings += [
            Finding("known-zones", int((number < 0).sum()), f"flows whose {side} area has no tiles"),
            Finding("area-size", int((size[used] < line.n_tiles[used]).sum()), f"{side} areas list more than n_tiles"),
            Finding("min-tiles", int((size[used] < least).sum()), f"{side} areas of fewer than {least} tiles"),
            Finding("max-tiles", above, f"{side} areas of more than {most} tiles"),
        ]
    return findings


def _visited(pairs: _Pairs, pair_flow: Ints, n_flows: int, least: int) -> Finding:
    """Flows whose trips start, or end, in too few different tiles."""
    inside = pair_flow >= 0
    few = np.zeros(n_flows, dtype=bool)
    for tile in pairs.tiles:
        used = pd.DataFrame({"flow": pair_flow[inside], "tile": tile[inside]}).drop_duplicates()
        few |= np.bincount(used["flow"], minlength=n_flows) < least
    return Finding("min-visited", int(few.sum()), f"flows whose trips start, or end, in fewer than {least} tiles")


def _people(counted: _Count, flows: pd.DataFrame, promise: Promise) -> list[Finding]:
    k, unit = promise.k, promise.unit
    told = pd.to_numeric(flows["persons"]).fillna(-1).to_numpy(np.int64)
    if unit == "trips":
        known = -1 if counted.persons is None else counted.persons
        return [
            Finding("at-least-k", int((counted.trips < k).sum()), f"flows with fewer than {k} trips"),
            Finding("people", int((told != known).sum()), "flows with a wrong number of people"),
        ]
    if counted.persons is None:
        return [Finding("people", len(flows), "flows that cannot be counted, because the rows have no person")]
    findings = [
        Finding("identified", counted.nameless, "rows without a person"),
        Finding("at-least-k", int((counted.persons < k).sum()), f"flows with fewer than {k} {unit}"),
        Finding("people", int((counted.persons != told).sum()), "flows with a wrong number of people"),
    ]
    if unit == "population":
        few = len(flows)
        if counted.weights is not None and promise.k_population is not None:
            few = counted.weights.below(promise.k_population)
        findings.append(Finding("population", few, "flows that stand for fewer than k_population"))
    most = promise.max_dominance
    if most is not None:
        shares = {"trips": (counted.largest, counted.trips)}
        if unit == "population" and counted.weights is not None:
            shares["weight"] = counted.weights.heaviest, counted.weights.total + counted.weights.lost
        for what, (one, total) in shares.items():
            above = int((one > most * total * (1 + _SLACK)).sum())
            findings.append(Finding("max-dominance", above, f"flows with one person above {most:g} of the {what}"))
    return findings


def _volumes(counted: _Count, flows: pd.DataFrame, input_trips: int, suppressed_trips: int) -> list[Finding]:
    published = flows["trips"].to_numpy(np.int64)
    balanced = int(published.sum()) + counted.capped + suppressed_trips == input_trips
    findings = [
        Finding("volumes", int((counted.trips != published).sum()), "flows with a wrong volume"),
        Finding("conservation", int(not balanced), "published and suppressed trips do not add up to the input"),
    ]
    if "weight" in flows and counted.weights is not None:
        wrong = counted.weights.unlike(flows["weight"].to_numpy(np.float64))
        findings.append(Finding("weights", wrong, "flows whose weight is not that of their rows, rounded"))
    return findings


def _assigned(
    pairs: _Pairs, assignment: pd.DataFrame, areas: list[Ints], lines: tuple[Line, Line]
) -> tuple[Ints, list[Finding]]:
    """The flow of every pair as the assignment says, and how many pairs it places twice or outside their flow."""
    told = assignment.loc[assignment["flow"] >= 0].astype({"origin": "str", "destination": "str"})
    origin, destination = (
        lines[0].positions(pd.Index(told["origin"])),
        lines[1].positions(pd.Index(told["destination"])),
    )
    flow = told["flow"].to_numpy(np.int64)
    inside = (flow < len(areas[0])) & (origin >= 0) & (destination >= 0)
    flow = np.where(inside, flow, 0)
    if len(areas[0]):
        inside &= lines[0].holds(areas[0][flow], origin) & lines[1].holds(areas[1][flow], destination)
    width = len(lines[1].tiles) + 1
    key = pd.Index((origin * width + destination)[inside])
    twice = key.duplicated()
    at = key[~twice].get_indexer(pairs.origin * width + pairs.destination)
    known = (at >= 0) & (pairs.origin >= 0) & (pairs.destination >= 0)
    pair_flow = np.where(known, np.append(flow[inside][~twice], -1)[at], -1)
    return pair_flow, [
        Finding("disjoint", int(twice.sum()), "tile pairs assigned to several flows"),
        Finding("inside", int((~inside).sum()), "tile pairs assigned to a flow whose areas do not hold them"),
    ]


def _misassigned(pairs: _Pairs, pair_flow: Ints, assignment: pd.DataFrame) -> Finding:
    """Tile pairs that the assignment leaves out, lists twice, invents, or tells another flow or number of trips of."""
    number = pairs.numbers(assignment)
    trips, flow = assignment["trips"].to_numpy(np.int64), assignment["flow"].to_numpy(np.int64)
    known = number >= 0
    wrong = int(((~known) & ((trips > 0) | (flow >= 0))).sum())
    wrong += int((np.bincount(number[known], minlength=len(pairs.key)) != 1).sum())
    wrong += int(((flow[known] != pair_flow[number[known]]) | (trips[known] != pairs.trips[number[known]])).sum())
    return Finding("assignment", wrong, "tile pairs whose flow or trips are told wrongly")
