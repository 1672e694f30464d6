"""What a release is worth to a model of travel demand: true matrices against releases at several k, on cities whose truth is known.

Five cities, each with a census of everybody, a survey of 2 % and phones for the rest. Agents are calibrated and placed by the true matrices, and by
releases of what phones show, spread back to zones; they are compared with what everybody truly did. Writes docs/pictures/demand-*.svg and the tables
of docs/demand.md. What is done is kept in ODANON_ROOT/demand_experiment, so a stopped run goes on; about half an hour from nothing.
"""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import pandas as pd
from travellers.agents import PLACERS, Agents
from travellers.cities import DAY, City
from travellers.inputs import Inputs, planned
from travellers.measures import of_matrices, of_travellers
from travellers.page import written
from travellers.pictures import drawn

REPOSITORY = Path(__file__).parents[2]
PEOPLE, ZONES = 40_000, 60
SEEDS = (1, 2, 3, 4, 5)  # of the city, of its survey and of the agents
ITSELF = "itself"  # the matrices before anybody is placed by them


def city_of(folder: Path, seed: int) -> tuple[City, Inputs]:
    city = City.made(folder / f"city-{seed}", PEOPLE, ZONES, seed)
    after = City.made(folder / f"after-{seed}", PEOPLE, ZONES, seed, DAY + timedelta(days=1))
    return city, Inputs(city, after)


def measured(folder: Path, seed: int) -> list[dict]:
    """All rows of a city; those that are kept are not measured again."""
    (city, inputs), rows = city_of(folder, seed), []
    plans = list(planned())
    for number, asked in enumerate(plans, 1):
        kept = folder / "kept" / str(seed) / f"{asked.name}.json"
        if not kept.exists():
            started = time.monotonic()
            given = inputs.matrices(asked)
            found = {ITSELF: of_matrices(given, city) | (inputs.published(asked) if asked.k else {})}
            agents = Agents.of(city, given, seed)
            found |= {placer: of_travellers(agents.placed(placer), given, city) for placer in PLACERS}
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.with_suffix(".tmp").write_text(json.dumps(found))
            kept.with_suffix(".tmp").rename(kept)
            took = time.monotonic() - started
            r2 = ", ".join(f"{found[placer]['truth r2']:.2f}" for placer in PLACERS)
            print(
                f"city {seed} of {len(SEEDS)}, {number:>2} of {len(plans)}: {asked.name:<24} R2 {r2}  {took:.0f} s",
                flush=True,
            )
        told = {"seed": seed, "algorithm": asked.algorithm, "k": asked.k, "reading": asked.reading}
        rows += [told | {"model": model} | figures for model, figures in json.loads(kept.read_text()).items()]
    return rows


def main() -> int:
    folder = Path(os.environ.get("ODANON_ROOT", REPOSITORY / "odanon_data")) / "demand_experiment"
    started = time.monotonic()
    table = pd.DataFrame([row for seed in SEEDS for row in measured(folder, seed)])
    table.to_csv(folder / "measures.csv", index=False)
    pictures = drawn(table, *city_of(folder, SEEDS[0]), REPOSITORY / "docs" / "pictures")
    written(table, REPOSITORY / "docs" / "demand.md")
    print(f"written: docs/demand.md, {', '.join(pictures)}; {(time.monotonic() - started) / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
