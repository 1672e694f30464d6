"""The one door: every release is anonymised, verified and measured here (PRIVACY rules 1-3).

The command line, the Python call, comparisons, the conformance suite and the pipeline all come through it. What the
verifier refuses is an error that names the rules, and nothing is returned that could be written.
"""

import copy
import resource
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from odanon.errors import OdanonError
from odanon.gate.release import noisy_findings, release_findings, rows_of
from odanon.gate.verifier import Finding, added_up
from odanon.metrics.measure import measured_window
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.plugin import parameters_of
from odanon.protocols import Anonymizes, Metric

Bin = TypeVar("Bin", bound=Hashable)


class RefusedError(OdanonError):
    """A release that breaks its promise; `findings` are the broken rules."""

    def __init__(self, algorithm: str, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        rules = "; ".join(map(str, findings))
        super().__init__(
            f"the verifier refuses what {algorithm} made: {rules}; nothing is released, choose another algorithm"
        )


@dataclass(frozen=True, eq=False)
class Released(Generic[Bin]):
    """The releases of a window by matrix, the figures of all together, and what making them took."""

    releases: dict[Bin, Release]
    figures: dict[str, float]
    verified: bool  # whether every flow was counted again; noisy counts prove nothing and only their areas were checked
    sentence: str  # what readers may be told: the promise that was verified, or by whose word another one holds
    cpu_s: float
    peak_mb: float


def release(
    matrices: Mapping[Bin, ODMatrix],
    hierarchy: Hierarchy,
    anonymizer: Anonymizes,
    promise: Promise | None = None,
    *,
    destinations: Hierarchy | None = None,
    metrics: Sequence[Metric] | None = None,
) -> Released[Bin]:
    """One release per matrix (time bin) of a window, verified against the promise and measured.

    The promise is the one among the anonymiser's parameters; whoever asks for another one gives it, and both must hold. A
    matrix that does not reach it in all is suppressed whole; when that is so of every matrix, the anonymiser's own refusal
    is raised. `metrics` are all that the matrices allow unless some are given.
    """
    targets = destinations or hierarchy
    before = {name: rows_of(od, hierarchy, targets) for name, od in matrices.items()}
    trees = copy.deepcopy((hierarchy, targets))  # as they were, whatever the anonymiser writes into them
    made_under = Promise.of(parameters_of(anonymizer))
    started = time.process_time()
    releases = _anonymized(anonymizer, made_under, matrices, hierarchy, targets)
    cpu_s, peak_mb = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    findings = []
    for name, made in releases.items():
        if not anonymizer.verifiable:
            findings += noisy_findings(made, *trees)
            continue
        for asked in {made_under: None, promise or made_under: None}:
            findings += release_findings(before[name], made, *trees, asked, overlapping=anonymizer.overlapping)
    if findings:
        raise RefusedError(type(anonymizer).__name__, added_up(findings))
    figures = _measured(matrices, releases, metrics)
    told = made_under.sentence if anonymizer.verifiable else f"not verified, by its own word: {anonymizer.sentence}"
    return Released(releases, figures, anonymizer.verifiable, told, cpu_s, peak_mb)


def _measured(
    matrices: Mapping[Bin, ODMatrix], releases: dict[Bin, Release], metrics: Sequence[Metric] | None
) -> dict[str, float]:
    """The figures; metrics see copies, so that what was verified is what is returned."""
    if metrics is not None and not metrics:
        return {}
    seen = copy.deepcopy(releases)
    figures = measured_window(matrices, seen, metrics)
    for name, made in releases.items():
        made.metrics.update(seen[name].metrics)
    return figures


def _anonymized(
    anonymizer: Anonymizes,
    promise: Promise,
    matrices: Mapping[Bin, ODMatrix],
    origins: Hierarchy,
    destinations: Hierarchy,
) -> dict[Bin, Release]:
    enough = {name: od for name, od in matrices.items() if _reaches(od, promise)}
    if not enough:
        anonymizer.check(max(matrices.values(), key=lambda od: _units(od, promise)))
        raise OdanonError(
            f"no time bin stands for k_population = {promise.k_population:g} inhabitants in all; use longer bins, a"
            " longer window or a smaller k_population"
        )
    whole_window = getattr(anonymizer, "anonymize_window", None)
    if whole_window is not None:
        made = whole_window(list(enough.values()), origins, destinations)
    else:
        made = [anonymizer.anonymize(od, origins, destinations) for od in enough.values()]
    if len(made) != len(enough):
        raise OdanonError(f"{type(anonymizer).__name__} made {len(made)} releases of {len(enough)} matrices; report it")
    released = dict(zip(enough, made, strict=True))
    parameters = parameters_of(anonymizer)
    return {
        name: released.get(name) or _nothing(od, origins, destinations, parameters) for name, od in matrices.items()
    }


def _reaches(od: ODMatrix, promise: Promise) -> bool:
    """Whether the whole matrix, published as one flow, would keep the promise."""
    if _units(od, promise) < max(promise.k, promise.k_areas or 0):
        return False
    # A matrix without weights goes on to the anonymiser, which says what is missing.
    return promise.k_population is None or od.weight is None or od.weight.sum() >= promise.k_population


def _units(od: ODMatrix, promise: Promise) -> int:
    return od.volume if promise.unit == "trips" else od.n_people or 0


def _nothing(od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, parameters: dict[str, object]) -> Release:
    nowhere = np.full(len(od.pairs.trips), -1)
    return Release.from_nodes(od, origins, destinations, nowhere, nowhere, parameters)
