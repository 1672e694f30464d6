"""k^m-anonymity, m = 1: people of each origin and of each destination alone."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.anonymizers.levels.oigh import Oigh
from odanon.anonymizers.levels.uniform import UniformLevel
from odanon.gate.areas import areas_below_k
from odanon.gate.release import area_tiles
from odanon.model.matrix import ODMatrix
from odanon.testing.trial.cities import random_city

TILES = ["a", "b", "c", "d"]
MEMBERS = {"a": "a", "ab": "ab", "c": "c", "d": "d", "map": "abcd"}  # areas may contain one another
AREA_TILES = pd.DataFrame([(area, tile) for area, tiles in MEMBERS.items() for tile in tiles], columns=["area", "tile"])

tables = st.lists(
    st.tuples(st.sampled_from(TILES), st.sampled_from(TILES), st.integers(0, 9), st.integers(1, 3)),
    min_size=1,
    max_size=40,
).map(lambda rows: pd.DataFrame(rows, columns=["origin", "destination", "person", "trips"]))
named = st.sets(st.tuples(st.sampled_from(list(MEMBERS)), st.sampled_from(list(MEMBERS))))


@given(tables, named, st.integers(2, 6), st.sampled_from(["persons", "trips"]))
def test_areas_count_everybody_who_leaves_or_enters_them(rows: pd.DataFrame, published: set, k: int, unit: str):
    flows = pd.DataFrame(sorted(published), columns=["origin", "destination"], dtype="str")
    found = areas_below_k(rows, flows, AREA_TILES, AREA_TILES, k=k, unit=unit)
    for place, side in enumerate(("origin", "destination")):
        below = 0
        for area in {flow[place] for flow in published}:
            here = rows[rows[side].isin(list(MEMBERS[area]))]
            below += (here["trips"].sum() if unit == "trips" else len(set(here["person"]))) < k
        assert found[side] == below


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cls", [Oigh, UniformLevel])
def test_flows_of_k_people_make_areas_of_k_people(cls: type, seed: int):
    tree, rows = random_city(seed)
    release = cls(k=4, suppression=0.2).anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    flows = release.flows.astype({"origin": "str", "destination": "str"})
    tiles = area_tiles(release.origins, tree), area_tiles(release.destinations, tree)
    assert areas_below_k(rows, flows, *tiles, k=4) == {"origin": 0, "destination": 0}


@pytest.mark.parametrize(("people", "below"), [(4, 1), (5, 0), (6, 0)])
def test_the_boundary_lies_at_k(people: int, below: int):
    rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(people), "trips": 1})
    flows = pd.DataFrame({"origin": ["ab"], "destination": ["ab"]})
    assert areas_below_k(rows, flows, AREA_TILES, AREA_TILES, k=5) == {"origin": below, "destination": below}


def test_many_trips_of_few_people_break_it():
    rows = pd.DataFrame({"origin": "a", "destination": ["c", "d"] * 10, "person": [1, 2] * 10, "trips": 1})
    flows = pd.DataFrame({"origin": ["a", "a"], "destination": ["c", "d"]})
    assert areas_below_k(rows, flows, AREA_TILES, AREA_TILES, k=3) == {"origin": 1, "destination": 2}
    assert areas_below_k(rows, flows, AREA_TILES, AREA_TILES, k=2) == {"origin": 0, "destination": 2}
    assert areas_below_k(rows, flows, AREA_TILES, AREA_TILES, k=3, unit="trips") == {"origin": 0, "destination": 0}
