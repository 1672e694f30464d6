"""Compile the kernels of every installed algorithm, each once: processes that start together would all compile the same.

The conformance suites call them with the types that the stages give them; those of the stages around them run in a small day.
"""

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from unittest.mock import patch

import numpy as np
import yaml

from odanon import registry
from odanon.geo.h3cells import coded_cells
from odanon.product import load_product
from odanon.testing import anonymizers, check_anonymizer, check_staypoints
from odanon_assets.chain.stages import STAGES, run_stage

_LONG = ("atg-lattice", "atg-joint")  # to compile; they are begun first
_DEMO = Path(__file__).parents[2] / "pipelines" / "demo.yaml"
_SMALL = {
    "source": {"plugin": "simulated", "people": 400, "seed": 3},
    "trips": {"min_distance_m": 200, "home_work": {}},
    "zoning": {"plugin": "grid", "cell_m": 1000, "crs": "EPSG:2154", "bounds": [4.7, 45.65, 5.0, 45.85]},
    "hierarchy": {"plugin": "ward"},
    "checks": {"max_unknown_zone": 0.5},
}


def of_anonymizer(name: str) -> None:
    """Few cities are enough: their types are those of all."""
    anonymizers._ENOUGH = anonymizers._ENOUGH_LIMITED = 1
    check_anonymizer(registry.find("anonymize", name).cls, may_refuse=True)


def of_staypoints(name: str) -> None:
    check_staypoints(registry.create("staypoints", name, {}))


def of_a_day() -> None:
    """What is between points and public tables; large tables have their cells from a kernel."""
    coded_cells(np.linspace(-80, 80, 600_000), np.linspace(-170, 170, 600_000), 8)
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"ODANON_ROOT": folder}):
        path = Path(folder) / "demo.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(_DEMO.read_text()) | _SMALL))
        product = load_product(path)
        for stage in STAGES[:-1]:
            plugins = {name: getattr(product, name).instance for name in stage.plugins}
            run_stage(product, stage.name, date(2026, 3, 2), plugins)


if __name__ == "__main__":
    names = sorted(registry.names("anonymize"), key=lambda name: name not in _LONG)
    with ProcessPoolExecutor(2) as processes:
        rest = [processes.submit(of_anonymizer, name) for name in names[: len(_LONG)]]
        rest += [processes.submit(of_a_day)]
        rest += [processes.submit(of_anonymizer, name) for name in names[len(_LONG) :]]
        rest += [processes.submit(of_staypoints, name) for name in registry.names("staypoints")]
        for each in rest:
            each.result()
