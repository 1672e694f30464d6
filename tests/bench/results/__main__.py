"""`make results`: run every algorithm on stand-ins for the papers' data sets and on real data, and write docs/results.md.

Runs that are done are not repeated, so a stopped run goes on; ODANON_ROOT/results holds what they left. Names of sets as arguments run
these alone, and the page says which are missing.
"""

import os
import sys
import time
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the generators of the benchmarks

import demo  # noqa: E402
import hours  # noqa: E402
import ratios  # noqa: E402
import zones  # noqa: E402
from pages import page  # noqa: E402
from plans import Experiment, equal_cases, experiments  # noqa: E402
from runs import run  # noqa: E402

from odanon.compare.plan import Case, Plan  # noqa: E402
from odanon.tables.read import TableInput  # noqa: E402

REPOSITORY = HERE.parents[2]
TIME_LIMIT_S = 60  # CPU time of a case, measuring included


def measure(name: str, experiment: Experiment, folder: Path) -> pd.DataFrame:
    """All cases of an experiment, and the lattice with the budgets that the others used."""
    into = folder / name.replace(" ", "_")
    tables = [
        run(_plan(table, cases, into / steps)).assign(steps=steps, equal=False)
        for steps, table, cases in experiment.plans()
    ]
    found = pd.concat(tables, ignore_index=True)
    if name in ("squares", "survey") or not (cases := equal_cases(found)):
        return found
    steps = "fine" if experiment.fine else "standard"
    beside = run(_plan(experiment.finest, cases, into / "equal")).assign(steps=steps, equal=True)
    return pd.concat([found, beside], ignore_index=True)


def _plan(table: TableInput, cases: tuple[Case, ...], folder: Path) -> Plan:
    return Plan(table, cases, folder, TIME_LIMIT_S, keep_releases=False)


def main() -> int:
    folder = Path(os.environ.get("ODANON_ROOT", REPOSITORY / "odanon_data")) / "results"
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    wanted = sys.argv[1:]
    planned = {name: make for name, make in experiments(folder).items() if not wanted or name in wanted}
    found = {name: measure(name, make(), folder) for name, make in planned.items()}
    docs = REPOSITORY / "docs"
    (docs / "results-ratios.svg").write_text(ratios.drawn(ratios.measured(folder)), encoding="utf-8")
    (docs / "results.md").write_text(
        page(found, demo.table(folder), zones.measured(folder), hours.section([*hours.rows()]), TIME_LIMIT_S),
        encoding="utf-8",
    )
    print(f"written: docs/results.md and docs/results-ratios.svg, {(time.monotonic() - started) / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
