"""Conformance of anonymisers: on generated matrices, the independent verifier must find nothing."""

from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from odanon.anonymizers.anonymizer import LIMITS, Anonymizer
from odanon.door import RefusedError, release
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.testing.parameters import check_parameters

_CASES = 12
_LARGE = 20  # trips left out of which some area can surely tell k people
_PROMISES: tuple[dict[str, Any], ...] = (
    {"k": 2, "unit": "persons", "suppression": 0.1},
    {"k": 5, "unit": "persons", "suppression": 0.0},
    {"k": 4, "unit": "trips", "suppression": 0.3},
)
# A value of every limit that binds in the generated cities.
_ASKED: dict[str, dict[str, Any]] = {
    "k_population": {"unit": "population", "k_population": 12.0},
    "k_areas": {"k_areas": 9, "report_small": False},
    "min_tiles": {"min_tiles": 2},
    "max_tiles": {"max_tiles": 3},
    "max_dominance": {"max_dominance": 0.4},
    "contribution_cap": {"contribution_cap": 1},
    "report_small": {"report_small": True},
}
_SHARES_OF_WEIGHT = {**_ASKED["k_population"], **_ASKED["max_dominance"]}


def check_anonymizer(cls: type[Anonymizer], *, may_refuse: bool = False, **parameters: Any) -> None:
    """All rules for an anonymiser class; `parameters` are passed to every instance beside k, unit and suppression.

    A method that cannot always keep the budget, since it does not generalise as far as needed, `may_refuse` some
    matrices (with OdanonError), but not all of them.
    """
    check_parameters(cls(**parameters))
    made = 0
    for seed in range(_CASES):
        tree, rows = random_city(seed)
        for promise in _PROMISES:
            plugin = cls(**promise, **parameters)
            try:
                _check_release(plugin, tree, rows, seed)
            except OdanonError:
                if not may_refuse:
                    raise
            else:
                made += 1
    assert made, f"{cls.__name__} refuses every matrix"
    for limit in LIMITS:
        _check_limit(cls, limit, _ASKED[limit], parameters)
    if _SHARES_OF_WEIGHT.keys() - {"unit"} <= cls.keeps:
        _check_limit(cls, "max_dominance", _SHARES_OF_WEIGHT, parameters)
    _check_boundary(cls, parameters)
    _check_refusals(cls, parameters)


def _check_limit(cls: type[Anonymizer], limit: str, value: dict[str, Any], parameters: dict[str, Any]) -> None:
    """A limit that the class says it keeps is kept in every release; any other one is refused at once."""
    if limit in parameters:
        return
    asked = {"k": 3, "suppression": 0.6, **parameters, **value}
    if limit not in cls.keeps:
        try:
            cls(**asked)
        except (OdanonError, ValidationError):
            return
        raise AssertionError(f"{cls.__name__} accepts {limit} and does not name it in `keeps`; keep it or refuse it")
    made, large, fewer = 0, 0, 0
    for seed in range(_CASES):
        tree, rows = random_city(seed)
        rows = rows.assign(weight=1.5 * rows["trips"] * (1 + rows["person"] % 6))  # some weigh six times as much
        try:
            limited = released(cls(**asked), rows, tree)
        except OdanonError:
            continue  # what cannot be done may be refused
        made += 1
        if limit == "report_small":
            silent = released(cls(**{**asked, "report_small": False}), rows, tree)
            large += _lost(silent) >= _LARGE
            fewer += _lost(limited) < _lost(silent)
    assert made, f"{cls.__name__} names {limit} in `keeps` and refuses every matrix with it"
    assert fewer or not large, f"{cls.__name__} names report_small in `keeps` and never leaves out less with it"


def _lost(made: Release) -> int:
    """Trips that a release leaves out."""
    return int(made.assignment.loc[made.assignment["flow"] < 0, "trips"].sum())


def random_city(seed: int) -> tuple[Hierarchy, pd.DataFrame]:
    """A small uneven tree and person-level rows on its tiles (origin, destination, person, trips)."""
    rng = np.random.default_rng(seed)
    n_inner = int(rng.integers(1, 6))
    parent = [-1] + [int(rng.integers(0, node)) for node in range(1, n_inner)]
    n_tiles = int(rng.integers(1, 10))
    parent += [int(rng.integers(0, n_inner)) for _ in range(n_tiles)]
    childless = [node for node in range(n_inner) if node not in parent]
    parent += childless  # every inner node gets at least one tile
    labels = [f"n{node}" for node in range(len(parent))]
    tree = _placed(Hierarchy.from_parents(labels, parent, kind="random"), seed)
    tiles = tree.label[tree.tiles]
    n = int(rng.integers(30, 200))
    rows = pd.DataFrame(
        {
            "origin": tiles[rng.integers(0, len(tiles), n)],
            "destination": tiles[rng.integers(0, len(tiles), n)],
            "person": rng.integers(0, 25, n),
            "trips": rng.integers(1, 4, n),
        }
    )
    return tree, rows.groupby(["origin", "destination", "person"], as_index=False)["trips"].sum()


def _placed(tree: Hierarchy, seed: int) -> Hierarchy:
    """The tree with its tiles on a coarse grid, some of them in one place."""
    lat, lon = np.random.default_rng([seed, 1]).integers(0, 6, (2, tree.n_leaves)) / 100
    return tree.placed(tree.label[tree.tiles], 45 + lat, 5 + lon)


def _check_release(plugin: Anonymizer, tree: Hierarchy, rows: pd.DataFrame, seed: int) -> None:
    name = type(plugin).__name__
    before = rows.copy()
    made = released(plugin, rows, tree)
    pd.testing.assert_frame_equal(rows, before)
    lost = _lost(made)
    budget = plugin.suppression * rows["trips"].sum()
    assert lost <= budget + 1e-9, f"{name} suppresses {lost} trips, more than the budget of {budget:g}"
    again = released(plugin, rows.sample(frac=1, random_state=seed), tree)
    assert again.flows.equals(made.flows), f"{name} depends on the order of the rows"


def released(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy) -> Release:
    """The release of some rows as it comes through the door; what the verifier refuses fails the suite."""
    weight = "weight" if "weight" in rows else None
    try:
        matrices = {None: ODMatrix.from_frame(rows, tree, tree, weight=weight)}
        return release(matrices, tree, plugin, metrics=()).releases[None]
    except RefusedError as error:
        raise AssertionError(f"{type(plugin).__name__}: {'; '.join(map(str, error.findings))}") from None


def _check_boundary(cls: type[Anonymizer], parameters: dict[str, Any]) -> None:
    """A lone flow of k-1 people never appears; with k and k + 1 people it does."""
    tree = _placed(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair"), 0)
    for people, k in ((5, 5), (6, 5)):
        rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(people), "trips": 3})
        made = released(cls(k=k, **parameters), rows, tree)
        assert made.flows["trips"].sum() == 3 * people, f"{cls.__name__} drops a flow of {people} people at k = {k}"
    commuter = pd.DataFrame({"origin": "a", "destination": "b", "person": [1, 2, 3, 4], "trips": 10})
    _expect_refusal(cls(k=5, **parameters), commuter, tree, "fewer than k people")


def _check_refusals(cls: type[Anonymizer], parameters: dict[str, Any]) -> None:
    tree = _placed(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair"), 0)
    empty = pd.DataFrame({"origin": [], "destination": [], "person": [], "trips": []}).astype({"trips": int})
    _expect_refusal(cls(**parameters), empty, tree, "an empty matrix")


def _expect_refusal(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy, what: str) -> None:
    try:
        plugin.anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    except OdanonError:
        return
    raise AssertionError(f"{type(plugin).__name__} accepts {what}; raise OdanonError with a clear sentence")
