"""The one door: every release is anonymised, verified and measured here (PRIVACY rules 1-3).

The command line, the Python call, comparisons, the conformance suite and the pipeline all come through it. What the
verifier refuses is an error that names the rules, and nothing is returned that could be written.
"""

import copy
import resource
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from odanon import registry
from odanon.anonymizers.anonymizer import unkept
from odanon.errors import OdanonError, TooFewError, one_line, pass_on
from odanon.gate.drawn import redrawn
from odanon.gate.listed import listed_flows
from odanon.gate.plain import plain
from odanon.gate.release import noisy_findings, release_findings, rows_of
from odanon.gate.shape import misshapen
from odanon.gate.verifier import Finding, added_up
from odanon.metrics.measure import measured_window
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release, assignment_table
from odanon.plugin import parameters_of
from odanon.protocols import Anonymizes, Metric

Bin = TypeVar("Bin", bound=Hashable)
T = TypeVar("T")
_LARGEST = 2**62  # sums of trips times tiles


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
    parameters: dict[str, Any]  # those that the anonymiser had before it saw a row
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
    if not matrices:
        raise OdanonError("there is no matrix to anonymise; give at least one")
    targets = destinations or hierarchy
    if max(od.volume for od in matrices.values()) * int(hierarchy.n_tiles[-1] + targets.n_tiles[-1]) >= _LARGEST:
        raise OdanonError(
            "so many trips over so many tiles cannot be counted in 64 bits; use larger tiles, or a finer root of the hierarchy"
        )
    author = _Author.of(anonymizer)
    if any(od.times is not None for od in matrices.values()) and not author.timed:
        raise OdanonError(f"{author.name} splits no time; choose atg-lattice, or give one matrix for every time bin")
    # The anonymiser works on copies, whatever it writes into them; the originals are for the judge and for metrics.
    given = {name: _copied(od) for name, od in matrices.items()}
    trees = copy.deepcopy((hierarchy, targets))
    started = time.process_time()
    made = _anonymized(anonymizer, author, given, *trees)
    cpu_s, peak_mb = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    releases, findings = {}, []
    copied = author.work(lambda: {name: plain(each, author.parameters) for name, each in made.items()})
    for name, od in matrices.items():
        releases[name], found = _judged(copied[name], od, hierarchy, targets, author, promise)
        findings += found
    if findings:
        raise RefusedError(author.name, added_up(findings))
    figures = _measured(matrices, releases, metrics)
    sentence = author.told(promise) if promise and author.verifiable else author.sentence
    return Released(releases, figures, author.parameters, author.verifiable, sentence, cpu_s, peak_mb)


@dataclass(frozen=True)
class _Author:
    """An anonymiser as it was before it saw any row."""

    name: str
    parameters: dict[str, Any]
    promise: Promise
    verifiable: bool
    overlapping: bool
    leaves_out: bool
    budgeted: bool
    sentence: str
    timed: bool

    @classmethod
    def of(cls, anonymizer: Anonymizes) -> "_Author":
        name = registry.name_of("anonymize", type(anonymizer))
        if missing := registry.lacks("anonymize", type(anonymizer)):
            raise OdanonError(f"{name} has no {' and no '.join(missing)}; inherit from odanon.api.Anonymizer")
        try:
            verifiable = bool(anonymizer.verifiable)
            overlapping, leaves_out = bool(anonymizer.overlapping), bool(anonymizer.leaves_out)
            parameters = parameters_of(anonymizer)
            promise, budgeted = Promise.of(parameters), bool(anonymizer.budgeted)
            # Whatever flows hold in time follows from where they are, for the verifier and for later audits.
            timed = verifiable and not (overlapping or leaves_out) and bool(getattr(anonymizer, "timed", False))
            own = f"not verified, by its own word: {anonymizer.sentence}"
            sentence = promise.told(budgeted=budgeted) if verifiable else own
            lacking = unkept(type(anonymizer), parameters)
        except BaseException as error:
            pass_on(error)
            raise OdanonError(
                f"{name} does not say what it promises in the parameters of odanon.api.Anonymizer; report it to its author"
            ) from error
        if lacking:
            raise OdanonError(f"{name} does not keep {lacking[0]}; remove {lacking[0]} or choose another algorithm")
        return cls(name, parameters, promise, verifiable, overlapping, leaves_out, budgeted, one_line(sentence), timed)

    def told(self, promise: Promise) -> str:
        """A promise that a release of this anonymiser was verified against, in words."""
        return promise.told(budgeted=self.budgeted)

    def work(self, task: Callable[[], T]) -> T:
        """What the anonymiser makes; whatever goes wrong inside it is one sentence that names it."""
        try:
            return task()
        except MemoryError:
            raise
        except OdanonError as error:
            if registry.is_ours("anonymize", self.name):
                raise
            raise OdanonError(f"{self.name}: {one_line(str(error))}") from None
        except BaseException as error:
            pass_on(error)
            raise OdanonError(
                f"{self.name} failed with {type(error).__name__}; nothing is released, report it to its author"
            ) from error


def _copied(od: ODMatrix) -> ODMatrix:
    """The same matrix in arrays of its own."""
    return ODMatrix(
        od.origin.copy(),
        od.destination.copy(),
        od.trips.copy(),
        None if od.person is None else od.person.copy(),
        None if od.weight is None else od.weight.copy(),
        copy.deepcopy(od.ground),
        None if od.time is None else od.time.copy(),
        copy.deepcopy(od.times),
    )


def _judged(
    made: Release,
    od: ODMatrix,
    origins: Hierarchy,
    destinations: Hierarchy,
    author: _Author,
    promise: Promise | None,
) -> tuple[Release, list[Finding]]:
    """A release under the names that its areas should have, its pairs in their order, and the rules that it breaks."""
    rows = rows_of(od, origins, destinations)
    if findings := misshapen(
        made, origins, destinations, weighted="weight" in rows and author.verifiable, times=od.times
    ):
        return made, findings
    release = redrawn(made, origins, destinations, None if od.times is None else od.times.tree)
    flow = listed_flows(made.assignment, od, origins, destinations)
    if flow is None:
        findings.append(Finding("assignment", 1, "the tile pairs that are listed are not those of the matrix"))
    else:
        release = replace(release, assignment=assignment_table(od, origins, destinations, flow))
    how = {"overlapping": author.overlapping, "leaves_out": author.leaves_out}
    for asked in {author.promise: None, promise or author.promise: None}:
        if author.verifiable:
            findings += release_findings(rows, release, origins, destinations, asked, times=od.times, **how)
        else:
            findings += noisy_findings(release, origins, destinations, asked)
    return release, findings


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
    author: _Author,
    matrices: Mapping[Bin, ODMatrix],
    origins: Hierarchy,
    destinations: Hierarchy,
) -> dict[Bin, Release]:
    promise = author.promise
    enough = {name: od for name, od in matrices.items() if reaches(od, promise)}
    if not enough:
        raise _too_few(anonymizer, author, matrices)
    made = author.work(lambda: _made(anonymizer, list(enough.values()), origins, destinations))
    if made is None:
        raise OdanonError(f"{author.name} returned something that is no Release; report it to its author")
    if len(made) != len(enough):
        raise OdanonError(f"{author.name} made {len(made)} releases of {len(enough)} matrices; report it to its author")
    released = dict(zip(enough, made, strict=True))
    return {
        name: released[name] if name in released else _nothing(od, origins, destinations, author.parameters)
        for name, od in matrices.items()
    }


def _too_few(anonymizer: Anonymizes, author: _Author, matrices: Mapping[Bin, ODMatrix]) -> TooFewError:
    """The anonymiser's own refusal of the largest matrix, or ours."""
    promise = author.promise
    largest = max(matrices.values(), key=lambda od: _units(od, promise))
    try:
        author.work(lambda: anonymizer.check(largest))
    except OdanonError as error:
        return TooFewError(str(error))
    asked = {name: getattr(promise, name) for name in ("k", "k_areas", "k_population")}
    wanted = " and ".join(f"{name} = {value:g}" for name, value in asked.items() if value is not None)
    return TooFewError(f"no time bin reaches {wanted} in all; use longer bins, a longer window or a smaller promise")


def _made(
    anonymizer: Anonymizes, matrices: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy
) -> tuple[Release, ...] | None:
    """What the anonymiser returns for some matrices; None if something of it is no release."""
    whole_window = getattr(anonymizer, "anonymize_window", None)
    if whole_window is None:
        made: Any = [anonymizer.anonymize(od, origins, destinations) for od in matrices]
    else:
        made = whole_window(matrices, origins, destinations)
    found = tuple(made) if isinstance(made, list | tuple) else (None,)
    return found if all(isinstance(each, Release) for each in found) else None


def reaches(od: ODMatrix, promise: Promise) -> bool:
    """Whether the whole matrix, published as one flow, would keep the promise."""
    if _units(od, promise) < max(promise.k, promise.k_areas or 0) or min(od.visited) < promise.min_visited:
        return False
    # A matrix without weights goes on to the anonymiser, which says what is missing.
    return promise.k_population is None or od.weight is None or od.weight.sum() >= promise.k_population


def _units(od: ODMatrix, promise: Promise) -> int:
    return od.volume if promise.unit == "trips" else od.n_people or 0


def _nothing(od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, parameters: dict[str, object]) -> Release:
    nowhere = np.full(len(od.pairs.trips), -1)
    time = None if od.times is None else nowhere
    return Release.from_nodes(od, origins, destinations, nowhere, nowhere, parameters, pair_time=time)
