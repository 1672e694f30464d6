"""The page about demand: its lines can be run, its files are accepted, and its tables are those of the experiment."""

import re
import sys
from pathlib import Path

import yaml
from followed import follow
from repository import REPOSITORY

from odanon.demand.settings import Demand, OdInput

PAGE = (REPOSITORY / "docs" / "demand.md").read_text(encoding="utf-8")
FILES = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_lines_of_the_page_make_the_files_that_it_lists(tmp_path: Path) -> None:
    follow(PAGE, tmp_path, Path(sys.executable).parent)
    listed = re.findall(r"`([\w.]+/?)`", PAGE.partition("then holds:")[2].partition("\n\n`odanon")[0])
    assert {"agents.parquet", "matsim/", "report.html"} <= set(listed)
    assert [name for name in listed if not (tmp_path / "simulated" / name).exists()] == []


def test_the_file_on_the_page_is_a_demand_file() -> None:
    whole, published = FILES
    assert Demand.model_validate(whole).place.plugin == "factor-graph"
    assert OdInput.model_validate(published["inputs"]["od"]).product == "my-city"


def test_every_table_of_the_experiment_is_filled() -> None:
    found = re.findall(r"<!-- (\w+) -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert [name for name, _ in found] == ["models", "releases", "all", "changes"]
    assert all(len(rows.splitlines()) > 4 for _, rows in found)
