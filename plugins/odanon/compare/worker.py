"""One case in a process of its own, so that its CPU time and peak memory are its own."""

import copy
import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from odanon.compare.cross import below_thresholds, counted_by_weight, recounted
from odanon.compare.plan import EVERYBODY, WEIGHTS_ALONE, Case
from odanon.door import release
from odanon.errors import OdanonError, pass_on
from odanon.metrics.measure import measured_window
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.protocols import Anonymizes
from odanon.tables.read import Loaded, TableInput
from odanon.tables.write import write_folder

_WARM_ROWS = 2000


def main(job_file: str) -> None:
    """Run the case described by a job file and write `result.json` beside it, last."""
    folder = Path(job_file).parent
    job = json.loads(Path(job_file).read_text())
    case = Case(**job["case"])
    values: dict[str, Any] = {
        key: Path(value) if key in ("path", "zones", "tile_weights") and value else value
        for key, value in job["table"].items()
    }
    table = TableInput(**values)
    if case.segment != EVERYBODY:
        table = replace(table, only=case.segment)
    table = replace(table, adaptive=case.adaptive)
    try:
        outcome: dict[str, Any] = {"status": "done", **run(case, table.load(), folder / "release", job["keep"])}
    except OdanonError as error:
        outcome = {"status": "refused", "message": str(error)}
    (folder / "result.json.tmp").write_text(json.dumps({**job, **outcome}, indent=1, sort_keys=True))
    (folder / "result.json.tmp").rename(folder / "result.json")


def run(case: Case, loaded: Loaded, folder: Path, keep: bool) -> dict[str, Any]:
    """Release and measure; CPU seconds are those of the anonymiser alone, its kernels loaded beforehand.

    A case that must never be published leaves its figures and nothing else.
    """
    anonymizer, promise = case.create(len(loaded.matrices))
    tree = loaded.tree
    matrices = loaded.matrices
    if case.unit == WEIGHTS_ALONE:
        matrices = {bin_: counted_by_weight(od, case.weight_unit) for bin_, od in matrices.items()}
    warm_up(anonymizer, matrices, loaded)
    before = _peak_mb()
    released = release(matrices, tree, anonymizer, promise)
    if case.protect:
        held = {bin_: _as_promised(case, loaded.matrices[bin_], made) for bin_, made in released.releases.items()}
        figures = measured_window(loaded.matrices, held) | below_thresholds(case, loaded.matrices, held)
        released = replace(released, releases=held, figures=figures)
    if keep and case.publishable:
        write_folder(folder, released, tree, loaded.tiles, case.algorithm, loaded.prior)
    known = {name: value if value == value else None for name, value in released.figures.items()}
    return {
        "metrics": known,
        "verified": released.verified,
        "cpu_s": released.cpu_s,
        "peak_mb": released.peak_mb,
        "extra_mb": released.peak_mb - before,
    }


def _as_promised(case: Case, od: ODMatrix, release: Release) -> Release:
    """The release counted on the matrix itself, with both thresholds that its cells are held against."""
    made = recounted(od, release) if case.unit == WEIGHTS_ALONE else release
    thresholds = {"k": case.k, "k_population": case.k_population}
    return replace(made, parameters={**made.parameters, **thresholds})


def warm_up(anonymizer: Anonymizes, matrices: dict[Any, ODMatrix], loaded: Loaded) -> None:
    """Load (or, once ever, compile) the kernels on a few rows of the smallest matrix; they and the tree are copies.

    What goes wrong here goes wrong again at the door, which says so in a sentence.
    """
    smallest = min(matrices.values(), key=lambda od: len(od.trips))
    rows, tree = copy.deepcopy((_head(smallest), loaded.tree))
    try:
        anonymizer.anonymize(rows, tree, tree)
    except BaseException as error:
        pass_on(error)


def _head(od: ODMatrix) -> ODMatrix:
    """Some rows of a matrix, spread over all of it."""
    rows = np.arange(0, len(od.trips), max(1, len(od.trips) // _WARM_ROWS))
    return replace(
        od,
        origin=od.origin[rows],
        destination=od.destination[rows],
        trips=od.trips[rows],
        person=None if od.person is None else od.person[rows],
        weight=None if od.weight is None else od.weight[rows],
        time=None if od.time is None else od.time[rows],
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1])
