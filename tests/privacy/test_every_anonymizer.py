"""Whatever an installed anonymiser that may publish is given and asked, the verifier finds nothing in what would be published.

ODANON_STRESS=1 runs 10,000 cases over all of them.
"""

import os
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odanon import registry
from odanon.anonymize.matrix import ODMatrix
from odanon.errors import OdanonError
from odanon.hierarchy.tree import Hierarchy
from odanon.privacy.verify import verify
from odanon.testing.anonymizers import area_tiles, plain_assignment

PLUGINS: dict[str, Any] = {name: registry.find("anonymize", name).cls for name in registry.names("anonymize")}
NAMES = [name for name, cls in PLUGINS.items() if cls.verifiable]  # the gate refuses the others
CASES = -(-10_000 // len(NAMES)) if os.environ.get("ODANON_STRESS") else 15

PROMISES = st.fixed_dictionaries(
    {
        "k": st.integers(2, 6),
        "unit": st.sampled_from(["persons", "persons", "vehicles", "population", "trips"]),
        "suppression": st.sampled_from([0.0, 0.1, 0.3, 0.6]),
    },
    optional={
        "min_tiles": st.integers(1, 3),
        "max_tiles": st.integers(3, 6),
        "max_dominance": st.sampled_from([0.25, 0.5]),
        "contribution_cap": st.integers(1, 3),
        "report_small": st.booleans(),
    },
)


@st.composite
def cities(draw: st.DrawFn) -> tuple[Hierarchy, pd.DataFrame]:
    """A tree of any shape and rows of a few people on its tiles; many rows share a pair or a person."""
    n_inner = draw(st.integers(1, 5))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, n_inner))]
    parent += draw(st.lists(st.integers(0, n_inner - 1), min_size=1, max_size=9))
    parent += [node for node in range(n_inner) if node not in parent]
    tree = Hierarchy.from_parents([f"n{node}" for node in range(len(parent))], parent, kind="random")
    tile = st.sampled_from(tree.label[tree.tiles].tolist())
    row = st.tuples(tile, tile, st.integers(0, 11), st.integers(1, 10), st.sampled_from([0.4, 1.0, 5.4]))
    rows = draw(st.lists(row, min_size=1, max_size=60, unique_by=lambda r: r[:3]))
    return tree, pd.DataFrame(rows, columns=["origin", "destination", "person", "trips", "weight"])


def valid(promise: dict[str, Any]) -> dict[str, Any]:
    """The promise with what its unit needs and without what it refuses."""
    if promise["unit"] == "population":
        return {**promise, "k_population": 2.5 * promise["k"]}
    if promise["unit"] == "trips":
        return {name: value for name, value in promise.items() if name not in ("max_dominance", "contribution_cap")}
    return promise


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=CASES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(cities(), PROMISES)
def test_the_verifier_finds_nothing(name: str, place: tuple[Hierarchy, pd.DataFrame], asked: dict[str, Any]) -> None:
    tree, rows = place
    promise = valid(asked)
    try:
        plugin = registry.create("anonymize", name, promise)
        release = plugin.anonymize(ODMatrix.from_frame(rows, tree, tree, weight="weight"), tree, tree)
    except OdanonError:
        return  # refused: nothing is published
    limits = ("k", "unit", "k_population", "min_tiles", "max_tiles", "max_dominance", "contribution_cap")
    findings = verify(
        rows,
        release.flows.astype({"origin": "str", "destination": "str"}),
        area_tiles(release.origins, tree),
        area_tiles(release.destinations, tree),
        suppressed_trips=int(release.assignment.loc[release.assignment["flow"] < 0, "trips"].sum()),
        assignment=plain_assignment(release) if plugin.overlapping else None,
        **{limit: getattr(plugin, limit) for limit in limits},
    )
    assert not findings, "; ".join(map(str, findings))


PAIR = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")


def published_flows(name: str, rows: pd.DataFrame, **promise: Any) -> int:
    try:
        plugin = registry.create("anonymize", name, promise)
        return len(plugin.anonymize(ODMatrix.from_frame(rows, PAIR, PAIR, weight="weight"), PAIR, PAIR).flows)
    except OdanonError:
        return 0


@pytest.mark.parametrize("name", NAMES)
def test_one_device_of_weight_5_4_never_appears_at_k_5(name: str) -> None:
    device = pd.DataFrame({"origin": ["a"], "destination": ["b"], "person": [1], "trips": [1], "weight": [5.4]})
    for promise in ({"k": 5}, {"k": 5, "unit": "population", "k_population": 5.0}):
        assert published_flows(name, device, suppression=0.9, **promise) == 0


@pytest.mark.parametrize("name", NAMES)
def test_one_commuter_with_ten_trips_never_appears(name: str) -> None:
    """Neither alone nor beside enough people on another flow; with k people the flow does appear."""
    commuter = pd.DataFrame({"origin": ["a"], "destination": ["b"], "person": [1], "trips": [10], "weight": [1.0]})
    assert published_flows(name, commuter, k=5, suppression=0.9) == 0
    crowd = pd.DataFrame({"origin": "b", "destination": "a", "person": range(10, 20), "trips": 3, "weight": 1.0})
    rows = pd.concat([commuter, crowd])
    try:
        plugin = registry.create("anonymize", name, {"k": 5, "suppression": 0.5})
        flows = plugin.anonymize(ODMatrix.from_frame(rows, PAIR, PAIR), PAIR, PAIR).flows
    except OdanonError:
        return
    assert (flows["persons"] >= 5).all()
