"""Anonymisers that mean well and are careless: the door puts their releases in order, or says what is wrong in a sentence."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from odanon import registry
from odanon.api import Anonymizer, Areas, Hierarchy, ODMatrix, Release, parameter, parameters_of, plugin
from odanon.door import RefusedError, Released, release
from odanon.errors import OdanonError
from odanon.metrics.left_out import LeftOut
from odanon.model.files.releases import read_releases, write_releases
from odanon.registry import Plugin

TREE = Hierarchy.from_parents(["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="small")
ROWS = pd.DataFrame(
    {
        "origin": ["a"] * 6 + ["b"] * 5 + ["c"] * 3,
        "destination": ["b"] * 6 + ["c"] * 5 + ["d"] * 3,
        "person": range(14),
        "trips": 1,
    }
)
OD = ODMatrix.from_frame(ROWS, TREE, TREE)
Change = Callable[[Release], Any]


@plugin
class Tiles(Anonymizer):
    """Flows between tiles; what is below k is left out."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        kept = np.bincount(od.row_pair) >= self.k
        nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
        return Release.from_nodes(
            od, origins, destinations, *(np.where(kept, node, -1) for node in nodes), parameters_of(self)
        )


@plugin
class Noisy(Tiles):
    """The same, and says that its trips carry noise."""

    verifiable: ClassVar[bool] = False

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        made = Tiles.anonymize(self, od, origins, destinations)
        return replace(made, flows=made.flows.assign(persons=pd.array([pd.NA] * len(made.flows), dtype="Int64")))


def through(change: Change, base: type[Anonymizer] = Tiles) -> Released[None]:
    @plugin
    class Careless(base):  # type: ignore[misc, valid-type]
        """A good release with one thing changed."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Any:
            return change(base.anonymize(self, od, origins, destinations))

    return release({None: OD}, TREE, Careless(k=5))


def pairs_in_another_order(made: Release) -> Release:
    return replace(made, assignment=made.assignment.iloc[::-1])


def pairs_as_texts(made: Release) -> Release:
    return replace(made, assignment=made.assignment.astype({"origin": object, "destination": "str"}).iloc[[1, 2, 0]])


@pytest.mark.parametrize("change", [pairs_in_another_order, pairs_as_texts])
def test_the_assignment_is_in_the_order_of_the_matrix_whatever_the_order_of_its_maker(change: Change) -> None:
    """Metrics and the risk report read the flow of the i-th pair in the i-th row."""
    good, made = through(lambda release: release), through(change)
    pd.testing.assert_frame_equal(made.releases[None].assignment, good.releases[None].assignment)
    assert made.figures == pytest.approx(good.figures, nan_ok=True)
    told = [LeftOut.of({None: OD}, each.releases, {None: np.arange(14)}, 4) for each in (good, made)]
    assert told[0].gone.tolist() == told[1].gone.tolist() == [11, 12, 13]


def note(made: Release) -> Release:
    """A pair of nobody's trips in no flow, as a place for remarks."""
    line = pd.DataFrame({"origin": ["Alice"], "destination": ["her house"], "trips": [0], "flow": [-1]})
    table = made.assignment.astype({"origin": "str", "destination": "str"})
    return replace(made, assignment=pd.concat([line, table], ignore_index=True))


@pytest.mark.parametrize("base", [Tiles, Noisy])
@pytest.mark.parametrize(
    "change",
    [
        note,
        lambda made: replace(made, assignment=made.assignment.iloc[:2]),
        lambda made: replace(made, assignment=made.assignment.iloc[[0, 1, 2, 2]]),
        lambda made: replace(made, assignment=made.assignment.assign(trips=[6, 5, 4])),
        lambda made: replace(made, assignment=made.assignment.assign(origin=None)),
    ],
    ids=["a remark", "too few", "twice", "other trips", "no names"],
)
def test_an_assignment_that_lists_anything_but_the_pairs_is_refused(change: Change, base: type[Anonymizer]) -> None:
    with pytest.raises(RefusedError, match="assignment: the tile pairs that are listed are not those") as caught:
        through(change, base)
    assert "Alice" not in str(caught.value)


def two_names_of_one_area(made: Release) -> Release:
    """Two flows, each with an area of its own around the same tiles."""
    areas = Areas(
        np.array(["cluster 1", "cluster 2"], dtype=object),
        np.array([2, 2]),
        np.array([-1, -1], dtype=np.int16),
        np.array([0, 2, 4]),
        np.array([0, 1, 0, 1], dtype=np.int32),
    )
    origin, destination = np.array([5, 6, -1]), np.array([1, 2, -1])
    return Release.from_nodes(OD, TREE, TREE, origin, destination, made.parameters, extra_origins=areas)


def test_areas_of_the_same_tiles_are_one_area() -> None:
    made = through(two_names_of_one_area).releases[None]
    assert len(made.origins.label) == 1
    assert made.flows["origin"].nunique() == 1
    assert made.flows[["destination", "trips", "origin_tiles"]].values.tolist() == [["b", 6, 2], ["c", 5, 2]]


@pytest.mark.parametrize("side", ["flows", "areas"])
def test_names_that_no_file_can_hold_are_refused(side: str) -> None:
    half = "a\ud800"

    def change(made: Release) -> Release:
        if side == "areas":
            return replace(made, origins=replace(made.origins, label=np.array([half, "b"], dtype=object)))
        return replace(made, flows=made.flows.assign(origin=pd.Series([half, "b"], dtype=object)))

    with pytest.raises(RefusedError, match="shape"):
        through(change)


class Charming(np.ndarray):
    """Whatever it is compared with, it is the same."""

    def __ne__(self, other: object) -> Any:
        return np.zeros(len(self), dtype=bool)


class Series(pd.Series):
    """Hands out numbers that compare as they like."""

    @property
    def _constructor(self) -> type["Series"]:
        return Series

    def to_numpy(self, *given: Any, **named: Any) -> Any:
        return np.asarray(pd.Series(self).to_numpy(*given, **named)).view(Charming)

    def fillna(self, *_: Any, **__: Any) -> "Series":  # type: ignore[override]
        return self


class Frame(pd.DataFrame):
    """A table of such columns."""

    @property
    def _constructor(self) -> type["Frame"]:
        return Frame

    @property
    def _constructor_sliced(self) -> type[Series]:
        return Series


def test_arrays_that_compare_in_their_own_way_become_plain_ones() -> None:
    with pytest.raises(RefusedError, match="people: flows with a wrong number of people"):
        through(lambda made: replace(made, flows=Frame(made.flows.assign(persons=pd.array([60, 50], dtype="Int64")))))


def test_what_an_algorithm_says_of_its_search_is_short_printable_and_can_be_counted() -> None:
    said = {"\x1b[2J" + "x" * 200: 1, "word": "\x1b[2Jtwo\nlines", "huge": 10**400, "steps": 7}
    known = through(lambda made: made).releases[None].metrics
    made = through(lambda made: replace(made, metrics=said)).releases[None].metrics
    assert {name: value for name, value in made.items() if name not in known} == {
        "[2J" + "x" * 96: 1,
        "word": "[2Jtwolines",
        "steps": 7,
    }


def test_too_few_people_are_told_by_the_door_where_the_anonymiser_does_not_look() -> None:
    @plugin
    class Looks(Tiles):
        """Checks nothing."""

        def check(self, od: ODMatrix) -> None: ...

    with pytest.raises(OdanonError, match="no time bin reaches k = 50 in all"):
        release({None: OD}, TREE, Looks(k=50))


def test_what_an_algorithm_says_of_its_search_may_mean_something_else_than_ours(tmp_path: Path) -> None:
    """A pipeline keeps the multiplier and the direction of ours; a stranger's words of that name are left out."""
    made = through(lambda made: replace(made, metrics={"lambda": "many", "direction": 3})).releases[None]
    write_releases(tmp_path, {datetime(2026, 3, 2, tzinfo=UTC): made}, TREE, TREE)
    (again,) = read_releases(tmp_path, TREE, TREE, {}).values()
    assert again.metrics == {}


def test_parameters_that_cannot_be_written_down_are_one_sentence() -> None:
    @plugin
    class Untold(Tiles):
        """Keeps something among its parameters that no file can hold."""

        thing: Any = parameter(None, "a thing")

        def __post_init__(self) -> None:
            object.__setattr__(self, "thing", object())

    with pytest.raises(OdanonError, match="'untold' of somebody cannot be made"):
        Plugin("anonymize", "untold", "somebody", Untold).create({"k": 5})


def test_why_a_parameter_is_refused_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    @plugin
    class Wordy(Tiles):
        """Says more than a sentence."""

        def __post_init__(self) -> None:
            raise ValueError("two\n\x1b[2Jlines")

    monkeypatch.setattr(registry, "find", lambda *_: Plugin("anonymize", "wordy", "somebody", Wordy))
    with pytest.raises(OdanonError, match=r"^wordy: two  \[2Jlines$"):
        registry.create("anonymize", "wordy", {})


class Raising(list[Any]):
    """Releases that cannot be looked at."""

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("secret person 17")


@plugin
class Windowed(Tiles):
    """Makes a window of them."""

    def anonymize_window(self, matrices: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> list[Release]:
        return Raising([self.anonymize(od, origins, destinations) for od in matrices])


def test_releases_that_cannot_be_looked_at_are_a_sentence() -> None:
    with pytest.raises(OdanonError, match="Windowed failed with ValueError") as refused:
        release({None: OD}, TREE, Windowed(k=5))
    assert "secret" not in str(refused.value)


@plugin
class Forgets(Tiles):
    """Has a set-up of its own, and forgets the one that it inherits."""

    def __post_init__(self) -> None:
        pass


def test_a_limit_that_is_not_kept_is_refused_whatever_a_plugin_forgets() -> None:
    assert len(release({None: OD}, TREE, Forgets(k=5)).releases[None].flows)
    with pytest.raises(OdanonError, match="Forgets does not keep report_small; remove report_small"):
        release({None: OD}, TREE, Forgets(k=5, report_small=True))


def test_interrupts_are_nobody_elses() -> None:
    @plugin
    class Stopped(Anonymizer):
        """Somebody presses Ctrl-C."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release({None: OD}, TREE, Stopped(k=5))
