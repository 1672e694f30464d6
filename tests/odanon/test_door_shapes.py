"""What a release must look like to pass the door: columns, types, areas and their names; and plugins that return nonsense."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from odanon.api import Anonymizer, Areas, Hierarchy, ODMatrix, Promise, Release, parameters_of, plugin
from odanon.door import RefusedError, Released, release
from odanon.errors import OdanonError
from odanon.registry import Plugin

TREE = Hierarchy.from_parents(["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="small")
ROWS = pd.DataFrame(
    {"origin": ["a"] * 6 + ["b"] * 5, "destination": ["b"] * 6 + ["c"] * 5, "person": range(11), "trips": 1}
)
Change = Callable[[Release], Any]


@plugin
class Honest(Anonymizer):
    """Publishes the rows as they are, which here is safe."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
        return Release.from_nodes(od, origins, destinations, *nodes, parameters_of(self))


def through(change: Change, promise: Promise | None = None, tree: Hierarchy = TREE) -> Released[None]:
    @plugin
    class Changed(Honest):
        """The honest release with one thing changed."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            return change(Honest.anonymize(self, od, origins, destinations))

    return release({None: ODMatrix.from_frame(ROWS, tree, tree)}, tree, Changed(k=5), promise)


def flows(**columns: Any) -> Change:
    return lambda made: replace(made, flows=made.flows.assign(**columns))


def assigned(**columns: Any) -> Change:
    return lambda made: replace(made, assignment=made.assignment.assign(**columns))


def origins(**arrays: Any) -> Change:
    return lambda made: replace(made, origins=replace(made.origins, **arrays))


def test_the_honest_release_passes() -> None:
    made = through(lambda release: release)
    assert made.verified
    assert made.releases[None].flows["trips"].tolist() == [6, 5]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (flows(note="Alice at 10:00"), "shape"),
        (flows(weight=1.0), "shape"),
        (flows(trips=[6.5, 5.5]), "shape"),
        (flows(trips=["6", "5"]), "shape"),
        (flows(trips=[2**60, 5]), "shape"),
        (flows(persons=[6.2, 5.1]), "shape"),
        (flows(origin=[1, 2]), "shape"),
        (lambda made: replace(made, flows=made.flows.drop(columns="persons")), "shape"),
        (lambda made: replace(made, flows=pd.concat([made.flows, made.flows[["trips"]]], axis=1)), "shape"),
        (lambda made: replace(made, flows=None), "shape"),
        (lambda made: replace(made, assignment={}), "shape"),
        (lambda made: replace(made, origins=None), "shape"),
        (assigned(flow=[0, 7]), "shape"),
        (assigned(who="Alice"), "shape"),
        (origins(start=np.array([0, 1])), "shape"),
        (origins(members=np.array([0, 99], dtype=np.int32)), "shape"),
        (origins(start=np.array([0, 2, 3]), members=np.array([0, 0, 1], dtype=np.int32)), "shape"),
        (origins(label=np.array(["a", "a"], dtype=object)), "shape"),
        (assigned(flow=[1, 0]), "assignment"),
        (assigned(flow=[-1, 1]), "assignment"),
        (lambda made: replace(made, assignment=made.assignment.iloc[:1]), "assignment"),
        (lambda made: replace(made, flows=made.flows.assign(origin=["a", "nowhere"])), "known-zones"),
    ],
)
def test_what_is_no_release_is_refused(change: Change, rule: str) -> None:
    with pytest.raises(RefusedError) as caught:
        through(change)
    assert rule in {finding.rule for finding in caught.value.findings}
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize("nonsense", [None, "flows", {}, 7])
def test_an_anonymiser_that_returns_something_else_is_named(nonsense: Any) -> None:
    with pytest.raises(OdanonError, match="Changed returned something that is no Release"):
        through(lambda _: nonsense)


def test_an_anonymiser_that_fails_is_one_sentence() -> None:
    def fail(_: Release) -> Release:
        raise KeyError("Alice")

    with pytest.raises(OdanonError, match="Changed failed with KeyError") as caught:
        through(fail)
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize("window", [None, {}, "all"])
def test_a_window_of_nothing_is_named(window: Any) -> None:
    @plugin
    class Window(Honest):
        """Anonymises all time bins at once, badly."""

        def anonymize_window(self, *_: Any) -> Any:
            return window

    with pytest.raises(OdanonError, match="Window returned something that is no Release"):
        release({None: ODMatrix.from_frame(ROWS, TREE, TREE)}, TREE, Window(k=5))


def test_a_class_that_is_no_anonymiser_is_named() -> None:
    @plugin
    class Bare:
        """Has the method and nothing else."""

        k: str = "five"

        def anonymize(self, *_: Any) -> None: ...

    with pytest.raises(OdanonError, match="Bare has no check and no sentence"):
        release({None: ODMatrix.from_frame(ROWS, TREE, TREE)}, TREE, Bare())  # type: ignore[arg-type]

    @plugin
    class Words(Honest):
        """Writes k as a word."""

        k: str = "five"  # type: ignore[assignment]

    with pytest.raises(OdanonError, match="Words does not say what it promises"):
        release({None: ODMatrix.from_frame(ROWS, TREE, TREE)}, TREE, Words())


def test_nothing_in_is_a_sentence() -> None:
    with pytest.raises(OdanonError, match="no matrix"):
        release({}, TREE, Honest(k=5))


def one_area(label: str, tiles: list[int], n_tiles: int) -> Change:
    """All trips from one area that is no zone; its name and size are what the plugin likes."""

    def change(made: Release) -> Release:
        area = Areas(
            np.array([label], dtype=object),
            np.array([n_tiles]),
            np.array([3], dtype=np.int16),
            np.array([0, len(tiles)]),
            np.array(tiles, dtype=np.int32),
        )
        names = pd.Categorical([label, label])
        return replace(made, origins=area, flows=made.flows.assign(origin=names, origin_tiles=n_tiles))

    return change


def test_names_sizes_and_levels_of_areas_are_derived() -> None:
    made = through(one_area("Alice's house", [0, 1], 99)).releases[None]
    assert made.origins.label[0].startswith("box ")
    assert made.flows["origin"].tolist() == [made.origins.label[0]] * 2
    assert (made.origins.n_tiles.tolist(), made.origins.level.tolist()) == ([2], [-1])
    assert made.flows["origin_tiles"].tolist() == [2, 2]
    called_a_rest = through(one_area("rest of Alice", [0, 1], 99)).releases[None]
    assert called_a_rest.origins.label.tolist() == made.origins.label.tolist()


@pytest.mark.parametrize("coverage", ["observed", "full"])
def test_min_tiles_counts_the_tiles_that_are_listed(coverage: str) -> None:
    parents, sizes = [-1, 0, 0, 0, 0], [50, 1, 1, 1, 1]
    labels = ["all", "a", "b", "c", "d"]
    tree = Hierarchy.from_parents(labels, parents, kind="h3", coverage=coverage, n_tiles=sizes)
    with pytest.raises(RefusedError, match="min-tiles: origin areas of fewer than 3 tiles"):
        through(one_area("wide", [0, 1], 40), Promise(k=5, min_tiles=3), tree)


def test_areas_that_no_flow_uses_are_left_out() -> None:
    everywhere = Areas.from_nodes(TREE, np.arange(len(TREE)))
    made = through(lambda release: replace(release, origins=everywhere)).releases[None]
    assert made.origins.label.tolist() == ["a", "b"]


def test_parameters_are_those_that_the_anonymiser_was_made_with() -> None:
    made = through(lambda release: replace(release, parameters={"k": 1, "note": "Alice"})).releases[None]
    assert made.parameters["k"] == 5
    assert "note" not in made.parameters


@plugin
class Lowers(Honest):
    """Takes k and works with a smaller one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", 2)


@pytest.mark.parametrize("given", [{"k": 10}, {}])
def test_an_anonymiser_that_lowers_its_promise_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(OdanonError, match="lowers of somebody promises less than it is asked to"):
        Plugin("anonymize", "lowers", "somebody", Lowers).create(given)


def test_trips_that_no_computer_can_count_are_refused() -> None:
    with pytest.raises(OdanonError, match="more than two thousand million trips on a row"):
        ODMatrix.from_frame(ROWS.assign(trips=2**31), TREE, TREE)
    sizes = np.array([2**60, 1, 1, 1, 1])
    tree = Hierarchy.from_parents(
        ["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="h3", coverage="full", n_tiles=sizes
    )
    with pytest.raises(OdanonError, match="cannot be counted in 64 bits"):
        release({None: ODMatrix.from_frame(ROWS, tree, tree)}, tree, Honest(k=5))
