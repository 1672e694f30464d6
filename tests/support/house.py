"""A folder in which the commands run as somebody's who has installed packages of others."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pandas as pd
import pytest
import yaml
from product_example import SMALL

TABLE = ("trips.parquet", "--person", "user", "-k", "5")


@dataclass(frozen=True)
class House:
    """A folder with products and data, in which the commands see the installed packages."""

    site: Path
    root: Path

    def run(self, program: str, *arguments: str, out: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        folders = {"ODANON_ROOT": "data", "ODANON_PRODUCTS": "pipelines", "DAGSTER_HOME": "dagster"}
        for part in folders.values():
            (self.root / part).mkdir(exist_ok=True)
        places = {name: str(self.root / part) for name, part in folders.items()}
        environment = {**os.environ, **places, "PYTHONPATH": str(self.site), "COLUMNS": "200"}
        command = [Path(sys.executable).with_name(program), *arguments]
        streams = {"stdout": out, "stderr": subprocess.PIPE}
        return subprocess.run(command, env=environment, cwd=self.root, **streams, text=True, check=False)

    def odanon(self, *arguments: str) -> str:
        done = self.run("odanon", *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def write_product(self, **changes: Any) -> Path:
        (self.root / "pipelines").mkdir(exist_ok=True)
        path = self.root / "pipelines" / "small.yaml"
        path.write_text(yaml.safe_dump({**SMALL, **changes}))
        return path


def a_house(factory: pytest.TempPathFactory, files: dict[str, str]) -> House:
    """A house with trips of 100 people, and with a package of a stranger if there are files of one."""
    site, root = factory.mktemp("site"), factory.mktemp("house")
    about = (
        {"stranger-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n"} if files else {}
    )
    for name, content in {**files, **about}.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(content)
    rng = np.random.default_rng(5)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 2)), dtype=object)
    ends = {side: cells[rng.integers(0, len(cells), 800)] for side in ("origin", "destination")}
    pd.DataFrame({**ends, "user": rng.integers(0, 100, 800)}).to_parquet(root / "trips.parquet")
    return House(site, root)
