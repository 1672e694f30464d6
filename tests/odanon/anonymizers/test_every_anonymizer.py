"""Whatever an installed anonymiser that may publish is given and asked, the verifier finds nothing in what would be published.

ODANON_STRESS=1 runs 10,000 cases over all of them.
"""

import os
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from odanon import registry
from odanon.door import RefusedError, release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.testing import anonymizers, check_anonymizer

STRESS = bool(os.environ.get("ODANON_STRESS"))
PLUGINS: dict[str, Any] = {name: registry.find("anonymize", name).cls for name in registry.names("anonymize")}
REFUSING = ("odkanon", "suppression")  # refuse many cities; their own tests run the suite over all
NAMES = [name for name, cls in PLUGINS.items() if cls.verifiable]  # the gate refuses the others
CASES = -(-10_000 // len(NAMES)) if STRESS else 8
OURS = ("atg-homogeneous", "atg-joint", "atg-lattice")  # the others are there to compare with

TRIED: set[str] = set()
PUBLISHED: Counter[str] = Counter()

LIMITS = st.sampled_from(
    [
        {},
        {},
        {},
        {"min_tiles": 2},
        {"k_areas": 9},
        {"max_tiles": 4},
        {"max_dominance": 0.4},
        {"contribution_cap": 2},
        {"report_small": True},
        {"min_tiles": 2, "max_tiles": 6, "max_dominance": 0.5, "contribution_cap": 3, "report_small": True},
    ]
)
PROMISES = st.builds(
    lambda k, unit, suppression, limits: {"k": k, "unit": unit, "suppression": suppression, **limits},
    st.integers(2, 6),
    st.sampled_from(["persons", "persons", "vehicles", "population", "trips"]),
    st.sampled_from([0.0, 0.1, 0.3, 0.6]),
    LIMITS,
)


@st.composite
def cities(draw: st.DrawFn) -> tuple[Hierarchy, pd.DataFrame]:
    """A tree of any shape and rows of a few people on its tiles; many rows share a pair or a person."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_inner, n_tiles = draw(st.integers(1, 5)), draw(st.integers(1, 10))
    parent = [-1, *(int(rng.integers(0, node)) for node in range(1, n_inner))]
    parent += rng.integers(0, n_inner, n_tiles).tolist()
    parent += [node for node in range(n_inner) if node not in parent]
    tree = Hierarchy.from_parents([f"n{node}" for node in range(len(parent))], parent, kind="random")
    n_rows = draw(st.integers(15, 120))
    tiles = tree.label[tree.tiles]
    tree = tree.placed(tiles, rng.uniform(45.0, 45.2, len(tiles)), rng.uniform(5.0, 5.3, len(tiles)))
    pull = rng.dirichlet(np.full(len(tiles), draw(st.sampled_from([0.3, 1.0, 5.0]))))
    rows = pd.DataFrame(
        {
            "origin": rng.choice(tiles, n_rows, p=pull),
            "destination": rng.choice(tiles, n_rows, p=pull),
            "person": rng.integers(0, draw(st.sampled_from([8, 15, 40])), n_rows),
            "trips": rng.choice([1, 1, 1, 2, 10], n_rows),
            "weight": rng.choice([0.4, 1.0, 5.4], n_rows),
        }
    )
    return tree, rows.drop_duplicates(["origin", "destination", "person"])


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
    TRIED.add(name)
    try:
        plugin = registry.create("anonymize", name, promise)
        release({None: ODMatrix.from_frame(rows, tree, tree, weight="weight")}, tree, plugin, metrics=())
    except RefusedError:
        raise
    except OdanonError:
        event("refused")  # nothing is published
        return
    PUBLISHED[name] += 1


@pytest.mark.parametrize("name", [name for name in PLUGINS if name not in REFUSING])
def test_every_installed_anonymiser_conforms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in OURS and not STRESS:
        monkeypatch.setattr(anonymizers, "_ENOUGH", 1)
    check_anonymizer(PLUGINS[name])


def test_no_anonymiser_passed_by_refusing_everything() -> None:
    """Of those that ran above."""
    assert all(PUBLISHED[name] for name in TRIED)


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
