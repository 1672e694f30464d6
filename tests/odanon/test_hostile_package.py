"""An installed package that claims our figures, our names and more: our commands say what is true, in sentences."""

import json
from typing import Any

import pandas as pd
import pytest
from house import TABLE, House, a_house

MODULE = '''
from dataclasses import replace
from typing import ClassVar
from odanon.api import Anonymizer, Figure, Release, parameter, plugin

OWN = Figure("own", "own", "a figure of its own", headline=True)
LIES = {"flows": 17.0, "min_persons": 1000.0, "S_share": 0.0, "S": -5.0, "Gbar": -1.0, "own": 1.0}

class Lies:
    reads: ClassVar = []
    def evaluate(self, od, release):
        release.metrics.update(LIES)
        release.flows["trips"] = 1
        od.trips[:] = 1
        return {**LIES, "who": [int(person) for person in od.person[:4]]}
    def combine(self, table):
        return LIES

@plugin
class Flips(Lies):
    """Declares a figure of its own at first, then ours."""
    @property
    def figures(self):
        self.reads.append(1)
        return (OWN,) if len(self.reads) == 1 else (OWN, *(replace(OWN, name=name) for name in LIES if name != "own"))

@plugin
class Tells(Lies):
    """Tells what it never declared."""
    figures: ClassVar = (OWN,)

@plugin
class Needs(Lies):
    """Cannot be made without a parameter, and declares our figures."""
    size: int = parameter(..., "size")
    figures: ClassVar = (replace(OWN, name="Gbar", public="gbar"), OWN)

@plugin
class Unread(Lies):
    """Has figures that cannot be read."""
    @property
    def figures(self):
        raise KeyError("Alice")

@plugin
class Unmade(Anonymizer):
    """Fails when it is made [/red] of a [m] set."""
    def __post_init__(self):
        raise RuntimeError("a message that may quote data")
    def anonymize(self, od, origins, destinations):
        raise NotImplementedError
'''
POINTS = """
[odanon.anonymizers]
unmade = stranger:Unmade
uniform = odanon.anonymizers.levels.uniform:UniformLevel
[odanon.metrics]
aaa-flips = stranger:Flips
aab-tells = stranger:Tells
needs = stranger:Needs
unread = stranger:Unread
generalisation = odanon.metrics.generalisation:Generalisation
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """With the package of a stranger."""
    return a_house(tmp_path_factory, {"stranger.py": MODULE, "stranger-1.0.dist-info/entry_points.txt": POINTS})


def released(house: House) -> tuple[str, dict[str, Any]]:
    said = house.odanon("anonymize", *TABLE, "--algorithm", "uniform", "--out", "release")
    return said, json.loads((house.root / "release" / "keep" / "release.json").read_text())


def test_our_figures_are_ours_whatever_a_metric_declares_and_returns(
    house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alone, found = released(a_house(tmp_path_factory, {}))
    said, beside = released(house)
    assert beside["metrics"].pop("own") == 1
    assert beside == found
    assert said.replace("1 own (a figure of its own)\n", "") == alone


def test_a_name_of_ours_is_ours_even_with_our_class_behind_it(house: House) -> None:
    listed = house.odanon("plugins")
    for what in ("anonymize: uniform", "metrics: generalisation"):
        assert f"{what}  (odanon)" in listed
        assert f"{what}  (stranger)\n  broken: the name belongs to odanon; rename it" in listed
    assert "Fails when it is made [/red] of a [m] set." in listed, "a docstring is shown letter by letter"
    assert "metrics: unread  (stranger)\n  broken: its figures cannot be read (OdanonError)" in listed


def test_a_product_refuses_a_metric_that_declares_ours_once_it_is_set_up(house: House) -> None:
    path = house.write_product(metrics=["generalisation", {"plugin": "needs", "size": 3}])
    done = house.run("odanon", "check", str(path))
    assert done.returncode == 1
    assert "stranger and odanon declare figures of the name 'Gbar' that differ; rename" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_plugin_that_cannot_be_made_is_a_sentence(house: House) -> None:
    done = house.run("odanon", "anonymize", *TABLE, "--algorithm", "unmade", "--out", "unmade")
    assert done.returncode == 1
    assert "the anonymize plugin 'unmade' of stranger cannot be made (RuntimeError); choose another" in done.stderr
    assert "Traceback" not in done.stderr
    assert "may quote data" not in done.stderr
    path = house.write_product(anonymize={"plugin": "unmade", "k": 5})
    done = house.run("odanon", "check", str(path))
    assert "'unmade' of stranger cannot be made (RuntimeError)" in " ".join((done.stderr + done.stdout).split())
    assert "Traceback" not in done.stderr


def test_a_plugin_that_cannot_be_made_is_refused_alone_in_a_comparison(house: House) -> None:
    house.odanon("compare", *TABLE, "--algorithms", "unmade,uniform", "--out", "compared")
    compared = pd.read_csv(house.root / "compared" / "comparison.csv").set_index("algorithm")
    assert compared["status"].to_dict() == {"unmade": "refused", "uniform": "done"}
    assert "cannot be made (RuntimeError)" in compared.loc["unmade", "message"]
    assert compared.loc["uniform", "Gbar"] >= 2
