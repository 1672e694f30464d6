"""README and the pages that it sends newcomers to: short, linked, and true where it can be tried."""

import re
import shlex
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle
from repository import REPOSITORY
from shapely import box
from typer.testing import CliRunner

import odanon
from odanon import cli
from odanon.product import load_product
from odanon_assets.stores.embedded import EmbeddedStore

README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
PAGES = [README, *(DOCS / f"{name}.md" for name in ("installing", "one-table", "product-files", "reading"))]


def block(page: str, language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return found


def test_readme_is_one_page() -> None:
    assert len(README.read_text().splitlines()) <= 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if not path.startswith("https://"):
            found = page.parent / path
            assert found.exists(), target
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE) if anchor else []
            assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, target


def test_every_extra_is_told_of() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    told = re.findall(r"^\| `(\w+)` \|", (DOCS / "installing.md").read_text(), re.MULTILINE)
    assert sorted(told) == sorted(extras.keys() - {"bench", "dev"})


def test_the_command_of_readme_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    columns = {
        name: rng.uniform(low, low + 0.02, 400)
        for name, low in (("o_lat", 48), ("o_lon", 2), ("d_lat", 48), ("d_lon", 2))
    }
    pd.DataFrame({**columns, "user": rng.integers(0, 200, 400)}).to_csv(tmp_path / "trips.csv", index=False)
    monkeypatch.chdir(tmp_path)
    (words,) = re.findall(r"^    odanon (.+)$", README.read_text(), re.MULTILINE)
    done = CliRunner().invoke(cli.main, shlex.split(words))
    assert "every flow holds at least 10 distinct persons" in done.output, repr(done.exception)


def test_the_product_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "my-city.yaml"
    path.write_text(block("product-files.md", "yaml"))
    assert load_product(path).product == "my-city"


def test_a_reader_can_copy_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for day in (2, 3):
        EmbeddedStore(Path("odanon_data")).publish(bundle(product="my-city", day=date(2026, 3, day), rows=9), accept)
    shapes = {"home": box(0, 0, 0.5, 1), "work": box(1, 0, 3, 1)}
    areas = geopandas.GeoDataFrame(geometry=[*shapes.values()], index=[*shapes], crs="EPSG:4326")
    names: dict[str, Any] = {"odanon": odanon, "areas": areas, **shapes}
    exec(compile(block("reading.md", "python"), "reading.md", "exec"), names)
    assert names["product"].windows == [date(2026, 3, 2), date(2026, 3, 3)]
