"""A third party's package adds an anonymiser by being installed; this repository is not touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from product_example import SMALL
from repository import REPOSITORY


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package installed by pip into a folder of its own."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for path in (REPOSITORY / "tests" / "external").rglob("*"):
        if path.suffix in (".py", ".toml"):
            copy = source / path.relative_to(REPOSITORY / "tests" / "external")
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(path.read_text())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def odanon(site: Path, workspace: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"}
    command = [Path(sys.executable).with_name("odanon"), *arguments]
    return subprocess.run(command, env=environment, cwd=workspace, capture_output=True, text=True, check=False)


def test_it_is_listed_with_its_parameters(installed: Path, workspace: Path) -> None:
    listed = odanon(installed, workspace, "plugins", "anonymize").stdout
    assert "anonymize: one-flow  (odanon-example)" in listed
    assert "Joins all trips into a single flow from everywhere to everywhere." in listed


def test_a_product_that_names_it_is_published(installed: Path, workspace: Path) -> None:
    content = {**SMALL, "anonymize": {"plugin": "one-flow", "k": 20}}
    (workspace / "pipelines" / "small.yaml").write_text(yaml.safe_dump(content))
    done = odanon(installed, workspace, "run", "small", "--date", "2026-03-02")
    assert done.returncode == 0, done.stderr + done.stdout
    asked = odanon(installed, workspace, "sql", "select count(*) as n, min(trips) >= 20 as enough from flows")
    assert asked.stdout.split()[-2:] == ["2", "True"]


def test_it_passes_the_conformance_suite(installed: Path) -> None:
    script = (
        "from odanon.testing import check_anonymizer; from odanon_example import OneFlow; check_anonymizer(OneFlow)"
    )
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(installed)}, check=True)
