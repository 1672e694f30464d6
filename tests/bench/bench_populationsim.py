"""IPU and raking beside the list balancer of PopulationSim, on the same marginals: fit and time.

PopulationSim needs a numpy before 2, so it gets an environment of its own (ODANON_ROOT/populationsim), which is made once. Its balancer minimises the
same distance as exponential raking, by one target after the other, and relaxes targets that cannot be met. Compiling is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from travellers.agents import Agents, recorded
from travellers.cities import City

from odanon import registry
from odanon.demand.calibrators.system import System

REPOSITORY = Path(__file__).parents[2]
VERSION = "0.10.0"
SIZES = ((20_000, 60), (100_000, 60))  # people, zones
OURS = (("ipu", {}), ("raking", {}), ("least-squares", {}))
# What runs over there. Importance says how much a relaxed target counts; it is the one of PopulationSim's own tests.
THEIRS = """
import json, sys, time
import numpy as np, pandas as pd
from populationsim.balancing import ListBalancer
given = np.load(sys.argv[1])
def balance(table, weights, totals):
    return ListBalancer(
        incidence_table=table, initial_weights=weights, control_totals=totals,
        control_importance_weights=np.full(len(totals), 100000.0), lb_weights=0, ub_weights=None,
        master_control_index=None, max_iterations=10000, use_numba=True, numba_precision="float64",
    ).balance()
balance(pd.DataFrame({"a": [1.0, 0.0], "b": [1.0, 1.0]}), np.ones(2), np.array([2.0, 3.0]))
table = pd.DataFrame(given["incidence"])
started, cpu = time.perf_counter(), time.process_time()
status, weights, _ = balance(table, given["persons"], given["target"])
told = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "rounds": int(status["iter"]), "converged": bool(status["converged"])}
np.savez(sys.argv[2], persons=weights["final"].to_numpy(), told=json.dumps(told))
"""


def environment(folder: Path) -> Path | None:
    """The Python that has PopulationSim; None where it cannot be installed, which is told."""
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [REPOSITORY / "deploy" / "setup" / "pip.sh", folder, f"populationsim=={VERSION}"]
        if subprocess.run(list(map(str, pip)), check=False).returncode:
            return None
        (folder / "installed").touch()
    return python


def theirs(python: Path, asked: System) -> tuple[np.ndarray, dict]:
    with tempfile.TemporaryDirectory() as near:
        given, found = Path(near) / "given.npz", Path(near) / "found.npz"
        np.savez(given, incidence=asked.rows.T.toarray(), persons=asked.persons, target=asked.target)
        subprocess.run([str(python), "-c", THEIRS, str(given), str(found)], check=True)
        made = np.load(found)
        return made["persons"], json.loads(str(made["told"]))


def ours(name: str, parameters: dict, asked: System) -> tuple[np.ndarray, dict]:
    calibrator = registry.create("calibrate", name, parameters)
    calibrator.calibrate(asked)  # loads
    started, cpu = time.perf_counter(), time.process_time()
    found = calibrator.calibrate(asked)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return found.persons, {"seconds": seconds, "cpu": cpu, "rounds": found.rounds}


def told(name: str, asked: System, persons: np.ndarray, figures: dict) -> None:
    gaps = np.abs(asked.gaps(persons))
    c = persons / asked.persons
    distance = float((asked.persons * (np.where(c > 0, c * np.log(np.maximum(c, 1e-300)), 0) - c + 1)).sum())
    print(
        f"{name:<14} largest gap {gaps.max():.1e}, mean {gaps.mean():.1e}; distance {distance:,.1f}, coefficients {c.min():.2f} to {c.max():.2f};"
        f" {figures['rounds']:,} rounds, {figures['seconds']:.2f} s ({figures['cpu']:.2f} s of CPU)",
        flush=True,
    )


def main() -> int:
    root = Path(os.environ.get("ODANON_ROOT", REPOSITORY / "odanon_data"))
    python = environment(root / "populationsim")
    for people, zones in SIZES:
        city = City.made(root / "demand_experiment" / f"balanced-{people}", people, zones, 1)
        asked = recorded(Agents.of(city, city.truth, 1))
        print(
            f"{people:,} people: {len(asked.persons):,} groups, {asked.steps} steps and {len(asked.target) - asked.steps} profiles"
        )
        for name, parameters in OURS:
            told(name, asked, *ours(name, parameters, asked))
        if python is not None:
            told("PopulationSim", asked, *theirs(python, asked))
    return 0 if python is not None else 1


if __name__ == "__main__":
    sys.exit(main())
