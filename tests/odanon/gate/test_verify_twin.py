"""The fast verifier and a slow one, written as the rules read, name the same rules on whatever is put before them."""

from collections import Counter
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from odanon.gate.verifier import verify
from odanon.model.promise import Promise

TILES = "abcdef"
AREAS = {"A": "ab", "B": "b", "C": "cd", "D": "e", "E": "abcdef", "F": "af"}


def slow_rules(rows: pd.DataFrame, flows: pd.DataFrame, suppressed: int, promise: dict[str, Any]) -> set[str]:
    """Rules 1-3 by loops over people, tiles and pairs of rows; tile pairs in two flows make no other rule fail."""
    broken: set[str] = set()
    listed = [
        (f.origin, f.destination, f.kind, f.trips, f.persons, f.weight)
        for f in flows.itertuples()
        if f.origin in AREAS and f.destination in AREAS
    ]
    if len(listed) < len(flows):
        broken.add("known-zones")
    if len(set(zip(flows["origin"], flows["destination"], strict=True))) < len(flows):
        broken.add("duplicate-flows")
    used = [area for flow in listed for area in flow[:2]]
    if any(len(AREAS[area]) < promise["min_tiles"] for area in used):
        broken.add("min-tiles")
    if promise["max_tiles"] and any(len(AREAS[area]) > promise["max_tiles"] for area in used):
        broken.add("max-tiles")
    for number, one in enumerate(listed):
        for two in listed[:number]:
            cells = cells_of(one), cells_of(two)
            around = two if cells[0] < cells[1] else one if cells[1] < cells[0] else None
            if cells[0] & cells[1] and (around is None or around[2] != "rest"):
                broken.add("disjoint")
    published = covered = 0
    for flow in listed:
        told_trips, told_persons, told_weight = flow[3:]
        finer = {cell for other in listed if cells_of(other) < cells_of(flow) for cell in cells_of(other)}
        inside = [r for r in rows.itertuples() if (r.origin, r.destination) in cells_of(flow) - finer]
        mine: Counter[int] = Counter()
        for row in inside:
            mine[row.person] += row.trips
        capped = {who: min(n, promise["contribution_cap"] or n) for who, n in mine.items()}
        covered += sum(mine.values()) - sum(capped.values())
        published += told_trips
        if len(mine) < promise["k"]:
            broken.add("at-least-k")
        if len(mine) != told_persons:
            broken.add("people")
        if sum(capped.values()) != told_trips:
            broken.add("volumes")
        if sum(row.weight for row in inside) < promise["k_population"] - 1e-6:
            broken.add("population")
        if promise["max_dominance"] and max(capped.values(), default=0) > promise["max_dominance"] * sum(
            capped.values()
        ):
            broken.add("max-dominance")
        weighed: Counter[int] = Counter()
        for row in inside:
            weighed[row.person] += row.weight
        heaviest, weight = max(weighed.values(), default=0), sum(weighed.values())
        if promise["max_dominance"] and heaviest > promise["max_dominance"] * weight:
            broken.add("max-dominance")
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if step >= heaviest)
        if told_weight != max(int(weight / step + 0.5) * step, step):
            broken.add("weights")
    if published + covered + suppressed != rows["trips"].sum():
        broken.add("conservation")
    return broken


def cells_of(flow: tuple[Any, ...]) -> set[tuple[str, str]]:
    return {(o, d) for o in AREAS.get(flow[0], "") for d in AREAS.get(flow[1], "")}


ROW = st.tuples(
    st.sampled_from(TILES), st.sampled_from(TILES), st.integers(0, 5), st.integers(1, 3), st.sampled_from([0.5, 1, 2.5])
)
PROMISE = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "k_population": st.sampled_from([0.5, 4.0]),
        "min_tiles": st.integers(1, 2),
        "max_tiles": st.sampled_from([None, 2, 4]),
        "max_dominance": st.sampled_from([None, 0.4]),
        "contribution_cap": st.sampled_from([None, 2]),
    }
)
LABELS = st.sampled_from([*AREAS, "Z"])


ROWS = st.lists(st.tuples(LABELS, LABELS, st.sampled_from(["flow", "rest"])), max_size=5)


@given(st.lists(ROW, min_size=1, max_size=30), ROWS, PROMISE, st.data())
def test_the_twins_agree(rows_: list[tuple], told: list[tuple], promise: dict[str, Any], data: st.DataObject) -> None:
    rows = pd.DataFrame(rows_, columns=["origin", "destination", "person", "trips", "weight"])
    honest = []
    for row in told:
        finer = {cell for other in told if cells_of(other) < cells_of(row) for cell in cells_of(other)}
        mine_too = [cell in cells_of(row) - finer for cell in zip(rows["origin"], rows["destination"], strict=True)]
        inside = rows[mine_too]
        mine = inside.groupby("person")["trips"].sum()
        trips = int(mine.clip(upper=promise["contribution_cap"]).sum())
        wrong = data.draw(st.sampled_from([(0, 0), (0, 0), (0, 0), (1, 0), (0, 1)]))
        rounded = data.draw(st.sampled_from([1, 2, 5, 10]))  # right often enough
        weight = max(int(inside["weight"].sum() / rounded + 0.5) * rounded, rounded)
        honest.append((*row, trips + wrong[0], len(mine) + wrong[1], float(weight)))
    flows = pd.DataFrame(honest, columns=["origin", "destination", "kind", "trips", "persons", "weight"])
    flows = flows.astype({"origin": "str", "destination": "str", "trips": int, "persons": int, "weight": float})
    tiles = pd.DataFrame([(area, tile) for area, inside in AREAS.items() for tile in inside], columns=["area", "tile"])
    suppressed = max(int(rows["trips"].sum() - flows["trips"].sum()) + data.draw(st.sampled_from([0, 0, 1])), 0)
    slow = slow_rules(rows, flows, suppressed, promise)
    found = verify(rows, flows, tiles, tiles, Promise(unit="population", **promise), suppressed_trips=suppressed)
    fast = {finding.rule for finding in found}
    structure = {"disjoint", "duplicate-flows", "known-zones"}  # where these fail, what else fails may differ
    assert slow & structure == fast & structure
    if not structure & slow:
        assert slow == fast
