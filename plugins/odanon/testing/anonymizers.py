"""Conformance of anonymisers: on generated matrices, the independent verifier must find nothing."""

from typing import Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.gate.verifier import verify
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Areas, Release
from odanon.testing.parameters import check_parameters

_CASES = 12


def check_anonymizer(cls: type, *, may_refuse: bool = False, **parameters: Any) -> None:
    """All rules for an anonymiser class; `parameters` are passed to every instance beside k, unit and suppression.

    A method that cannot always keep the budget, since it does not generalise as far as needed, `may_refuse` some
    matrices (with OdanonError), but not all of them.
    """
    check_parameters(cls(**parameters))
    released = 0
    for seed in range(_CASES):
        tree, rows = random_city(seed)
        for k, unit, suppression in ((2, "persons", 0.1), (5, "persons", 0.0), (4, "trips", 0.3)):
            plugin = cls(k=k, unit=unit, suppression=suppression, **parameters)
            try:
                _check_release(plugin, tree, rows, seed)
            except OdanonError:
                if not may_refuse:
                    raise
            else:
                released += 1
    assert released, f"{cls.__name__} refuses every matrix"
    _check_boundary(cls, parameters)
    _check_refusals(cls, parameters)


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


def _check_release(plugin: Any, tree: Hierarchy, rows: pd.DataFrame, seed: int) -> None:
    name = type(plugin).__name__
    before = rows.copy()
    release = plugin.anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    pd.testing.assert_frame_equal(rows, before)
    assert_safe(release, rows, tree, plugin)
    shuffled = rows.sample(frac=1, random_state=seed)
    again = plugin.anonymize(ODMatrix.from_frame(shuffled, tree, tree), tree, tree)
    assert again.flows.equals(release.flows), f"{name} depends on the order of the rows"


def assert_safe(release: Release, rows: pd.DataFrame, tree: Hierarchy, plugin: Any) -> None:
    """The verifier finds nothing and the suppression budget is kept."""
    name = type(plugin).__name__
    lost = release.assignment.loc[release.assignment["flow"] < 0, "trips"].sum()
    findings = verify(
        rows,
        release.flows.astype({"origin": "str", "destination": "str"}),
        area_tiles(release.origins, tree),
        area_tiles(release.destinations, tree),
        suppressed_trips=int(lost),
        k=plugin.k,
        unit=plugin.unit,
        k_population=plugin.k_population,
        k_areas=plugin.k_areas,
        min_tiles=plugin.min_tiles,
        max_tiles=plugin.max_tiles,
        max_dominance=plugin.max_dominance,
        contribution_cap=plugin.contribution_cap,
        assignment=plain_assignment(release) if plugin.overlapping else None,
    )
    assert not findings, f"{name}: {'; '.join(map(str, findings))}"
    budget = plugin.suppression * rows["trips"].sum()
    assert lost <= budget + 1e-9, f"{name} suppresses {lost} trips, more than the budget of {budget:g}"


def plain_assignment(release: Release) -> pd.DataFrame:
    """(origin, destination, flow) with labels as text."""
    return release.assignment[["origin", "destination", "flow"]].astype({"origin": "str", "destination": "str"})


def area_tiles(areas: Areas, tree: Hierarchy) -> pd.DataFrame:
    """(area, tile, n_tiles) of one side of a release."""
    lengths = np.diff(areas.start)
    labels = tree.label[tree.tiles]
    table = pd.DataFrame({"area": np.repeat(areas.label, lengths), "tile": labels[areas.members]}, dtype="str")
    return table.assign(n_tiles=np.repeat(areas.n_tiles, lengths))


def _check_boundary(cls: type, parameters: dict[str, Any]) -> None:
    """A lone flow of k-1 people never appears; with k and k + 1 people it does."""
    tree = _placed(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair"), 0)
    for people, k in ((5, 5), (6, 5)):
        rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(people), "trips": 3})
        release = cls(k=k, **parameters).anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
        assert release.flows["trips"].sum() == 3 * people, f"{cls.__name__} drops a flow of {people} people at k = {k}"
    commuter = pd.DataFrame({"origin": "a", "destination": "b", "person": [1, 2, 3, 4], "trips": 10})
    _expect_refusal(cls(k=5, **parameters), commuter, tree, "fewer than k people")


def _check_refusals(cls: type, parameters: dict[str, Any]) -> None:
    tree = _placed(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair"), 0)
    empty = pd.DataFrame({"origin": [], "destination": [], "person": [], "trips": []}).astype({"trips": int})
    _expect_refusal(cls(**parameters), empty, tree, "an empty matrix")


def _expect_refusal(plugin: Any, rows: pd.DataFrame, tree: Hierarchy, what: str) -> None:
    try:
        plugin.anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    except OdanonError:
        return
    raise AssertionError(f"{type(plugin).__name__} accepts {what}; raise OdanonError with a clear sentence")
