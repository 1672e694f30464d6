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


class Liar(Release):
    """Shows another table every second time it is asked."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name != "flows":
            return value
        asked = self.__dict__.setdefault("asked", [])
        asked.append(name)
        return value if len(asked) % 2 else value.assign(trips=999)


class Name(str):
    """A name that prints as another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Alice's house"


def test_what_is_returned_is_what_was_judged_and_nobody_else_has_it() -> None:
    kept: list[Release] = []

    def keep(made: Release) -> Release:
        made.flows.attrs["who"] = "Alice"
        made.flows.index = pd.Index(["Alice", "Bob"], name="who")
        made.flows.columns.name = "Alice"
        kept.append(made)
        return made

    made = through(keep).releases[None]
    kept[0].flows["trips"] = 1
    kept[0].assignment["flow"] = -1
    kept[0].origins.label[:] = "Alice"
    kept[0].metrics["who"] = "Alice"
    assert made.flows["trips"].tolist() == [6, 5]
    assert made.assignment["flow"].tolist() == [0, 1]
    assert made.origins.label.tolist() == ["a", "b"]
    assert "who" not in made.metrics
    assert (made.flows.attrs, made.flows.columns.name) == ({}, None)
    assert type(made.flows.index) is pd.RangeIndex


def test_a_release_that_changes_while_it_is_read_is_read_once() -> None:
    made = through(
        lambda release: Liar(
            release.flows, release.assignment, release.origins, release.destinations, release.parameters, {}
        )
    )
    assert type(made.releases[None]) is Release
    assert made.releases[None].flows["trips"].tolist() == [6, 5]


def test_names_are_their_letters() -> None:
    label = np.array([Name("a"), Name("b")], dtype=object)
    made = through(lambda release: replace(release, origins=replace(release.origins, label=label))).releases[None]
    assert [type(name) for name in made.origins.label] == [str, str]
    assert made.origins.label.tolist() == ["a", "b"]


def test_what_an_algorithm_says_of_its_search_is_numbers_and_words() -> None:
    said = {"lambda": np.float64(2.0), "direction": "origins", "who": [1, 2], "rows": np.arange(3), "lock": object()}
    made = through(lambda release: replace(release, metrics=said), None).releases[None]
    assert {name: made.metrics[name] for name in ("lambda", "direction")} == {"lambda": 2.0, "direction": "origins"}
    assert not {"who", "rows", "lock"} & made.metrics.keys()
    assert through(lambda release: replace(release, metrics=None)).verified


def test_trees_and_matrices_stay_as_they_were() -> None:
    tree = Hierarchy.from_parents(["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="small")
    od = ODMatrix.from_frame(ROWS, tree, tree)

    @plugin
    class Poisons(Honest):
        """Leaves the trees and the matrix changed for whoever comes next."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            made = Honest.anonymize(self, od, origins, destinations)
            origins.n_tiles[:] = 99
            origins.label[:] = "person 0 slept here"
            od.person[:] = np.arange(len(od.person)) + 100  # type: ignore[index]
            return made

    assert release({None: od}, tree, Poisons(k=5)).verified
    assert tree.n_tiles.max() == 4
    assert tree.label.tolist() == ["a", "b", "c", "d", "all"]
    assert od.n_people == 11


def test_a_plugin_that_softens_itself_later_is_held_to_what_was_asked() -> None:
    @plugin
    class Softens(Honest):
        """Has k = 2 from the moment that somebody looks at it."""

        @property
        def sentence(self) -> str:
            return ""

        def check(self, od: ODMatrix) -> None:
            object.__setattr__(self, "k", 2)

    maker = Softens(k=7)
    object.__setattr__(maker, "k", 2)
    with pytest.raises(RefusedError, match="fewer than 7 persons"):
        release({None: ODMatrix.from_frame(ROWS, TREE, TREE)}, TREE, maker, Promise(k=7))


def test_the_promise_of_a_choice_is_that_of_the_file() -> None:
    found = Plugin("anonymize", "lowers", "somebody", Lowers)
    assert found.promise({}).k == 10
    assert found.promise({"k": 12, "max_tiles": 3}).max_tiles == 3


def test_max_tiles_that_is_dropped_is_a_lower_promise() -> None:
    @plugin
    class Drops(Honest):
        """Forgets max_tiles."""

        keeps = frozenset({"max_tiles"})

        def __post_init__(self) -> None:
            object.__setattr__(self, "max_tiles", None)

    with pytest.raises(OdanonError, match="promises less than it is asked to \\(max_tiles\\)"):
        Plugin("anonymize", "drops", "somebody", Drops).create({"k": 5, "max_tiles": 1})


def test_areas_of_noisy_flows_keep_their_limits_too() -> None:
    @plugin
    class Noisy(Honest):
        """Adds noise and publishes the whole map."""

        verifiable = False

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
            made = Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))
            unknown = pd.array([pd.NA] * len(made.flows), dtype="Int64")
            return replace(made, flows=made.flows.assign(persons=unknown))

    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    assert not release({None: od}, TREE, Noisy(k=5)).verified
    with pytest.raises(RefusedError, match="max-tiles"):
        release({None: od}, TREE, Noisy(k=5), Promise(k=5, max_tiles=1))


@pytest.mark.parametrize("known", [True, False], ids=["with ids", "without"])
def test_people_are_counted_again_whatever_k_counts(known: bool) -> None:
    rows = ROWS if known else ROWS.drop(columns="person")

    @plugin
    class Invents(Honest):
        """Tells numbers of people that it made up."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            made = Honest.anonymize(self, od, origins, destinations)
            return replace(made, flows=made.flows.assign(persons=pd.array([17, 18], dtype="Int64")))

    od = ODMatrix.from_frame(rows, TREE, TREE, person="person" if known else None)
    with pytest.raises(RefusedError, match="people: flows with a wrong number of people"):
        release({None: od}, TREE, Invents(k=5, unit="trips"))


@pytest.mark.parametrize("error", [SystemExit(0), OdanonError("no\n\x1b[31mway")])
def test_whatever_a_plugin_raises_is_one_line_with_its_name(error: BaseException) -> None:
    def fail(_: Release) -> Release:
        raise error

    with pytest.raises(OdanonError, match=r"^Changed") as caught:
        through(fail)
    assert str(caught.value).isprintable()
