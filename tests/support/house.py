"""A folder in which the commands run as somebody's who has installed packages of others."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from product_example import SMALL


@dataclass(frozen=True)
class House:
    """A folder with products and data, in which the commands see the installed packages."""

    site: Path
    root: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        folders = {"ODANON_ROOT": "data", "ODANON_PRODUCTS": "pipelines", "DAGSTER_HOME": "dagster"}
        for part in folders.values():
            (self.root / part).mkdir(exist_ok=True)
        places = {name: str(self.root / part) for name, part in folders.items()}
        environment = {**os.environ, **places, "PYTHONPATH": str(self.site), "COLUMNS": "200"}
        command = [Path(sys.executable).with_name(program), *arguments]
        return subprocess.run(command, env=environment, cwd=self.root, capture_output=True, text=True, check=False)

    def odanon(self, *arguments: str) -> str:
        done = self.run("odanon", *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def write_product(self, **changes: Any) -> Path:
        (self.root / "pipelines").mkdir(exist_ok=True)
        path = self.root / "pipelines" / "small.yaml"
        path.write_text(yaml.safe_dump({**SMALL, **changes}))
        return path
