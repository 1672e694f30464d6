"""One case in a process of its own, so that its CPU time and peak memory are its own."""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from odanon.anonymizers.window import release_window
from odanon.compare.plan import Case
from odanon.errors import OdanonError
from odanon.measure import measured
from odanon.tables.read import Loaded, TableInput
from odanon.tables.write import figures_of, write_folder


def main(job_file: str) -> None:
    """Run the case described by a job file and write `result.json` beside it, last."""
    folder = Path(job_file).parent
    job = json.loads(Path(job_file).read_text())
    case = Case(**job["case"])
    table: dict[str, Any] = {
        key: Path(value) if key in ("path", "zones") and value else value for key, value in job["table"].items()
    }
    try:
        outcome: dict[str, Any] = {"status": "done", **run(case, TableInput(**table).load(), folder / "release")}
    except OdanonError as error:
        outcome = {"status": "refused", "message": str(error)}
    (folder / "result.json.tmp").write_text(json.dumps({**job, **outcome}, indent=1, sort_keys=True))
    (folder / "result.json.tmp").rename(folder / "result.json")


def run(case: Case, loaded: Loaded, folder: Path) -> dict[str, Any]:
    """Release and measure; CPU seconds are those of the anonymiser alone, its kernels loaded beforehand."""
    anonymizer = case.create()
    _warm_up(anonymizer, loaded)
    before = _peak_mb()
    started = time.process_time()
    releases = release_window(anonymizer, loaded.matrices, loaded.tree, loaded.tree)
    seconds = time.process_time() - started
    peak = _peak_mb()
    for bin_, release in releases.items():
        measured(loaded.matrices[bin_], release)
    write_folder(folder, releases, loaded.tree, loaded.tiles, anonymizer, case.algorithm)
    figures = {name: value if value == value else None for name, value in figures_of(releases).items()}
    return {"metrics": figures, "cpu_s": seconds, "peak_mb": peak, "extra_mb": peak - before}


def _warm_up(anonymizer: Any, loaded: Loaded) -> None:
    """Load (or, once ever, compile) the kernels on the smallest matrix of the table."""
    smallest = min(loaded.matrices.values(), key=lambda od: len(od.trips))
    if len(smallest.trips) < 20_000:
        try:
            anonymizer.anonymize(smallest, loaded.tree, loaded.tree)
        except OdanonError:
            return


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1])
