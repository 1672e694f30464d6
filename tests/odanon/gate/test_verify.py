"""The verifier: every planted fault is found, an honest release passes."""

import pandas as pd
import pytest

from odanon.gate.verifier import verify
from odanon.model.promise import Promise

ROWS = pd.DataFrame(
    {
        "origin": ["a", "a", "b", "b", "c"],
        "destination": ["x", "x", "x", "y", "y"],
        "person": [1, 2, 3, 4, 5],
        "trips": [2, 1, 1, 1, 4],
    }
)
FLOWS = pd.DataFrame({"origin": ["A"], "destination": ["X"], "kind": "flow", "trips": [4], "persons": [3]})
ORIGIN_TILES = pd.DataFrame({"area": ["A", "A", "C"], "tile": ["a", "b", "c"]})
DESTINATION_TILES = pd.DataFrame({"area": ["X", "Y"], "tile": ["x", "y"]})


def rules(
    flows: pd.DataFrame = FLOWS, suppressed: int = 5, k: int = 3, unit: str = "persons", rows: pd.DataFrame = ROWS
) -> set[str]:
    found = verify(rows, flows, ORIGIN_TILES, DESTINATION_TILES, Promise(k=k, unit=unit), suppressed_trips=suppressed)
    return {finding.rule for finding in found}


def test_an_honest_release_passes() -> None:
    assert rules() == set()


def test_k_is_a_boundary() -> None:
    assert rules(k=4) == {"at-least-k"}
    assert rules(k=2) == set()


def test_one_commuter_with_many_trips_is_one_person() -> None:
    flows = pd.DataFrame({"origin": ["C"], "destination": ["Y"], "kind": "flow", "trips": [4], "persons": [1]})
    assert rules(flows, suppressed=5, k=2) == {"at-least-k"}
    assert rules(flows, suppressed=5, k=2, unit="trips") == set()


def test_overlapping_flows_are_found() -> None:
    tiles = pd.concat([ORIGIN_TILES, pd.DataFrame({"area": ["B"], "tile": ["b"]})])
    flows = pd.concat(
        [FLOWS, pd.DataFrame({"origin": ["B"], "destination": ["X"], "kind": "flow", "trips": [1], "persons": [1]})]
    )
    found = verify(ROWS, flows, tiles, DESTINATION_TILES, Promise(k=2), suppressed_trips=4)
    assert "disjoint" in {finding.rule for finding in found}


@pytest.mark.parametrize(
    ("change", "suppressed", "rule"),
    [
        ({"trips": [5]}, 4, "volumes"),
        ({"persons": [30]}, 5, "people"),
        ({}, 4, "conservation"),
        ({"origin": ["Z"]}, 5, "known-zones"),
    ],
)
def test_planted_faults_are_named(change: dict, suppressed: int, rule: str) -> None:
    assert rule in rules(FLOWS.assign(**change), suppressed)


def test_a_flow_listed_twice_is_found() -> None:
    assert "duplicate-flows" in rules(pd.concat([FLOWS, FLOWS]))


def test_a_contribution_cap_counts_each_person_up_to_the_cap() -> None:
    capped = FLOWS.assign(trips=[3])  # one person made two of the four trips
    found = verify(ROWS, capped, ORIGIN_TILES, DESTINATION_TILES, Promise(k=3, contribution_cap=1), suppressed_trips=5)
    assert found == []
    found = verify(ROWS, FLOWS, ORIGIN_TILES, DESTINATION_TILES, Promise(k=3, contribution_cap=1), suppressed_trips=5)
    assert {finding.rule for finding in found} == {"volumes", "conservation"}


def test_overlapping_areas_are_fine_when_every_pair_is_assigned_to_one_flow() -> None:
    flows = pd.DataFrame(
        {"origin": ["A", "A"], "destination": ["X", "XY"], "kind": "flow", "trips": [4, 1], "persons": [3, 1]}
    )
    tiles = pd.concat([DESTINATION_TILES, pd.DataFrame({"area": ["XY", "XY"], "tile": ["x", "y"]})])
    pairs = {"origin": ["a", "b", "b", "c"], "destination": ["x", "x", "y", "y"], "trips": [3, 1, 1, 4]}
    told = pd.DataFrame({**pairs, "flow": [0, 0, 1, -1]})

    def check(assignment: pd.DataFrame, *, overlapping: bool = True) -> set[str]:
        how = {"assignment": assignment, "overlapping": overlapping}
        found = verify(ROWS, flows, ORIGIN_TILES, tiles, Promise(k=2), suppressed_trips=4, **how)
        return {finding.rule for finding in found} - {"at-least-k"}  # of one person

    assert check(told) == set()
    assert "disjoint" in check(told, overlapping=False)
    assert "inside" in check(told.assign(flow=[0, 0, 0, -1]))
    assert "disjoint" in check(pd.concat([told, told.iloc[[1]].assign(flow=1)]))


def test_tiles_in_which_nobody_starts_or_ends_do_not_count_as_visited() -> None:
    def broken(**limit: int) -> set[str]:
        promise = Promise(k=3, **limit)
        found = verify(ROWS, flows, ORIGIN_TILES, wide, promise, suppressed_trips=4)
        return {finding.rule for finding in found}

    flows = pd.DataFrame({"origin": ["A"], "destination": ["XY"], "kind": "flow", "trips": [5], "persons": [4]})
    wide = pd.DataFrame({"area": ["XY"] * 3, "tile": ["x", "y", "z"]})
    assert broken(min_visited=2) == set()  # from a and b to x and y
    assert broken(min_visited=3) == {"min-visited"}
    lone = pd.DataFrame({"area": ["XY"] * 2, "tile": ["x", "z"]})
    flows, wide = flows.assign(trips=[4], persons=[3]), lone
    found = verify(ROWS, flows, ORIGIN_TILES, lone, Promise(k=3, min_visited=2, min_tiles=2), suppressed_trips=5)
    assert {finding.rule for finding in found} == {"min-visited"}  # two tiles, one of them visited


def test_pairs_inside_a_flow_are_left_out_only_by_methods_that_say_so() -> None:
    pairs = {"origin": ["a", "b", "b", "c"], "destination": ["x", "x", "y", "y"], "trips": [3, 1, 1, 4]}
    told = pd.DataFrame({**pairs, "flow": [0, -1, -1, -1]})
    flows = FLOWS.assign(trips=[3], persons=[2])

    def check(flows: pd.DataFrame, *, leaves_out: bool, k: int = 2) -> set[str]:
        how = {"assignment": told, "leaves_out": leaves_out}
        found = verify(ROWS, flows, ORIGIN_TILES, DESTINATION_TILES, Promise(k=k), suppressed_trips=6, **how)
        return {finding.rule for finding in found}

    assert check(flows, leaves_out=True) == set()
    assert check(flows, leaves_out=True, k=3) == {"at-least-k"}  # who is left out does not count
    assert {"volumes", "assignment"} <= check(flows, leaves_out=False)
    assert "volumes" in check(FLOWS, leaves_out=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"flow": [0, -1, -1, -1]},  # another flow than the one that holds the pair
        {"trips": [3, 1, 2, 3]},
        {"origin": ["a", "b", "c", "c"]},  # one pair invented, another left out
        {"origin": ["a", "a", "b", "c"], "destination": ["x", "x", "y", "y"]},  # listed twice
    ],
)
def test_a_wrong_assignment_is_found(wrong: dict[str, list]) -> None:
    pairs = {"origin": ["a", "b", "b", "c"], "destination": ["x", "x", "y", "y"], "trips": [3, 1, 1, 4]}
    told = pd.DataFrame({**pairs, "flow": [0, 0, -1, -1]})

    def check(assignment: pd.DataFrame) -> set[str]:
        tables = ORIGIN_TILES, DESTINATION_TILES
        found = verify(ROWS, FLOWS, *tables, Promise(k=3), suppressed_trips=5, assignment=assignment)
        return {finding.rule for finding in found}

    assert check(told) == set()
    assert check(told.assign(**wrong)) == {"assignment"}


def test_findings_name_the_rule_and_never_a_person() -> None:
    found = verify(ROWS, FLOWS, ORIGIN_TILES, DESTINATION_TILES, Promise(k=4), suppressed_trips=5)
    assert [str(finding) for finding in found] == ["at-least-k: flows with fewer than 4 persons (1)"]


def test_flows_that_overlap_only_where_nobody_travels_are_found() -> None:
    tiles = pd.DataFrame({"area": ["A", "A", "C", "C"], "tile": ["a", "e", "b", "e"]})  # nobody leaves from e
    flows = pd.DataFrame(
        {"origin": ["A", "C"], "destination": ["X", "X"], "kind": "flow", "trips": [3, 1], "persons": [2, 1]}
    )
    rows = pd.concat([ROWS, pd.DataFrame({"origin": ["b"], "destination": "x", "person": [6], "trips": 1})])
    flows = flows.assign(trips=[3, 2], persons=[2, 2])
    found = verify(rows, flows, tiles, DESTINATION_TILES, Promise(k=2), suppressed_trips=5)
    assert [str(finding) for finding in found] == [
        "disjoint: rows that share tile pairs with another one and do not lie inside a rest (1)"
    ]


def test_a_population_needs_both_thresholds() -> None:
    """One device of weight 5.4 is not five people, and five devices of weight 1 are not ten inhabitants."""

    def found(rows: pd.DataFrame, k: int, k_population: float) -> set[str]:
        flows = pd.DataFrame(
            {"origin": "A", "destination": "X", "kind": "flow", "trips": [rows["trips"].sum()], "persons": [len(rows)]}
        )
        told = verify(
            rows,
            flows,
            ORIGIN_TILES,
            DESTINATION_TILES,
            Promise(k=k, unit="population", k_population=k_population),
            suppressed_trips=0,
        )
        return {finding.rule for finding in told}

    device = pd.DataFrame({"origin": ["a"], "destination": "x", "person": [1], "trips": 1, "weight": 5.4})
    five = pd.DataFrame({"origin": "a", "destination": "x", "person": range(5), "trips": 1, "weight": 1.0})
    assert found(device, 5, 5) == {"at-least-k"}
    assert found(five, 5, 10) == {"population"}
    assert found(five, 5, 5) == set()
    assert found(five.drop(columns="weight"), 5, 5) == {"population"}


def test_rows_without_trips_or_without_a_person_prop_up_no_flow() -> None:
    idle = pd.DataFrame({"origin": ["a"], "destination": ["x"], "person": [9], "trips": [0]})
    assert rules(FLOWS.assign(persons=[4]), rows=pd.concat([ROWS, idle])) == {"people"}
    nameless = ROWS.astype({"person": "object"})
    nameless.loc[0, "person"] = None
    assert "identified" in rules(rows=nameless)
    assert "people" in rules(rows=ROWS.drop(columns="person"))


def test_areas_that_count_tiles_without_traffic_are_measured_by_them() -> None:
    wide = [tiles.assign(n_tiles=4) for tiles in (ORIGIN_TILES, DESTINATION_TILES)]

    def broken(tiles: list[pd.DataFrame], **limits: int) -> set[str]:
        return {f.rule for f in verify(ROWS, FLOWS, *tiles, Promise(k=3, **limits), suppressed_trips=5)}

    assert broken(wide, min_tiles=4) == set()
    assert broken(wide, min_tiles=5) == {"min-tiles"}
    assert broken(wide, max_tiles=3) == {"max-tiles"}
    short = [tiles.assign(n_tiles=1) for tiles in (ORIGIN_TILES, DESTINATION_TILES)]
    assert broken(short) == {"area-size"}
