"""The demo's first day under ATG-Joint with standard steps, as it is now, and with time as a third tree."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[3]
DAY = "2026-03-02"
BEFORE = {
    "hierarchy": {"plugin": "h3", "root": "auto", "steps": "standard"},
    "anonymize": {"plugin": "atg-joint", "k": 10, "unit": "persons", "suppression": 0.10},
}


ADAPTIVE = {"od": {"bin": "3h", "intrazonal": "keep", "time": "adaptive"}}


def table(folder: Path) -> dict[str, dict[str, float]]:
    """The publisher's exact figures of the day by how it was made."""
    return {
        "ATG-Joint, standard steps (before)": figures(folder / "demo_before", BEFORE),
        "the demo as it is": figures(folder / "demo", {}),
        "the same with `od.time: adaptive`": figures(folder / "demo_in_time", ADAPTIVE),
    }


def figures(root: Path, changes: dict[str, Any]) -> dict[str, float]:
    """Those of a run of the demo product with these changes, in a folder of its own."""
    product = yaml.safe_load((REPOSITORY / "pipelines" / "demo.yaml").read_text()) | changes
    file = root / "pipelines" / "demo.yaml"
    text = yaml.safe_dump(product, sort_keys=False)
    done = root / "work" / "demo" / "metrics" / f"date={DAY}" / "exact.json"
    if not done.exists() or not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        environment = {"ODANON_ROOT": str(root), "ODANON_PRODUCTS": str(file.parent), "DAGSTER_HOME": str(root)}
        command = [Path(sys.executable).with_name("odanon"), "run", "demo", "--from", DAY, "--to", DAY]
        (root / "dagster.yaml").touch()
        subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
        print(f"demo: {root.name} done", flush=True)
    return json.loads(done.read_text())
