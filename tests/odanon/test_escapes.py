"""Installed packages that end the program, raise what is no Exception, or are installed by half: everything else works."""

import os

import pytest
from house import TABLE, House, a_house

MODULE = '''
import sys
from typing import ClassVar
from odanon.api import Figure, plugin

class Metric:
    figures: ClassVar = (Figure("own", "own", "a figure of its own"),)
    def combine(self, table):
        return {"own": 1.0}
    def evaluate(self, od, release):
        return {}

@plugin
class Ends(Metric):
    """Ends the program when it measures."""
    def evaluate(self, od, release):
        sys.exit(0)

@plugin
class Untold(Metric):
    """Ends the program when it is asked what it tells."""
    @property
    def figures(self):
        sys.exit(0)

@plugin
class Unasked(Metric):
    """Ends the program when it is asked what it is for."""
    @classmethod
    def applicable(cls, od, release):
        sys.exit(0)

@plugin
class Leaves:
    """A hierarchy that ends the program."""
    def build(self, tiles):
        sys.exit(0)

@plugin
class Tells:
    """A hierarchy that quotes data."""
    def build(self, tiles):
        raise ValueError("secret person 17")
'''
POINTS = """
[odanon.metrics]
ends = stranger:Ends
untold = stranger:Untold
unasked = stranger:Unasked
skipped = skips:Metric
[odanon.hierarchies]
leaves = stranger:Leaves
tells = stranger:Tells
"""
SKIPS = "class Skipped(BaseException): pass\nraise Skipped\n"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """With the package of a stranger and one without metadata, as an installation that broke off leaves it."""
    files = {"stranger.py": MODULE, "skips.py": SKIPS, "stranger-1.0.dist-info/entry_points.txt": POINTS}
    files["half-1.0.dist-info/entry_points.txt"] = "[odanon.metrics]\nhalf = nowhere:Half\n"
    return a_house(tmp_path_factory, files)


def test_a_release_is_made_whatever_is_installed_beside(house: House) -> None:
    done = house.run("odanon", "anonymize", *TABLE, "--algorithm", "uniform", "--out", "release")
    assert done.returncode == 0, done.stderr
    assert (house.root / "release" / "handout" / "flows.csv").is_file()
    said = " ".join(done.stderr.split())
    for what in ("Ends is left out: SystemExit", "unasked is left out: SystemExit", "untold is left out: its figures"):
        assert f"the metric {what}" in said


def test_all_of_it_is_listed_as_broken(house: House) -> None:
    listed = house.odanon("plugins", "metrics")
    assert "metrics: skipped  (stranger)\n  broken: Skipped when it was loaded; reinstall or update stranger" in listed
    assert "metrics: untold  (stranger)\n  broken: its figures cannot be read (OdanonError)" in listed
    assert "metrics: half  (an unknown package)\n  broken: ModuleNotFoundError when it was loaded" in listed


def test_a_file_is_still_checked(house: House) -> None:
    path = house.write_product(anonymize={"plugin": "atg-joint", "k": 1})
    done = house.run("odanon", "check", str(path))
    assert done.returncode == 1
    assert "small.yaml: anonymize" in "".join((done.stderr + done.stdout).split("\n"))


def test_who_reads_no_further_and_a_full_disk_are_no_faults_of_ours(house: House) -> None:
    nobody, full = os.pipe(), os.open("/dev/full", os.O_WRONLY)
    os.close(nobody[0])
    assert house.run("odanon", "plugins", "metrics", out=nobody[1]).stderr == ""
    done = house.run("odanon", "plugins", "metrics", out=full)
    assert done.returncode == 1
    assert done.stderr == "odanon: no space left on device; nothing more could be written or read\n"
    os.close(nobody[1])
    os.close(full)


@pytest.mark.parametrize(
    ("name", "said"),
    [("leaves", "the program was ended in stranger, line"), ("tells", "failed with ValueError in stranger, line")],
)
def test_what_a_hierarchy_does_is_a_sentence_that_quotes_nothing(house: House, name: str, said: str) -> None:
    done = house.run("odanon", "anonymize", *TABLE, "--hierarchy", name, "--out", f"of-{name}")
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (house.root / f"of-{name}").exists()
