"""k^m-anonymity, m = 1: people of each origin and of each destination alone."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.oigh import Oigh
from odanon.anonymizers.uniform_level import UniformLevel
from odanon.errors import OdanonError
from odanon.privacy.km import areas_below_k, tiles_below_k
from odanon.testing.anonymizers import area_tiles, plain_assignment, random_city

TILES = ["a", "b", "c", "d"]
AREA = {"a": "ab", "b": "ab", "c": "c", "d": "d"}

tables = st.lists(
    st.tuples(st.sampled_from(TILES), st.sampled_from(TILES), st.integers(0, 9)), min_size=1, max_size=40
).map(lambda rows: pd.DataFrame(rows, columns=["origin", "destination", "person"]))


def counts(findings: list) -> dict[str, int]:
    return {finding.rule: finding.count for finding in findings}


def below(people: dict[str, set[int]], k: int) -> int:
    return sum(len(who) < k for who in people.values())


@given(tables, st.integers(2, 6))
def test_tiles_of_a_table_are_counted_with_sets(rows: pd.DataFrame, k: int):
    for side in ("origin", "destination"):
        people = {tile: set(part["person"]) for tile, part in rows.groupby(side)}
        assert counts(tiles_below_k(rows, k=k)).get(f"k1-{side}s", 0) == below(people, k)


@given(
    tables, st.sets(st.tuples(st.sampled_from(["ab", "c", "d"]), st.sampled_from(["ab", "c", "d"]))), st.integers(2, 6)
)
def test_areas_of_a_release_count_the_people_of_their_published_flows(rows: pd.DataFrame, published: set, k: int):
    flows = pd.DataFrame(sorted(published), columns=["origin", "destination"])
    tiles = pd.DataFrame({"area": list(AREA.values()), "tile": list(AREA)})
    cells = {flow: {p for o, d, p in rows.itertuples(index=False) if (AREA[o], AREA[d]) == flow} for flow in published}
    number = {flow: i for i, flow in enumerate(sorted(published))}
    assignment = rows[["origin", "destination"]].drop_duplicates()
    assignment["flow"] = [number.get((AREA[o], AREA[d]), -1) for o, d in assignment.itertuples(index=False)]
    for given_assignment in (None, assignment):
        found = counts(areas_below_k(rows, flows, tiles, tiles, k=k, assignment=given_assignment))
        for place, side in enumerate(("origin", "destination")):
            people: dict[str, set[int]] = {}
            for flow, who in cells.items():
                people.setdefault(flow[place], set()).update(who)
            assert found.get(f"k1-{side}s", 0) == below(people, k)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cls", [Oigh, UniformLevel])
def test_flows_of_k_people_make_areas_of_k_people(cls: type, seed: int):
    tree, rows = random_city(seed)
    release = cls(k=4, suppression=0.2).anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    flows = release.flows.astype({"origin": "str", "destination": "str"})
    tiles = area_tiles(release.origins, tree), area_tiles(release.destinations, tree)
    assert areas_below_k(rows, flows, *tiles, k=4) == []
    assert areas_below_k(rows, flows, *tiles, k=4, assignment=plain_assignment(release)) == []


@pytest.mark.parametrize(("people", "broken"), [(4, True), (5, False), (6, False)])
def test_the_boundary_lies_at_k(people: int, broken: bool):
    rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(people)})
    flows, tiles = (
        pd.DataFrame({"origin": ["ab"], "destination": ["ab"]}),
        pd.DataFrame({"area": ["ab", "ab"], "tile": ["a", "b"]}),
    )
    assert bool(areas_below_k(rows, flows, tiles, tiles, k=5)) is broken
    assert bool(tiles_below_k(rows, k=5)) is broken


def test_many_trips_of_few_people_break_it():
    rows = pd.DataFrame({"origin": "a", "destination": ["b", "c"] * 10, "person": [1, 2] * 10})
    flows = pd.DataFrame({"origin": ["a", "a"], "destination": ["b", "c"]})
    tiles = pd.DataFrame({"area": ["a", "b", "c"], "tile": ["a", "b", "c"]})
    assert counts(areas_below_k(rows, flows, tiles, tiles, k=3)) == {"k1-origins": 1, "k1-destinations": 2}
    assert counts(areas_below_k(rows, flows, tiles, tiles, k=2)) == {"k1-destinations": 2}


def test_tables_without_people_are_refused():
    rows = pd.DataFrame({"origin": ["a"], "destination": ["b"], "trips": [10]})
    with pytest.raises(OdanonError, match="no person id"):
        tiles_below_k(rows, k=2)
