"""The tutorials in docs/plugins: each package is built from its page alone, installed, tested and used."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from demand_town import write_town
from product_example import SMALL
from repository import REPOSITORY

from odanon import registry
from odanon.simulate.source import Simulated
from odanon.testing import check_anonymizer

DOCS = REPOSITORY / "docs" / "plugins"
SUITE = (
    "tests/odanon_assets/stores/test_stores.py",
    "tests/odanon_assets/stores/test_races.py",
    "tests/support/bundles.py",
)
# As tests/conftest.py has it here.
FEWER_CITIES = """
from odanon.testing import anonymizers

anonymizers._ENOUGH, anonymizers._ENOUGH_LIMITED = 3, 1
"""
_FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FOLDER = re.compile(r"^    (odanon-[\w-]+)/\n((?:      \S+\n)+)", re.MULTILINE)
DAY = "2026-03-02"
DEMAND = ("calibrators", "placers")  # named by files of `odanon demand`


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A tutorial: its folder, its files and how a product file names it."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def folder(self) -> str:
        (found,) = _FOLDER.finditer(self.text)
        return found[1]

    @cached_property
    def files(self) -> dict[str, str]:
        return dict(_FILE.findall(self.text))

    @cached_property
    def project(self) -> dict[str, Any]:
        return tomllib.loads(self.files["pyproject.toml"])["project"]

    @property
    def entry(self) -> tuple[str, str]:
        """Group and name of the plugin."""
        ((group, points),) = self.project["entry-points"].items()
        (name,) = points
        return group, name

    @property
    def product(self) -> dict[str, Any]:
        """What the page writes into a product file."""
        return {key: value for block in blocks(self.text, "yaml") for key, value in yaml.safe_load(block).items()}

    def build(self, root: Path) -> Path:
        for name, content in self.files.items():
            path = root / self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return root / self.folder


PAGES = {path.stem: Page(path) for path in sorted(DOCS.glob("*.md")) if path.name != "README.md"}
each_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())


@dataclass(frozen=True)
class Site:
    """All packages of all pages, built and installed by pip into a folder of its own."""

    source: Path
    target: Path

    def run(self, *command: str | Path, cwd: Path | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.target), "COLUMNS": "200", **settings}
        wanted = [Path(sys.executable).with_name(str(command[0])), *command[1:]]
        return subprocess.run(
            wanted, env=environment, cwd=cwd or self.source, capture_output=True, text=True, check=False, timeout=300
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    folders = [str(page.build(source)) for page in PAGES.values()]
    for name in SUITE:  # as the page of stores says
        (source / PAGES["stores"].folder / "suite" / Path(name).name).write_text((REPOSITORY / name).read_text())
    if not os.environ.get("ODANON_STRESS"):
        (source / "conftest.py").write_text(FEWER_CITIES)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), *folders], check=True, capture_output=True)
    return Site(source, target)


@pytest.fixture(scope="module")
def outcomes(site: Site) -> dict[str, list[tuple[str, str]]]:
    """The test cases of every package with what went wrong in them, run together in one process."""
    done = site.run("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "--junitxml", "found.xml")
    found: dict[str, list[tuple[str, str]]] = {page.folder: [] for page in PAGES.values()}
    for case in ElementTree.parse(site.source / "found.xml").iter("testcase"):
        wrong = "".join(part.text or "" for part in case)
        found[case.get("classname", "").partition(".")[0]].append((str(case.get("name")), wrong))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return found


def test_there_is_a_page_for_every_group_and_the_first_page_names_it() -> None:
    groups = {group for group, _ in registry.STAGES.values()} | {"odanon.commands"}
    assert {page.entry[0] for page in PAGES.values()} == groups
    first = (DOCS / "README.md").read_text()
    for name, page in PAGES.items():
        assert f"| `{page.entry[0]}` |" in first
        assert f"({name}.md)" in first


@each_page
def test_the_folder_is_what_the_page_shows(page: Page) -> None:
    (found,) = _FOLDER.finditer(page.text)
    assert found[2].split() == [name for name in page.files if "/" not in name]
    assert page.project["name"] == page.folder


@each_page
def test_only_stable_names_are_used(page: Page) -> None:
    stable = {"odanon", "odanon.api", "odanon.testing", "odanon_assets.api", "odanon_assets.testing"}
    for name, content in page.files.items():
        if name.endswith(".py"):
            nodes = list(ast.walk(ast.parse(content)))
            used = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
            used |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            private = {module for module in used if module and module.partition(".")[0] in ("odanon", "odanon_assets")}
            assert private <= stable


@each_page
def test_its_own_tests_pass(page: Page, outcomes: dict[str, list[tuple[str, str]]]) -> None:
    cases = outcomes[page.folder]
    assert cases, "the page has no test"
    assert [case for case in cases if case[1]] == []


def test_the_tests_of_our_stores_are_run_on_the_one_of_the_page(
    outcomes: dict[str, list[tuple[str, str]]],
) -> None:
    names = {name for name, _ in outcomes[PAGES["stores"].folder]}
    assert {"test_publishing_again_changes_nothing", "test_a_gate_that_refuses_publishes_nothing"} <= names


def test_the_code_is_in_the_style_of_the_house(site: Site) -> None:
    """By our rules, in a stranger's house: odanon is a third party there."""
    rules = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["ruff"]
    folders = [page.folder for page in PAGES.values()]
    ours = ",".join(Path(name).name for name in SUITE)
    settings = ["--isolated", "--no-cache", "--exclude", ours, "--config", f"src={folders}"]
    settings += ["--config", f"line-length={rules['line-length']}"]
    lint = ["--select", ",".join(rules["lint"]["select"]), "--ignore", ",".join(rules["lint"]["ignore"])]
    for command in (["check", *lint], ["format", "--check"]):
        done = site.run("ruff", *command, *settings, *folders)
        assert done.returncode == 0, done.stdout + done.stderr


def test_all_are_listed(site: Site) -> None:
    listed = site.run("odanon", "plugins").stdout
    assert "broken" not in listed
    stages = {group: stage for stage, (group, _) in registry.STAGES.items()}
    for page in PAGES.values():
        group, name = page.entry
        if group in stages:
            assert f"{stages[group]}: {name}  ({page.folder})" in listed
    commands = site.run("odanon", "--help").stdout
    assert re.search(r"busiest\s+Print the largest flows of a release\.", commands)


def test_product_files_may_name_them(site: Site, tmp_path: Path) -> None:
    named = {name: page.product for name, page in PAGES.items() if page.product and name not in DEMAND}
    assert named.keys() == PAGES.keys() - {"commands", *DEMAND}
    for name, product in named.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({**SMALL, "product": name, **product}))
    done = site.run("odanon", "check", *sorted(tmp_path.iterdir()))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is fine") == len(named)


def test_demand_files_may_name_them(site: Site, tmp_path: Path) -> None:
    file = write_town(tmp_path)
    named = yaml.safe_load(file.read_text()) | {
        key: each for name in DEMAND for key, each in PAGES[name].product.items()
    }
    file.write_text(yaml.safe_dump(named))
    done = site.run("odanon", "demand", "run", file, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / "evaluation.json").read_text())["settings"]
    assert (told["calibrate"]["plugin"], told["place"]) == ("tilt", {"plugin": "couch", "restless": 0.2})


def write_gpx(folder: Path, people: int) -> None:
    """A simulated city as the page of sources wants it."""
    midnight = datetime.fromisoformat(f"{DAY}T00:00:00+01:00").astimezone(UTC)
    city = Simulated(people=people, seed=3, radius_km=3, outlier_share=0)
    for batch in city.batches(midnight, midnight + timedelta(days=1), timedelta(hours=6)):
        for (person, day), points in batch.groupby(["person", batch["time"].dt.date]):
            path = folder / str(day) / f"{person}.gpx"
            path.parent.mkdir(parents=True, exist_ok=True)
            fixes = (
                f'<trkpt lat="{lat}" lon="{lon}"><time>{time.isoformat()}</time></trkpt>'
                for time, lat, lon in points[["time", "lat", "lon"]].itertuples(index=False)
            )
            path.write_text(f"<gpx><trk><trkseg>{''.join(fixes)}</trkseg></trk></gpx>")


@pytest.mark.thorough  # as tests/odanon/test_external_plugin.py does
def test_a_product_of_nothing_but_tutorials_is_published(site: Site, workspace: Path) -> None:
    write_gpx(workspace / "tracks", people=80)
    (workspace / "spool").mkdir()
    content: dict[str, Any] = {**SMALL}
    for name in PAGES.keys() - {*DEMAND}:
        content |= PAGES[name].product
    content |= {
        "source": {"plugin": "gpx", "path": str(workspace / "tracks")},
        "zoning": {"plugin": "degrees", "per_degree": 50, "bounds": [4.6, 45.5, 5.1, 46.0]},
        "hierarchy": "halves",
        "anonymize": {"plugin": "climb", "k": 5},
        "alerts": [{"plugin": "spool", "folder": str(workspace / "spool")}],
        "publish": {"store": "drop", "url": f"file://{workspace}/drop"},
    }
    (workspace / "pipelines" / "small.yaml").write_text(yaml.safe_dump(content))
    key = {"ODANON_PSEUDONYM_KEY": "a secret of the tests, long enough for them"}
    done = site.run("odanon", "run", "small", "--date", DAY, cwd=workspace, **key)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "of published trips kept their tiles" in done.stdout
    assert (workspace / "drop" / f"small-{DAY}.csv").read_text().count("\n") > 1
    (flows,) = (workspace / "data" / "published").rglob("flows.parquet")
    largest = site.run("odanon", "busiest", flows, "--top", "1")
    assert " -> " in largest.stdout, largest.stderr


@pytest.mark.thorough  # three commands that have tests of their own
def test_the_commands_of_the_page_of_anonymisers_run_as_they_stand(site: Site, tmp_path: Path) -> None:
    commands = re.findall(r"^    odanon (.+)$", PAGES["anonymizers"].text, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["simulate", "anonymize", "compare"]
    for command in commands:
        done = site.run("odanon", *command.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads((tmp_path / "release" / "keep" / "release.json").read_text())
    assert found["parameters"]["algorithm"] == "climb"
    assert {"origin_level", "destination_level"} <= found["search"].keys()
    compared = (tmp_path / "compared" / "comparison.csv").read_text().splitlines()[1:]
    assert {tuple(line.split(",")[:5:4]) for line in compared} == {("climb", "done"), ("atg-joint", "done")}


def test_the_code_of_the_first_page_is_right() -> None:
    text = (DOCS / "README.md").read_text()
    names: dict[str, Any] = {}
    for code in blocks(text, "python"):
        exec(compile(code, "README.md", "exec"), names)
    for toml in blocks(text, "toml"):
        ((point,),) = (each.values() for each in tomllib.loads(toml)["project"]["entry-points"].values())
        assert point.rpartition(":")[2] in names
    check_anonymizer(names["Mine"])
    ((product),) = map(yaml.safe_load, blocks(text, "yaml"))
    chosen = {key: value for key, value in product["source"].items() if key != "plugin"}
    assert names["Patient"](**chosen).tries == 5
    assert names["H3"](resolution=8).resolution == 8
