"""The verifier: every planted fault is found, an honest release passes."""

import pandas as pd
import pytest

from odanon.privacy.verify import verify

ROWS = pd.DataFrame(
    {
        "origin": ["a", "a", "b", "b", "c"],
        "destination": ["x", "x", "x", "y", "y"],
        "person": [1, 2, 3, 4, 5],
        "trips": [2, 1, 1, 1, 4],
    }
)
FLOWS = pd.DataFrame({"origin": ["A"], "destination": ["X"], "trips": [4], "persons": [3]})
ORIGIN_TILES = pd.DataFrame({"area": ["A", "A", "C"], "tile": ["a", "b", "c"]})
DESTINATION_TILES = pd.DataFrame({"area": ["X", "Y"], "tile": ["x", "y"]})


def rules(
    flows: pd.DataFrame = FLOWS, suppressed: int = 5, k: int = 3, unit: str = "persons", rows: pd.DataFrame = ROWS
) -> set[str]:
    found = verify(rows, flows, ORIGIN_TILES, DESTINATION_TILES, suppressed_trips=suppressed, k=k, unit=unit)
    return {finding.rule for finding in found}


def test_an_honest_release_passes() -> None:
    assert rules() == set()


def test_k_is_a_boundary() -> None:
    assert rules(k=4) == {"at-least-k"}
    assert rules(k=2) == set()


def test_one_commuter_with_many_trips_is_one_person() -> None:
    flows = pd.DataFrame({"origin": ["C"], "destination": ["Y"], "trips": [4], "persons": [1]})
    assert rules(flows, suppressed=5, k=2) == {"at-least-k"}
    assert rules(flows, suppressed=5, k=2, unit="trips") == set()


def test_overlapping_flows_are_found() -> None:
    tiles = pd.concat([ORIGIN_TILES, pd.DataFrame({"area": ["B"], "tile": ["b"]})])
    flows = pd.concat([FLOWS, pd.DataFrame({"origin": ["B"], "destination": ["X"], "trips": [1], "persons": [1]})])
    found = verify(ROWS, flows, tiles, DESTINATION_TILES, suppressed_trips=4, k=1, unit="persons")
    assert {finding.rule for finding in found} == {"disjoint"}


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
    found = verify(
        ROWS, capped, ORIGIN_TILES, DESTINATION_TILES, suppressed_trips=5, k=3, unit="persons", contribution_cap=1
    )
    assert found == []
    found = verify(
        ROWS, FLOWS, ORIGIN_TILES, DESTINATION_TILES, suppressed_trips=5, k=3, unit="persons", contribution_cap=1
    )
    assert {finding.rule for finding in found} == {"volumes", "conservation"}


def test_overlapping_areas_are_fine_when_every_pair_is_assigned_to_one_flow() -> None:
    flows = pd.DataFrame({"origin": ["A", "A"], "destination": ["X", "XY"], "trips": [4, 1], "persons": [3, 1]})
    tiles = pd.concat([DESTINATION_TILES, pd.DataFrame({"area": ["XY", "XY"], "tile": ["x", "y"]})])
    told = pd.DataFrame({"origin": ["a", "b", "b", "c"], "destination": ["x", "x", "y", "y"], "flow": [0, 0, 1, -1]})

    def check(assignment: pd.DataFrame | None) -> set[str]:
        found = verify(ROWS, flows, ORIGIN_TILES, tiles, suppressed_trips=4, k=1, unit="persons", assignment=assignment)
        return {finding.rule for finding in found}

    assert check(told) == set()
    assert "disjoint" in check(None)
    assert "inside" in check(told.assign(flow=[0, 0, 0, -1]))
    assert "disjoint" in check(pd.concat([told, told.iloc[[1]].assign(flow=1)]))


def test_findings_name_the_rule_and_never_a_person() -> None:
    found = verify(ROWS, FLOWS, ORIGIN_TILES, DESTINATION_TILES, suppressed_trips=5, k=4, unit="persons")
    assert [str(finding) for finding in found] == ["at-least-k: flows with fewer than 4 persons (1)"]
