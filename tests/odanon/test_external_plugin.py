"""A third party's package adds plugins by being installed; this repository is not touched, and broken neighbours do no harm."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pandas as pd
import pytest
from house import House
from repository import REPOSITORY

DAY = "2026-03-02"
LABEL, MEANING = "times the trips of the mean flow", "how much the largest flow stands out"

BROKEN = {
    "odanon_broken/__init__.py": "",
    "odanon_broken/raising.py": "raise RuntimeError('a message that may quote data')\n",
    "odanon_broken/methodless.py": "from odanon.api import plugin\n@plugin\nclass Thing:\n    'Lacks its method.'\n",
    "odanon_broken-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: odanon-broken\nVersion: 1.0\n",
    "odanon_broken-1.0.dist-info/entry_points.txt": """
[odanon.anonymizers]
raising = odanon_broken.raising:Thing
[odanon.metrics]
methodless = odanon_broken.methodless:Thing
raising = odanon_broken.raising:Thing
[odanon.checks]
gone = odanon_broken.gone:Thing
[odanon.stores]
nameless = odanon_broken.methodless:Other
[odanon.hierarchies]
h3 = odanon_broken.methodless:Thing
[odanon.commands]
raising = odanon_broken.raising:call
""",
}


def page(path: Path) -> str:
    """A report without the marks that isolate names."""
    return re.sub("</?bdi>", "", path.read_text())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package installed by pip into a folder of its own, and a broken one beside it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for path in (REPOSITORY / "tests" / "external").rglob("*"):
        if path.suffix in (".py", ".toml"):
            copy = source / path.relative_to(REPOSITORY / "tests" / "external")
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(path.read_text())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    for name, content in BROKEN.items():
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text(content)
    return target


@pytest.fixture(scope="module")
def house(site: Path, tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(site, tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def published(house: House) -> str:
    """A day of a product with anonymiser and metric of the package, and what the run said."""
    metrics = ["generalisation", "reconstruction", "lopsided"]
    path = house.write_product(anonymize={"plugin": "one-flow", "k": 20}, metrics=metrics)
    assert "small is fine" in house.odanon("check", str(path))
    return house.odanon("run", "small", "--date", DAY)


@pytest.fixture(scope="module")
def table(house: House) -> list[str]:
    """The arguments that name a table of trips."""
    rng = np.random.default_rng(5)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 2)), dtype=object)
    ends = {side: cells[rng.integers(0, len(cells), 800)] for side in ("origin", "destination")}
    pd.DataFrame({**ends, "user": rng.integers(0, 100, 800)}).to_parquet(house.root / "trips.parquet")
    return ["trips.parquet", "--person", "user"]


@pytest.fixture(scope="module")
def listed(house: House) -> str:
    return house.odanon("plugins")


def test_plugins_are_listed_with_what_they_say(listed: str) -> None:
    assert "anonymize: one-flow  (odanon-example)" in listed
    assert "Joins all trips into a single flow from everywhere to everywhere." in listed
    assert "metrics: lopsided  (odanon-example)" in listed


def test_a_product_that_names_them_is_published(house: House, published: str) -> None:
    asked = house.odanon("sql", "select count(*) as n, min(trips) >= 20 as enough from flows")
    assert asked.split()[-2:] == ["2", "True"]


@pytest.mark.thorough  # as the packages of docs/plugins do
def test_it_passes_the_conformance_suite(house: House) -> None:
    script = (
        "from odanon.testing import check_anonymizer, check_metric; from odanon_example import OneFlow;"
        "from odanon_example.lopsided import Lopsided; check_anonymizer(OneFlow); check_metric(Lopsided())"
    )
    done = house.run("python", "-c", script)
    assert done.returncode == 0, done.stderr


def test_the_metric_is_in_what_anonymize_says_and_writes(house: House, table: list[str]) -> None:
    said = house.odanon("anonymize", *table, "-k", "5", "--algorithm", "uniform", "--out", "release")
    figures = json.loads((house.root / "release" / "keep" / "release.json").read_text())["metrics"]
    assert figures["lopsided"] >= 1
    assert f"{figures['lopsided']:.4g} {LABEL} ({MEANING})" in said
    assert figures["lopsided_flows"] == figures["flows"]
    assert "flows looked at" not in said


def test_the_metric_is_a_column_of_a_comparison(house: House, table: list[str]) -> None:
    said = house.odanon("compare", *table, "--k", "5", "--algorithms", "one-flow,uniform", "--out", "compared")
    compared = pd.read_csv(house.root / "compared" / "comparison.csv").set_index("algorithm")
    assert compared["status"].to_dict() == {"one-flow": "done", "uniform": "done"}
    assert compared.loc["one-flow", "lopsided"] == 1 < compared.loc["uniform", "lopsided"]
    report = page(house.root / "compared" / "report.html")
    assert f">Λ<small>{LABEL}<" in report
    assert f"Λ: {LABEL}, {MEANING}." in report
    assert '<td class="best">1</td>' in report
    assert "lopsided" in said
    assert "lopsided_flows" in compared
    assert "lopsided_flows" not in said


@pytest.fixture(scope="module")
def manifest(house: House, published: str) -> dict[str, Any]:
    (path,) = (house.root / "data" / "published").rglob("release.json")
    return json.loads(path.read_text())


def test_the_metric_is_in_the_manifest_under_its_public_name(manifest: dict[str, Any]) -> None:
    assert manifest["metrics"]["largest_over_mean"] >= 1
    assert manifest["figures"]["largest_over_mean"] == {"label": LABEL, "meaning": MEANING, "headline": True}
    assert not {"lopsided", "lopsided_flows"} & (manifest["metrics"].keys() | manifest["figures"].keys())


def test_the_metric_is_in_report_and_summary(house: House, published: str, manifest: dict[str, Any]) -> None:
    value = manifest["metrics"]["largest_over_mean"]
    (report,) = (house.root / "data" / "published").rglob("report.html")
    assert f"<strong>{value:g}</strong><span>{LABEL}</span><small>{MEANING}</small>" in page(report)
    assert f"{value:.4g} {LABEL} ({MEANING})" in published
    assert f"{value:.4g} {LABEL} ({MEANING})" in house.odanon("summary", "small")


def test_the_metric_is_in_the_metadata_of_the_ui(house: House, published: str) -> None:
    script = (
        "import json; from datetime import date; from odanon_assets.lake.lake import Lake;"
        "from odanon_assets.lake.places import default_root; from odanon_assets.platform.metadata import stage_metadata;"
        f"figures = Lake(default_root()).figures('small', 'metrics', date.fromisoformat('{DAY}'));"
        "shown = stage_metadata('metrics', figures, 2); print(json.dumps({name: shown.get(name) for name in ('lopsided', 'lopsided_flows')}))"
    )
    done = house.run("python", "-c", script)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["lopsided"] >= 1
    assert shown["lopsided_flows"] == 2  # a size is no count of people


def test_broken_plugins_are_named_and_say_why(house: House, listed: str) -> None:
    for stage, name, why in (
        ("anonymize", "raising", "RuntimeError when it was loaded; reinstall or update odanon-broken"),
        ("metrics", "methodless", "it has no figures and no evaluate and no combine; docs/plugins says what it needs"),
        ("metrics", "raising", "RuntimeError when it was loaded"),
        ("checks", "gone", "ModuleNotFoundError when it was loaded"),
        ("store", "nameless", "AttributeError when it was loaded"),
        ("hierarchy", "h3", "the name belongs to odanon; rename it"),
    ):
        assert f"{stage}: {name}  (odanon-broken)\n  broken: {why}" in listed
    assert "hierarchy: h3  (odanon)\n  Parents of H3 tiles" in listed
    assert "may quote data" not in listed
    assert "broken (odanon-broken): its module raises" in house.odanon("--help")


def test_products_that_name_broken_ones_are_refused(site: Path, tmp_path: Path) -> None:
    house, paths = House(site, tmp_path), []
    wrong: dict[str, dict[str, Any]] = {
        "the anonymize plugin 'raising' of odanon-broken is broken": {"anonymize": {"plugin": "raising", "k": 5}},
        "the metrics plugin 'methodless' of odanon-broken is broken": {"metrics": ["methodless"]},
        "the checks plugin 'gone' of odanon-broken is broken": {"checks": {"plugins": ["gone"]}},
        "the store plugin 'nameless' of odanon-broken is broken": {"publish": {"store": "nameless"}},
    }
    for number, change in enumerate(wrong.values()):
        paths.append(house.write_product(**change).rename(tmp_path / f"{number}.yaml"))
    done = house.run("odanon", "check", *map(str, paths))
    assert done.returncode == 1
    for path, sentence in zip(paths, wrong, strict=True):
        assert any(path.name in line and sentence in line for line in (done.stderr + done.stdout).splitlines())
    assert "Traceback" not in done.stderr
