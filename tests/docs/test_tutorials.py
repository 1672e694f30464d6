"""The tutorials and how-to pages, followed to the letter."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import pytest
from bundles import accept, bundle
from followed import follow, steps
from repository import REPOSITORY
from shapely.geometry import box
from store_databases import renamed, run_sql
from typer.main import get_group

import odanon
from odanon.cli import main
from odanon.product import load_product
from odanon.testing import check_anonymizer
from odanon_assets.stores import schema
from odanon_assets.stores.postgis import PostgisStore

DOCS = REPOSITORY / "docs"
PROGRAMS = Path(sys.executable).parent
PRODUCT = (DOCS / "tutorials" / "product.md").read_text()
WEST_AND_EAST = geopandas.GeoDataFrame(
    geometry=[box(4.7, 45.6, 4.84, 45.9), box(4.84, 45.6, 5.0, 45.9)], index=["west", "east"], crs="EPSG:4326"
)
_LINE = re.compile(r"\bodanon ([a-z]+(?: (?:init|check)\b)?)((?: [^`\n|&]*)?)")


def test_a_table_becomes_a_release_as_the_tutorial_says(tmp_path: Path) -> None:
    said = follow((DOCS / "tutorials" / "own-table.md").read_text(), tmp_path, PROGRAMS)
    assert "every flow holds at least 10 distinct persons" in said
    assert re.search(r"^\d+ rows between \d+ zones; \d+ trips$", said, re.MULTILINE)
    assert (tmp_path / "compared" / "report.html").is_file()


def test_the_product_of_the_tutorial_is_right(tmp_path: Path) -> None:
    files = {step.file: step.text for step in steps(PRODUCT) if step.file}
    assert [*files] == ["pipelines/my-city.yaml", "ask.py"]
    (tmp_path / "my-city.yaml").write_text(files["pipelines/my-city.yaml"])
    product = load_product(tmp_path / "my-city.yaml")
    assert (product.product, product.status, product.anonymize.promise.k) == ("my-city", "trial", 10)
    assert "status: trial" in files["pipelines/my-city.yaml"]  # what a later line replaces


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which somebody has followed the tutorial of the product."""
    folder = tmp_path_factory.mktemp("my-city")
    said = follow(PRODUCT, folder, PROGRAMS)
    assert "trial: would be published as my-city-20260302-" in said
    assert "✓ 2026-03-03  published" in said
    assert "Estimate(low=" in said
    return folder


@pytest.mark.thorough  # a minute: three days of a city, and Dagster
def test_a_product_is_published_as_the_tutorial_says(followed: Path) -> None:
    assert len(list((followed / "odanon_data" / "published" / "my-city" / "releases").iterdir())) == 2
    assert (followed / "map" / "my-city.gpkg").is_file()
    assert "<svg" in (followed / "report.html").read_text()


def lines(page: str) -> list[str]:
    """The indented lines of a page that begin with odanon."""
    return re.findall(r"^ {4,}(odanon .+?)(?: +#.*)?$", (DOCS / "how-to" / f"{page}.md").read_text(), re.MULTILINE)


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "ODANON_PSEUDONYM_KEY": (folder / "pseudonym.key").read_text(),
    }
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.thorough
def test_the_exports_of_the_page_are_written(followed: Path) -> None:
    WEST_AND_EAST.rename_axis("zone").reset_index().to_file(followed / "zones.gpkg")
    assert len(lines("export")) == 7
    for line in lines("export"):
        line = line.replace("--out map", "--out another-map")  # the tutorial has written one there
        done = run(followed, line)
        assert done.returncode == 0, line + done.stderr


@pytest.mark.thorough
def test_areas_of_ones_own_are_asked_as_the_page_says(followed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(followed)
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", (DOCS / "how-to" / "own-areas.md").read_text(), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {
        "areas": WEST_AND_EAST,
        "home": WEST_AND_EAST.geometry["west"],
        "work": WEST_AND_EAST.geometry["east"],
    }
    exec(compile(code, "own-areas.md", "exec"), names)
    assert [*names["matrix"].columns] == ["origin", "destination", "low", "estimate", "high", "exact"]
    assert len(names["hours"]) == 24


@pytest.mark.thorough
def test_a_trial_of_a_live_product_and_a_correction_say_what_the_pages_say(followed: Path) -> None:
    (trial,) = [line for line in lines("try-without-publishing") if "--trial" in line]
    assert "trial" in run(followed, trial).stdout
    done = run(followed, lines("correct-a-day")[0])
    assert "stays as it is" in done.stderr  # nothing was repaired
    withdrawn = run(followed, next(line for line in lines("correct-a-day") if "withdraw" in line))
    assert withdrawn.returncode == 0, withdrawn.stderr
    assert odanon.open(followed / "odanon_data")["my-city"].windows == [date(2026, 3, 3)]


@pytest.mark.thorough
def test_the_tutorials_work_in_a_fresh_environment(tmp_path: Path) -> None:
    """As a newcomer: a new environment with what each tutorial asks for, and no file of the repository."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    for name, extra in (("own-table", ""), ("product", "[pipeline]")):
        pip = [programs / "pip", "install", "-q", "-c", REPOSITORY / "requirements.lock", f"{REPOSITORY}{extra}"]
        subprocess.run(pip, check=True)
        (tmp_path / name).mkdir()
        follow((DOCS / "tutorials" / f"{name}.md").read_text(), tmp_path / name, programs)


@pytest.mark.thorough
def test_a_report_is_read_from_a_database_as_the_page_says(postgis_url: str, tmp_path: Path) -> None:
    run_sql(postgis_url, "CREATE DATABASE odanon_reports")
    schema.init(url := renamed(postgis_url, "odanon_reports"))
    store, published = PostgisStore(url), bundle()
    store.publish(published, accept)
    (line,) = re.findall(r"^    (psql .+)$", (DOCS / "how-to" / "postgis-report.md").read_text(), re.MULTILINE)
    line = line.replace("my-city", published.product).replace("2026-03-02", published.window_start.isoformat())
    subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**os.environ, "ODANON_DB_URL": url}, check=True)
    report = store.report(published.release_id)
    run_sql(postgis_url, "DROP DATABASE odanon_reports WITH (FORCE)")
    assert (tmp_path / "report.html").read_text().strip() == report.strip() != ""


def test_the_plugin_of_the_page_conforms() -> None:
    page = (DOCS / "how-to" / "add-a-plugin.md").read_text()
    code, toml = (
        re.search(rf"^    ```{kind}\n(.*?)^    ```$", page, re.MULTILINE | re.DOTALL) for kind in ("python", "toml")
    )
    names: dict[str, Any] = {}
    exec(compile(code[1].replace("\n    ", "\n").removeprefix("    "), "add-a-plugin.md", "exec"), names)  # type: ignore[index]
    check_anonymizer(names["Everywhere"])
    (point,) = tomllib.loads(toml[1].replace("    ", ""))["project"]["entry-points"]["odanon.anonymizers"].items()  # type: ignore[index]
    assert point == ("everywhere", "my_package:Everywhere")


def called(page: Path) -> Iterator[tuple[str, str]]:
    """Every command with what follows it, in code and in text."""
    for command, rest in _LINE.findall(page.read_text().replace("\\\n", " ")):
        yield (command if command.startswith("db ") else command.split()[0]), rest.partition(" #")[0]


def test_every_command_and_option_that_a_page_names_exists() -> None:
    group = get_group(main)
    known = {name: group.resolve_command(None, [name])[1] for name in group.commands}  # type: ignore[arg-type]
    known |= {f"db {name}": command for name, command in known["db"].commands.items()}
    options = {
        name: {opt for each in getattr(found, "params", ()) for opt in each.opts} for name, found in known.items()
    }
    pages = [path for path in DOCS.rglob("*.md") if path.parent.name != "plugins"]
    seen = [
        (path.name, command, option)
        for path in pages
        for command, rest in called(path)
        if command in known
        for option in re.findall(r" (--?[a-z][\w-]*)", rest)
    ]
    assert [each for each in seen if each[2] not in options[each[1]] | {"--help"}] == []
    assert {command for _, command, _ in seen} > {"anonymize", "run", "export", "supersede", "flow"}
