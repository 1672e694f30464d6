"""`make results`: run every algorithm on stand-ins for the papers' data sets and on real data, and write docs/results.md.

Runs that are done are not repeated, so a stopped run goes on; ODANON_ROOT/results holds what they left.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the generators of the benchmarks

import real  # noqa: E402
import standins  # noqa: E402
from pages import page  # noqa: E402
from published import CITIES, QUADTREE, SETS  # noqa: E402

from odanon.compare.plan import Case, Plan, crossed  # noqa: E402
from odanon.compare.runner import run_plan, tidy  # noqa: E402
from odanon.tables.read import TableInput  # noqa: E402

REPOSITORY = HERE.parents[2]
TIME_LIMIT_S = 240
SOLVERS = (
    *("atg-joint", "atg-homogeneous", "atg-dual", "atg-soft", "oigh", "odkanon", "datafly", "mondrian"),
    *("glove", "glove-sk", "uniform", "suppression", "laplace"),
)
LARGE = ("atg-joint", "atg-homogeneous", "atg-dual", "atg-soft", "oigh", "odkanon", "mondrian", "suppression")
HEXAGONS = ("atg-joint", "atg-homogeneous", "atg-soft", "odkanon", "oigh", "mondrian")
CROSSED = ("atg-joint", "odkanon")


def solvers(names: tuple[str, ...], unit: str, k: int = 10) -> tuple[Case, ...]:
    """The papers' budget, except that suppression alone may leave out what it must."""
    return tuple(Case(name, k, unit, 0.999 if name == "suppression" else 0.1) for name in names)


def squares_cases() -> tuple[Case, ...]:
    """001 Table 1: the knapsack, and uniform squares whose small volumes are reported per origin."""
    planned = []
    for k in QUADTREE:
        planned.append(Case("quadtree-knapsack", k, "trips", 0.1))
        for tiles, level in ((4, 4), (8, 3), (16, 2)):
            told = {"level": level, "report_small": True}
            planned.append(Case("uniform", k, "trips", 0.999, {**told}))
            assert 64 // tiles == 2**level
    return tuple(planned)


def experiments(folder: Path) -> dict[str, Callable[[], tuple[TableInput, tuple[Case, ...]]]]:
    """Name -> table and cases, made when needed."""
    wanted = {name: _solvers_for(pairs) for name, (_, pairs, _, _) in SETS.items()}
    found: dict[str, Callable[[], tuple[TableInput, tuple[Case, ...]]]] = {
        name: lambda name=name: (standins.matrix(folder, name), solvers(wanted[name], "trips")) for name in SETS
    }
    found |= {name: lambda name=name: (standins.hexagons(folder, name), solvers(HEXAGONS, "trips")) for name in CITIES}
    found["squares"] = lambda: (standins.squares(folder), squares_cases())
    found["survey"] = lambda: survey(folder)
    if real.DATA.is_dir():
        found["taxi week"] = lambda: (real.taxi_week(folder), solvers(SOLVERS, "trips"))
        found["bike rides"] = lambda: (real.bike_rides(folder), solvers(SOLVERS, "persons"))
    return found


def _solvers_for(pairs: int) -> tuple[str, ...]:
    """Not everything is for large matrices."""
    return LARGE if pairs > 100_000 else SOLVERS


def survey(folder: Path) -> tuple[TableInput, tuple[Case, ...]]:
    table = standins.survey(folder)
    weight = pd.read_parquet(table.path, columns=["weight"])["weight"].mean()
    return table, crossed(solvers(CROSSED, "persons"), "participants,population", float(weight), ("F", "M"))


def main() -> int:
    folder = Path(os.environ.get("ODANON_ROOT", REPOSITORY / "odanon_data")) / "results"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, make in experiments(folder).items():
        table, cases = make()
        plan = Plan(table, cases, folder / name.replace(" ", "_"), TIME_LIMIT_S, keep_releases=False)
        results = []
        for result in run_plan(plan):
            results.append(result)
            case = result["case"]
            print(f"{name}: {case['algorithm']} k={case['k']} {case['segment']} {result['status']}", flush=True)
        found[name] = tidy(results)
    (REPOSITORY / "docs" / "results.md").write_text(page(found), encoding="utf-8")
    print("written: docs/results.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
