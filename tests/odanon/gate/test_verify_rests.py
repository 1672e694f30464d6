"""Rests before the verifier: counted from what no finer row holds, wherever rows lie inside each other, and never twice."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from enumeration import Instance, instances
from hypothesis import given
from hypothesis import strategies as st
from pooled import Pooled

from odanon.errors import OdanonError
from odanon.gate.coverage import Coverage, Line
from odanon.gate.release import release_findings, rows_of
from odanon.gate.verifier import verify
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import REST, Release

# Ten people within a, ten from b to c, and three on each of two thin pairs that only the whole map can tell.
TREE = Hierarchy.from_parents(["a", "b", "c", "d", "left", "right", "all"], [4, 4, 5, 5, 6, 6, -1], kind="test")
NODE = {label: node for node, label in enumerate(TREE.label)}
PAIRS = [("a", "a", 10), ("a", "b", 3), ("b", "c", 10), ("c", "b", 3)]
PERSON = np.arange(26)
ENDS = [TREE.ranks(np.repeat([pair[side] for pair in PAIRS], [n for *_, n in PAIRS])) for side in (0, 1)]
OD = ODMatrix.from_arrays(*ENDS, np.ones(26, dtype=np.int64), PERSON)
PLACED = {("a", "a"): ("a", "a"), ("a", "b"): ("all", "all"), ("b", "c"): ("left", "right"), ("c", "b"): ("all", "all")}


def made(placed: dict[tuple[str, str], tuple[str, str] | None], rests: set[tuple[str, str]]) -> Release:
    """A release with every pair at its two areas, or at none."""
    tiles = TREE.label[TREE.tiles]
    at = [placed[tiles[o], tiles[d]] for o, d in zip(OD.pairs.origin, OD.pairs.destination, strict=True)]
    nodes = [np.array([-1 if areas is None else NODE[areas[side]] for areas in at]) for side in (0, 1)]
    return Release.from_nodes(OD, TREE, TREE, *nodes, {}, pair_rest=np.array([areas in rests for areas in at]))


def rules(release: Release, k: int = 6) -> set[str]:
    rows = rows_of(OD, TREE, TREE)
    return {
        f.rule for f in release_findings(rows, release, TREE, TREE, Promise(k=k), overlapping=False, leaves_out=False)
    }


HONEST = made(PLACED, {("all", "all")})


def test_a_rest_counts_what_no_finer_row_counts() -> None:
    shown = HONEST.flows.set_index(["origin", "destination"])
    assert shown.loc[("all", "all"), ["kind", "trips", "persons"]].tolist() == [REST, 6, 6]
    assert shown["kind"].tolist().count(REST) == 1
    assert rules(HONEST) == set()


def test_a_rest_keeps_the_promise_like_a_flow() -> None:
    assert rules(HONEST, k=7) == {"at-least-k"}


@pytest.mark.parametrize(("column", "rule"), [("trips", {"volumes", "conservation"}), ("persons", {"people"})])
def test_a_rest_with_wrong_numbers_is_found(column: str, rule: set[str]) -> None:
    wrong = HONEST.flows[column] + (HONEST.flows["kind"] == REST)
    assert rules(replace(HONEST, flows=HONEST.flows.assign(**{column: wrong}))) == rule


def test_a_rest_that_counts_a_finer_row_again_is_found() -> None:
    wrong = HONEST.flows["trips"].where(HONEST.flows["kind"] != REST, OD.volume)
    assert rules(replace(HONEST, flows=HONEST.flows.assign(trips=wrong))) == {"volumes", "conservation"}


def test_a_flow_that_holds_another_row_is_found() -> None:
    assert rules(made(PLACED, set())) == {"disjoint"}


def test_rows_that_cross_are_found() -> None:
    """From the left to all, and from all to the left: neither lies inside the other."""
    placed = {**PLACED, ("b", "c"): ("left", "all"), ("c", "b"): ("all", "left"), ("a", "b"): None}
    for rests in (set(), {("left", "all")}, {("all", "left")}, {("left", "all"), ("all", "left")}):
        assert "disjoint" in rules(made(placed, rests))


def test_two_areas_have_a_flow_or_a_rest() -> None:
    nodes = np.full(len(OD.pairs.trips), TREE.root)
    with pytest.raises(OdanonError, match="as a flow and as a rest"):
        Release.from_nodes(OD, TREE, TREE, nodes, nodes, {}, pair_rest=np.arange(len(nodes)) > 1)
    twice = pd.concat([HONEST.flows, HONEST.flows.assign(kind="flow")], ignore_index=True)
    assert "duplicate-flows" in rules(replace(HONEST, flows=twice))


def test_rests_of_rests_are_counted_in_the_innermost() -> None:
    placed = {**PLACED, ("a", "b"): ("left", "left"), ("c", "b"): ("all", "all")}
    nested = made(placed, {("left", "left"), ("all", "all")})
    assert nested.flows.set_index(["origin", "destination"])["trips"].to_dict() == {
        ("a", "a"): 10,
        ("left", "left"): 3,
        ("left", "right"): 10,
        ("all", "all"): 3,
    }
    assert rules(nested, k=3) == set()
    assert rules(nested) == {"at-least-k"}


def test_flows_that_overlap_by_design_have_no_rests() -> None:
    rows = rows_of(OD, TREE, TREE)
    found = release_findings(rows, HONEST, TREE, TREE, Promise(k=6), overlapping=True, leaves_out=False)
    assert {finding.rule for finding in found} == {"rests"}


def test_rows_told_elsewhere_keep_what_they_hold() -> None:
    tiles = pd.DataFrame([(area, tile) for area in NODE for tile in TREE.members(NODE[area])], columns=["area", "tile"])
    flows = HONEST.flows.astype({"origin": "str", "destination": "str"})
    rest = flows["kind"] == REST
    rows = rows_of(OD, TREE, TREE)
    told = {"promise": Promise(k=6), "suppressed_trips": 20}
    assert verify(rows, flows[rest], tiles, tiles, **told, beside=flows[~rest]) == []
    alone = {finding.rule for finding in verify(rows, flows[rest], tiles, tiles, **told)}
    assert alone == {"volumes", "people"}


@given(instances(), st.integers(2, 5))
def test_pooled_releases_leave_out_less_than_the_promise_and_pass(instance: Instance, k: int) -> None:
    od, origins, destinations = instance.od, instance.origins, instance.destinations
    if (od.n_people or 0) < k:
        return
    made = Pooled(k=k).anonymize(od, origins, destinations)
    rows = rows_of(od, origins, destinations)
    assert release_findings(rows, made, origins, destinations, Promise(k=k), overlapping=False, leaves_out=False) == []
    left = made.assignment["flow"].to_numpy()[od.row_pair] < 0
    assert len(np.unique(od.person[left])) < k


AREA = st.sets(st.integers(0, 5), min_size=1)


@given(st.lists(st.tuples(AREA, AREA), min_size=1, max_size=6), st.permutations(range(6)))
def test_the_innermost_row_of_every_pair_is_that_of_dense_cells(rows: list[tuple], order: list[int]) -> None:
    """Of any sets of tiles: rows nest or cross as their cells do, and where none cross each pair has its innermost row."""
    sides = [[row[side] for row in rows] for side in (0, 1)]
    cells = [{(o, d) for o in row[0] for d in row[1]} for row in rows]
    lines = []
    for areas in sides:
        listed = [(str(number), str(tile)) for number, area in enumerate(areas) for tile in order if tile in area]
        lines.append(Line.of(pd.DataFrame(listed, columns=["area", "tile"])))
    numbers = [line.areas.get_indexer([str(n) for n in range(len(rows))]).astype(np.int64) for line in lines]
    coverage = Coverage.of(numbers[0], numbers[1], lines[0], lines[1])
    pairs = [(i, j) for i in range(len(rows)) for j in range(i) if cells[i] & cells[j]]
    crossing = [pair for pair in pairs if not (cells[pair[0]] < cells[pair[1]] or cells[pair[1]] < cells[pair[0]])]
    assert bool(len(coverage.crossing)) == bool(crossing)
    if crossing:
        return
    grid = [(o, d) for o in range(6) for d in range(6)]
    holding = [[n for n in range(len(rows)) if cell in cells[n]] for cell in grid]
    innermost = [min(found, key=lambda n: len(cells[n]), default=-1) for found in holding]
    at = [line.positions(pd.Index([str(cell[side]) for cell in grid])) for side, line in enumerate(lines)]
    assert coverage.flow_at(*at).tolist() == innermost
    direct = {
        (i, min((j for j in range(len(rows)) if cells[i] < cells[j]), key=lambda j: len(cells[j])))
        for i in range(len(rows))
        if any(cells[i] < other for other in cells)
    }
    assert set(zip(coverage.inner.tolist(), coverage.outer.tolist(), strict=True)) == direct
