"""What docs/one-table.md shows, run as it stands there."""

import re
import shlex
from pathlib import Path
from typing import Any

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from repository import REPOSITORY
from shapely import box
from typer.testing import CliRunner

from odanon.cli import main

PAGE = (REPOSITORY / "docs" / "one-table.md").read_text()
COMMANDS = re.findall(r"^    (odanon .+)$", PAGE, re.MULTILINE)
SLOW = {"compare", "advise"}  # every algorithm, and every setting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page names: trips with places, cells, people and times; flows between zones."""
    home, rng, n = tmp_path_factory.mktemp("page"), np.random.default_rng(2), 1500
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 2)), dtype=object)
    trips = pd.DataFrame({"user": rng.integers(0, 150, n), "o": rng.choice(cells, n), "d": rng.choice(cells, n)})
    for side in "od":
        centre = np.array([h3.cell_to_latlng(cell) for cell in trips[side]])
        trips[f"{side}_lat"], trips[f"{side}_lon"] = centre[:, 0].round(6), centre[:, 1].round(6)
    trips["start"] = pd.Timestamp("2026-03-02") + pd.to_timedelta(rng.integers(0, 1440, n), unit="min")
    trips.to_csv(home / "trips.csv", index=False)
    west, south = np.meshgrid(np.arange(4) / 100 + 4.8, np.arange(4) / 100 + 45.7)
    squares = box(west.ravel(), south.ravel(), west.ravel() + 0.01, south.ravel() + 0.01)
    geopandas.GeoDataFrame({"id": range(16)}, geometry=squares, crs=4326).to_file(home / "zones.gpkg")
    flows = {
        "origin": rng.integers(0, 16, 300),
        "destination": rng.integers(0, 16, 300),
        "trips": rng.integers(1, 9, 300),
    }
    pd.DataFrame(flows).to_csv(home / "od.csv", index=False)
    return home


def run(command: str, folder: Path) -> str:
    """As a terminal would, without the start of a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, repr(done.exception) + done.output
    return done.output


def test_the_first_line_proposes_a_command_that_can_be_run(folder: Path) -> None:
    told = run(COMMANDS[0], folder)
    assert COMMANDS[0] == "odanon anonymize trips.csv"
    proposed = told.strip().splitlines()[-1].strip()
    run(proposed, folder)
    assert (folder / "trips-release" / "handout" / "report.html").exists()


@pytest.mark.parametrize("command", [command for command in COMMANDS[1:] if command.split()[1] not in SLOW])
def test_releases_are_made_as_the_lines_say(folder: Path, command: str) -> None:
    told = run(command, folder)
    out = folder / command.split()[-1]
    assert f"to hand out: {out.name}/handout" in told
    assert pd.read_csv(out / "handout" / "flows.csv")["trips"].min() >= 10


@pytest.mark.thorough  # minutes: every algorithm, every setting
@pytest.mark.parametrize("command", [command for command in COMMANDS if command.split()[1] in SLOW])
def test_the_slow_lines_run_as_well(folder: Path, command: str) -> None:
    assert "written to" in run(command, folder)


def test_the_python_runs_as_it_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "one-table.md", "exec"), names)
    assert names["release"].flows["persons"].min() >= 10
    assert names["zones"].n_leaves == 16
