"""A synthetic population at the size of the thesis: 1.3 million agents, 515 zones, 15 steps; time and memory of every stage.

The inputs are random, with the shape of real ones: a census of 480,000 rows, a survey of 28,000 respondents whose days have many different times,
matrices that gravity makes, 30 % of the pairs in them. `min_donors` is 1, so that there are as many different agendas as can be: the worst case for placers. Each
calibrator and placer is a process of its own, so that its memory is its own. CPU time is told beside wall time: the machine may be busy.
Run it with `make bench ONLY=demand`; it fails if a target is missed.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from odanon import registry
from odanon.demand.contracts import STEPS, checked
from odanon.demand.stages import (
    Calibration,
    Inputs,
    Matching,
    Prepared,
    calibrated,
    evaluated,
    matched,
    placed,
    prepare,
)
from odanon.demand.stages.kept import Kept

PEOPLE, ROWS, RESPONDENTS, ZONES = 1_300_000, 480_000, 28_000, 515
TARGETS = {
    "calibrate": 60.0,
    "place": 600.0,
}  # CPU seconds, and the thesis took about an hour of Gibbs sampling for the second
MEMORY_TARGET_MB = 4000
SEED = 7
T = TypeVar("T")
# Purposes of a day and how frequent it is; the last two close loops.
DAYS = {
    (): 26,
    ("work", "home"): 18,
    ("study", "home"): 12,
    ("shopping", "home"): 10,
    ("personal", "home"): 8,
    ("work", "shopping", "home"): 6,
    ("work", "home", "personal", "home"): 5,
    ("shopping", "personal", "home"): 4,
    ("work", "personal", "work", "home"): 4,
    ("work", "home", "work", "home"): 3,
    ("study", "home", "personal", "home"): 2,
    ("work", "shopping", "personal", "home"): 1,
    ("work", "shopping", "personal", "work", "home"): 0.7,
    ("study", "work", "shopping", "study", "home"): 0.3,
}
KINDS = {"age": ["0-17", "18-29", "30-59", "60+"], "gender": ["female", "male"], "occupation": list("abcdefghi")}
KINDS |= {"car": ["no", "yes"], "home_status": ["flat", "house", "other"]}
CANTONS = [f"k{number:02d}" for number in range(30)]


def inputs() -> Inputs:
    """Random tables of the contracts."""
    rng = np.random.default_rng(SEED)
    place = rng.uniform(0, 25, (ZONES, 2))  # kilometres
    names = [f"z{number:03d}" for number in range(ZONES)]
    zones = pd.DataFrame({"zone": names, "commune": [f"c{number % 94:02d}" for number in range(ZONES)]})
    zones["canton"] = [CANTONS[number % 30] for number in range(ZONES)]
    zones["lat"], zones["lon"] = 45.6 + place[:, 1] / 111, 4.7 + place[:, 0] / 78
    size = rng.lognormal(0, 0.8, ZONES)
    census = pd.DataFrame({"person": np.arange(ROWS).astype(str), "weight": rng.gamma(4, PEOPLE / ROWS / 4, ROWS)})
    census["home_zone"] = rng.choice(names, ROWS, p=size / size.sum())
    census = census.assign(**{name: rng.choice(words, ROWS) for name, words in KINDS.items()})
    people = pd.DataFrame({"person": np.arange(RESPONDENTS).astype(str), "weight": rng.gamma(4, 10, RESPONDENTS)})
    people = people.assign(**{name: rng.choice(words, RESPONDENTS) for name, words in KINDS.items()})
    people["canton"] = rng.choice(CANTONS, RESPONDENTS)
    tables = {
        "zones": zones,
        "census": census,
        "survey_people": people,
        "survey_trips": _trips(rng),
        "od": _flows(rng, place, size, names),
    }
    return Inputs(**{name: checked(name, table, name) for name, table in tables.items()})  # type: ignore[arg-type]


def _trips(rng: np.random.Generator) -> pd.DataFrame:
    days, often = list(DAYS), np.array(list(DAYS.values()))
    rows: list[tuple[Any, ...]] = []
    for person, kind in enumerate(rng.choice(len(days), RESPONDENTS, p=often / often.sum())):
        leaves = np.sort(rng.choice(np.arange(5 * 60, 23 * 60, 45), len(days[kind]), replace=False))
        mode = rng.choice(["foot", "bicycle", "car", "public"], p=[0.25, 0.03, 0.5, 0.22])
        rows += [
            (str(person), seq, at, at + 15, purpose, mode, 4000)
            for seq, (at, purpose) in enumerate(zip(leaves, days[kind], strict=True))
        ]
    return pd.DataFrame(rows, columns=["person", "seq", "leave_min", "arrive_min", "purpose", "mode", "distance_m"])


def _flows(rng: np.random.Generator, place: np.ndarray, size: np.ndarray, names: list[str]) -> pd.DataFrame:
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    gravity = 2 * size[:, None] * size[None] * np.exp(-apart / 3)
    busy = [0.3, 0.3, 2, 6, 7, 4, 5, 6, 5, 6, 8, 7, 5, 4, 2]
    found = []
    for step, level in enumerate(busy):
        o, d = np.nonzero(trips := rng.poisson(gravity * level))
        zone = np.array(names)
        found.append(pd.DataFrame({"step": step, "origin": zone[o], "destination": zone[d], "trips": trips[o, d]}))
    return pd.concat(found, ignore_index=True)


def timed(make: Callable[[], T]) -> tuple[T, float, float]:
    """What is made, its CPU and its wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    made = make()
    return made, time.process_time() - cpu, time.perf_counter() - wall


def measure(folder: str, stage: str, name: str) -> dict[str, Any]:
    """Run in a child: one stage on what the stages before have kept."""
    kept = Kept(Path(folder))
    if stage == "prepare":
        tables = inputs()
        prepared, *spent = timed(lambda: prepare(tables, SEED, STEPS))
        kept.write("prepare", "", prepared)
        return _told(spent, agents=len(prepared.agents), agendas=prepared.figures["survey"]["agendas"])
    prepared = kept.read("prepare", Prepared)
    if stage == "match":
        matching, *spent = timed(lambda: matched(prepared, SEED, min_donors=1))
        kept.write("match", "", matching)
        return _told(spent)
    matching = kept.read("match", Matching)
    plugin = registry.create(stage, name, {})
    if stage == "calibrate":
        calibration, *spent = timed(lambda: calibrated(prepared, matching, plugin, SEED))
        if name == "raking":
            kept.write("calibrate", "", calibration)
        told = calibration.figures
        return _told(spent, gap=told["largest gap"], groups=told["groups"], rounds=told["rounds"], sd=told["sd"])
    calibration = kept.read("calibrate", Calibration)
    placement, *spent = timed(lambda: placed(prepared, matching, calibration, plugin, SEED))
    found = _told(spent, rows=len(placement.activities))
    told, *spent = timed(lambda: evaluated(prepared, matching, calibration, placement))
    return found | {"r2": told["places"]["od fit"]["r2"], "evaluation": spent[0]}


def _told(spent: list[float], **figures: float) -> dict[str, float]:
    return {
        "cpu": spent[0],
        "wall": spent[1],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **figures,
    }


def main() -> None:
    good = True
    with tempfile.TemporaryDirectory() as folder:
        asked = [("prepare", ""), ("match", "")]
        asked += [(stage, name) for stage in ("calibrate", "place") for name in registry.names(stage)]
        for stage, name in asked:
            done = subprocess.run(
                [sys.executable, __file__, folder, stage, name], check=True, capture_output=True, text=True
            )
            found = json.loads(done.stdout)
            reached = found["cpu"] <= TARGETS.get(stage, 60.0) and found["peak_mb"] <= MEMORY_TARGET_MB
            good &= reached
            rest = ", ".join(
                f"{key} {value:,.4g}" for key, value in found.items() if key not in ("cpu", "wall", "peak_mb")
            )
            print(
                f" {stage:9} {name:14} {found['cpu']:6.1f} s CPU {found['wall']:6.1f} s {found['peak_mb']:6.0f} MB  {rest}"
                f"{'' if reached else '  MISSED'}",
                flush=True,
            )
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        main()
