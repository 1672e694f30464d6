"""The one door: whoever makes a release is verified, whatever the plugin says of itself."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import odanon
from odanon.api import Anonymizer, Figure, Hierarchy, ODMatrix, Promise, Release, parameters_of, plugin
from odanon.door import RefusedError, release
from odanon.errors import OdanonError

TREE = Hierarchy.from_parents(["all", "a", "b", "c"], [-1, 0, 0, 0], kind="small")
ROWS = pd.DataFrame(
    {
        "origin": ["a"] * 6 + ["b"],
        "destination": ["b"] * 6 + ["c"],
        "person": [1, 2, 3, 4, 5, 6, 7],
        "trips": 1,
    }
)


def as_it_is(maker: Any, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
    nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
    return Release.from_nodes(od, origins, destinations, *nodes, parameters_of(maker))


@plugin
class Raw(Anonymizer):
    """Publishes the rows as they are."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        return as_it_is(self, od, origins, destinations)


@plugin
class SaysOther(Raw):
    """Claims another promise than it was given."""

    @property
    def promise(self) -> Promise:
        return Promise(k=2, unit="trips")

    @property
    def sentence(self) -> str:
        return "perfectly safe"


@plugin
class WritesIntoTheMatrix(Raw):
    """Makes more people up before it counts."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        od.trips[:] = 100
        od.origin[:] = 0
        return as_it_is(self, od, origins, destinations)


@plugin
class CallsItNoise(Raw):
    """Says that its true counts are noisy, so that nobody counts again."""

    verifiable: ClassVar[bool] = False


@plugin
class NoisyWithoutPeople(CallsItNoise):
    """The same, and hides the people."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        made = as_it_is(self, od, origins, destinations)
        made.flows["persons"] = pd.array([pd.NA] * len(made.flows), dtype="Int64")
        return made


@plugin
class Renames(Raw):
    """Publishes the whole map under the name of a tile."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        made = Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))
        made.origins.label[:] = "a"
        made.flows["origin"] = pd.Categorical(["a"] * len(made.flows))
        return made


@plugin
class WritesIntoTheTree(Raw):
    """Makes areas look larger than they are."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        origins.n_tiles[:] = 99
        roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        return Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))


def test_a_tree_that_was_written_into_is_not_believed() -> None:
    tree = Hierarchy.from_parents(["all", "a", "b", "c"], [-1, 0, 0, 0], kind="small")
    maker = WritesIntoTheTree(k=5)
    made = release({None: ODMatrix.from_frame(ROWS, tree, tree)}, tree, maker, Promise(k=5))
    assert made.verified
    tree = Hierarchy.from_parents(["all", "a", "b", "c"], [-1, 0, 0, 0], kind="small")
    with pytest.raises(RefusedError, match="min-tiles"):
        release({None: ODMatrix.from_frame(ROWS, tree, tree)}, tree, maker, Promise(k=5, min_tiles=5))


@plugin
class Rewrites:
    """A metric that changes what was verified."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("rewritten", "rewritten", "nothing"),)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        release.flows["trips"] = 1
        return {"rewritten": 1.0}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {"rewritten": 1.0}


def test_metrics_cannot_change_what_was_verified() -> None:
    matrices = {None: ODMatrix.from_frame(ROWS[ROWS["origin"] == "a"], TREE, TREE)}
    made = release(matrices, TREE, Raw(k=5), metrics=[Rewrites()])
    assert made.figures == {"rewritten": 1.0}
    assert made.releases[None].flows["trips"].tolist() == [6]


def through(maker: Anonymizer, promise: Promise | None = None) -> Any:
    return release({None: ODMatrix.from_frame(ROWS, TREE, TREE)}, TREE, maker, promise)


@pytest.mark.parametrize(
    ("maker", "rule"),
    [
        (Raw(k=5), "at-least-k"),
        (SaysOther(k=5), "at-least-k"),
        (WritesIntoTheMatrix(k=5), "volumes"),
        (CallsItNoise(k=5), "noisy"),
        (Renames(k=5), "zone-tiles"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Anonymizer) else value,
)
def test_what_breaks_the_promise_is_refused_by_the_rules_name(maker: Anonymizer, rule: str) -> None:
    with pytest.raises(RefusedError, match=rule) as caught:
        through(maker)
    assert rule in {finding.rule for finding in caught.value.findings}


def test_whoever_asks_for_more_than_the_plugin_was_told_gets_it() -> None:
    rows = ROWS[ROWS["origin"] == "a"]
    matrices = {None: ODMatrix.from_frame(rows, TREE, TREE)}
    assert release(matrices, TREE, Raw(k=5)).verified
    with pytest.raises(RefusedError, match="fewer than 7 persons"):
        release(matrices, TREE, Raw(k=5), Promise(k=7))
    with pytest.raises(RefusedError, match="fewer than 7 persons"):
        through(Raw(k=7), Promise(k=5))


def test_what_cannot_be_counted_again_is_told_as_such() -> None:
    made = through(NoisyWithoutPeople(k=5))
    assert not made.verified
    assert made.sentence.startswith("not verified, by its own word: ")


def test_the_python_call_goes_through_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    from odanon.anonymizers.lattice.lattice import AtgLattice

    monkeypatch.setattr(AtgLattice, "anonymize", Raw.anonymize)
    with pytest.raises(RefusedError, match="at-least-k"):
        odanon.anonymize(ROWS, TREE, k=5)


def test_the_command_writes_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from odanon import cli
    from odanon.anonymizers.lattice.lattice import AtgLattice

    ROWS.to_parquet(tmp_path / "trips.parquet")
    pd.DataFrame({"child": ["a", "b", "c"], "parent": ["all"] * 3}).to_csv(tmp_path / "tree.csv", index=False)
    monkeypatch.setattr(AtgLattice, "anonymize", Raw.anonymize)
    arguments = ["anonymize", str(tmp_path / "trips.parquet"), "--person", "person", "--count", "trips", "-k", "5"]
    arguments += ["--hierarchy", str(tmp_path / "tree.csv"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.main, arguments)
    assert isinstance(done.exception, OdanonError)
    assert "at-least-k" in str(done.exception)
    assert "every flow holds" not in done.output
    assert not (tmp_path / "out").exists()
